package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// eventsOfATurn is after how many of its events a streamed turn ends.
const eventsOfATurn = 8_000

// standIn plays a Codex app-server that streams one batch of events, spread over the
// threads, whenever a thread is read.
type standIn struct {
	out     *bufio.Writer
	threads int
	sent    int
	inTurn  []int // events of each thread's turn
	turn    []int // each thread's turn; 0 before the first
}

// playCodex answers requests until the end of its input.
func (s childSpec) playCodex(in io.Reader, out io.Writer) error {
	c := &standIn{out: bufio.NewWriterSize(out, 64<<10), threads: s.Runs, inTurn: make([]int, s.Runs), turn: make([]int, s.Runs)}
	requests := bufio.NewScanner(in)
	requests.Buffer(nil, 1<<20)
	for requests.Scan() {
		var request struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := json.Unmarshal(requests.Bytes(), &request); err != nil {
			return err
		}
		c.answer(request.ID, request.Method)
		if err := c.out.Flush(); err != nil {
			return err
		}
	}
	return requests.Err()
}

func (c *standIn) answer(id json.RawMessage, method string) {
	switch {
	case len(id) == 0: // a notification
	case method == "initialize":
		c.line(`{"id":%s,"result":{"userAgent":"cox/9.9.9 (bench)"}}`, id)
	case method == "thread/read":
		for range streamBatch {
			c.next()
		}
		c.line(`{"id":%s,"result":{"thread":{"id":"t","cwd":"/w","status":{"type":"idle"}}}}`, id)
	default:
		c.line(`{"id":%s,"error":{"code":-32600,"message":"Invalid request: unknown variant"}}`, id)
	}
}

func (c *standIn) line(format string, values ...any) { fmt.Fprintf(c.out, format+"\n", values...) }

// next streams one event: mostly deltas of a message and of a command's output, and
// now and then totals, limits, a finished item, or the end of a turn.
func (c *standIn) next() {
	n := c.sent % c.threads
	c.sent++
	thread := streamedThread(n)
	turn := fmt.Sprintf("turn-%d-%d", n, c.turn[n])
	c.inTurn[n]++
	switch at := c.inTurn[n]; {
	case c.turn[n] == 0 || at > eventsOfATurn:
		if c.turn[n] > 0 {
			c.line(`{"method":"turn/completed","params":{"threadId":"%s","turn":{"id":"%s","status":"completed"}}}`, thread, turn)
		}
		c.turn[n]++
		c.inTurn[n] = 0
		c.line(`{"method":"turn/started","params":{"threadId":"%s","turn":{"id":"turn-%d-%d","status":"inProgress"}}}`, thread, n, c.turn[n])
	case at%20 == 0:
		c.line(`{"method":"thread/tokenUsage/updated","params":{"threadId":"%s","turnId":"%s","tokenUsage":{"total":{"inputTokens":%d,"outputTokens":%d,"totalTokens":%d}}}}`, thread, turn, c.sent, c.sent, 2*c.sent)
	case at%20 == 5:
		c.line(`{"method":"item/completed","params":{"threadId":"%s","turnId":"%s","item":{"type":"agentMessage","id":"item-%d","text":"%s"}}}`, thread, turn, c.sent, longText)
	case at%200 == 11:
		c.line(`{"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":%d}}}}`, c.sent%100)
	case at%2 == 0:
		c.line(`{"method":"item/agentMessage/delta","params":{"threadId":"%s","turnId":"%s","itemId":"i","delta":"some words of it "}}`, thread, turn)
	default:
		c.line(`{"method":"item/commandExecution/outputDelta","params":{"threadId":"%s","turnId":"%s","itemId":"c","delta":"a line of output\n"}}`, thread, turn)
	}
}

// longText is longer than what is kept of an item.
var longText = strings.Repeat("word ", 2000)

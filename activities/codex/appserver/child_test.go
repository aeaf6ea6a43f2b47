package appserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"coxswain/activities/codex/appserver"

	"go.uber.org/goleak"
)

// childVariable makes the test binary play a Codex of the named behaviour.
const childVariable = "COX_TEST_CHILD"

func TestMain(m *testing.M) {
	if behaviour := os.Getenv(childVariable); behaviour != "" {
		runChild(behaviour)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func runChild(behaviour string) {
	if slices.Contains(os.Args, "sandbox") {
		unsandboxed()
	}
	switch behaviour {
	case "mcp":
		serveMCP()
		return
	case "parent":
		playParent()
		return
	case "version":
		if err := os.MkdirAll(os.Getenv("CODEX_HOME")+"/tmp", 0o700); err != nil {
			panic(err)
		}
		fmt.Println(os.Getenv("SAYS"))
		return
	case "dies":
		fmt.Fprintln(os.Stderr, "cannot open shared object")
		os.Exit(127)
	case "noisy":
		os.Stderr.WriteString(strings.Repeat("x", 1<<20))
	case "garbage":
		fmt.Println("Welcome!\n[1,2]\n\n{\"half\":")
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		sleeper := exec.Command("sleep", "300")
		if err := sleeper.Start(); err != nil {
			panic(err)
		}
	}
	c := child{behaviour: behaviour, in: bufio.NewScanner(os.Stdin)}
	c.in.Buffer(nil, 4<<20)
	for c.in.Scan() {
		c.obey(c.in.Bytes())
	}
	if behaviour == "stubborn" || behaviour == "deaf" {
		time.Sleep(time.Hour)
	}
}

// playParent opens a host whose child does not heed the end of its input, names
// its process and waits to be killed.
func playParent() {
	host, err := appserver.Open(context.Background(), appserver.Options{
		Bin: os.Args[0], Env: append(os.Environ(), childVariable+"=deaf"),
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(host.PID())
	<-host.Done()
}

// unsandboxed plays a `codex sandbox` that holds nothing.
func unsandboxed() {
	args := os.Args[slices.Index(os.Args, "--")+1:]
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// floodLength is more than a subscriber's queue holds.
const floodLength = 5000

type child struct {
	behaviour string
	in        *bufio.Scanner
	waiting   json.RawMessage // a thread/read that is answered later
	answers   []string        // to the child's own requests
	started   atomic.Bool
}

type frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (c *child) obey(line []byte) {
	var f frame
	if err := json.Unmarshal(line, &f); err != nil {
		panic(err)
	}
	switch f.Method {
	case "initialize":
		c.reply(f.ID, `{"userAgent":"cox/9.9.9 (test)"}`)
	case "initialized":
	case "thread/read":
		c.read(f.ID)
	case "turn/start":
		c.reply(f.ID, `{"turn":{"id":"turn-1","status":"inProgress"}}`)
		time.AfterFunc(200*time.Millisecond, func() {
			c.started.Store(true)
			fmt.Println(`{"method":"turn/started","params":{"threadId":"t","turn":{"id":"turn-1","status":"inProgress"}}}`)
		})
	case "turn/interrupt":
		if !c.started.Load() {
			fmt.Printf(`{"id":%s,"error":{"code":-32600,"message":"no active turn to interrupt"}}`+"\n", f.ID)
			return
		}
		c.reply(f.ID, `{}`)
	case "":
		c.answers = append(c.answers, string(f.ID)+string(f.Result)+string(f.Error))
		if len(c.answers) == 4 {
			slices.Sort(c.answers)
			text, _ := json.Marshal(strings.Join(c.answers, " "))
			c.reply(c.waiting, `{"thread":{"id":"t","cwd":`+string(text)+`,"status":{"type":"idle"}}}`)
		}
	default:
		fmt.Printf(`{"id":%s,"error":{"code":-32600,"message":"Invalid request: unknown variant"}}`+"\n", f.ID)
	}
}

func (c *child) reply(id json.RawMessage, result string) {
	fmt.Printf(`{"id":%s,"result":%s}`+"\n", id, result)
}

func (c *child) read(id json.RawMessage) {
	switch c.behaviour {
	case "mute":
	case "floods":
		c.reply(id, `{"thread":{"id":"t","cwd":"/w","status":{"type":"idle"}}}`)
		for n := range floodLength {
			fmt.Printf(`{"method":"item/completed","params":{"threadId":"t","turnId":"u","item":{"type":"agentMessage","id":"%d","text":""}}}`+"\n", n)
		}
	case "closes":
		os.Stdout.Close()
	case "huge":
		chunk := strings.Repeat("y", 1<<20)
		for range 17 {
			fmt.Print(chunk)
		}
	case "big":
		c.reply(id, `{"thread":{"id":"`+strings.Repeat("z", 3<<20)+`","status":{"type":"idle"}}}`)
	case "asks":
		c.waiting = id
		fmt.Println(`{"method":"made/up","id":0,"params":{"threadId":"t","turnId":"u"}}`)
		fmt.Println(`{"method":"item/commandExecution/requestApproval","id":1,"params":{"threadId":"t","command":"rm -r x"}}`)
		fmt.Println(`{"method":"mcpServer/elicitation/request","id":2,"params":{"threadId":"t","serverName":"cox","_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"heartbeat","tool_params":{"secret":1}}}}`)
		fmt.Println(`{"method":"mcpServer/elicitation/request","id":3,"params":{"threadId":"t","serverName":"other"}}`)
	default:
		c.reply(id, `{"thread":{"id":"t","cwd":"/w","status":{"type":"active","activeFlags":[]}}}`)
	}
}

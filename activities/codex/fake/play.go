package fake

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"coxswain/activities/codex"
	"coxswain/activities/codex/internal/lastwords"
)

// progressEvery is the least time between two progress events of a turn.
const progressEvery = time.Second

// bytesPerToken makes counts of tokens out of lengths of texts.
const bytesPerToken = 4

// performance is what the host knows of a turn that an agent plays.
type performance struct {
	host     *host
	turn     *turn
	groups   map[int]struct{} // of commands that have not ended
	said     int              // bytes since the last response
	progress time.Time        // of the last progress event
	asked    int              // requests of the agent so far
	end      *Report          // the agent's own last word
	err      error            // why the host ended it
}

// live reports and plays a turn, from its stored message to its end.
func (h *host) live(run *turn) {
	defer close(run.reported)
	defer run.stop()
	<-run.previous
	p := &performance{host: h, turn: run, groups: map[int]struct{}{}, progress: time.Now()}
	p.emit(codex.Event{Type: codex.EventTurnStarted, Turn: codex.Turn(run.record)})
	p.emit(codex.Event{Type: codex.EventItemCompleted, Item: codex.Item(run.message)})
	end := p.play()
	if err := run.thread.finish(end); err != nil {
		h.log.Error("storing the end of a turn", "thread_id", run.thread.id, "turn_id", run.id, "error", err)
	}
	p.emit(codex.Event{Type: codex.EventTurnEnded, Turn: codex.Turn(end)})
}

func (p *performance) emit(e codex.Event) {
	if !p.turn.thread.listens() {
		return
	}
	e.ThreadID, e.TurnID, e.At = p.turn.thread.id, p.turn.id, time.Now().UTC()
	p.host.hub.emit(e)
}

// play runs the agent and returns the turn's end, when no process is left.
func (p *performance) play() turnRecord {
	agent, err := p.begin()
	p.turn.agent = agent
	close(p.turn.ready)
	if agent == nil {
		return p.outcome(codex.TurnFailed, "the agent could not be started: "+err.Error(), "other")
	}
	defer agent.release()
	// An agent that closed its input or ended unread is judged by what it reports.
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		p.fail(fmt.Errorf("the agent took no request: %w", err))
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		agent.stopWhen(p.turn.stopping, p.host.ending, p.host.opts.StopTimeout)
	}()
	p.listen(agent)
	<-agent.exited
	<-stopped
	p.turn.thread.setAsking("")
	for pgid := range p.groups {
		killGroup(pgid)
	}
	return p.judge(agent)
}

// begin starts the agent and hands it the request. Both results are set when
// the agent did not take it.
func (p *performance) begin() (*child, error) {
	t := p.turn.thread
	t.mu.Lock()
	spec, past := t.spec, t.rec.Items[:p.turn.before]
	t.mu.Unlock()
	request := newRequest(p.turn, spec, past, p.host.opts)
	read := len(p.turn.text) + len(spec.DeveloperInstructions)
	for _, item := range request.History {
		read += len(item.Text)
	}
	t.addTokens(tokens(read), 0)
	agent, err := spawn(p.host.opts.Agent, p.host.opts.Env, spec.CWD)
	if err != nil {
		return nil, err
	}
	err = agent.send(request)
	return agent, err
}

// listen takes the agent's reports until its output ends.
func (p *performance) listen(agent *child) {
	lines := bufio.NewScanner(lastwords.From(agent.stdout))
	lines.Buffer(make([]byte, 0, 16<<10), maxLine)
	for lines.Scan() {
		if p.err != nil || p.end != nil {
			continue // what follows a failure or the last report does not count
		}
		var r Report
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			p.fail(fmt.Errorf("the agent wrote no report but %q", cut(lines.Text(), 200)))
		} else if err := p.take(r); err != nil {
			p.fail(err)
		}
		p.showProgress()
	}
	// A deadline means that a process outlived the agent and holds its output.
	if err := lines.Err(); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		p.fail(fmt.Errorf("reading the agent's reports: %w", err))
	}
}

// fail ends the turn for a reason of the host's. The first one is kept; what
// comes of stopping the agent is no reason.
func (p *performance) fail(err error) {
	if p.err == nil && !p.stopped() {
		p.err = err
		p.turn.stop()
	}
}

// stopped tells whether the turn was to end before its agent did.
func (p *performance) stopped() bool {
	return p.turn.stopping.Err() != nil || p.host.ending.Err() != nil
}

func (p *performance) showProgress() {
	if now := time.Now(); now.Sub(p.progress) >= progressEvery {
		p.progress = now
		p.emit(codex.Event{Type: codex.EventProgress})
	}
}

// take stores and reports what the agent reported.
func (p *performance) take(r Report) error {
	switch r.Type {
	case ReportUser:
		return p.item(itemRecord{Type: itemUser, ClientID: r.ClientMessageID, Text: r.Text, Status: statusCompleted})
	case ReportItem:
		p.said += len(r.Text)
		return p.item(itemRecord{Type: r.Item, Text: r.Text, Status: r.Status})
	case ReportResponse:
		total := p.turn.thread.addTokens(0, tokens(p.said))
		p.said = 0
		p.emit(codex.Event{Type: codex.EventTokens, Tokens: total})
	case ReportProcess:
		if r.Ended {
			delete(p.groups, r.Group)
		} else if r.Group > 1 {
			p.groups[r.Group] = struct{}{}
		}
	case ReportAsk:
		return p.ask(r.Text)
	case ReportEnd:
		p.end = &r
	case ReportProgress:
	default:
		return fmt.Errorf("the agent's report %q is not known", r.Type)
	}
	return nil
}

// item stores an item before it is reported.
func (p *performance) item(item itemRecord) error {
	item.ID, item.TurnID, item.Text = newID(), p.turn.id, cut(item.Text, itemTextLimit)
	if err := p.turn.thread.addItem(item); err != nil {
		return fmt.Errorf("storing the history: %w", err)
	}
	p.emit(codex.Event{Type: codex.EventItemCompleted, Item: codex.Item(item)})
	return nil
}

func tokens(bytes int) int64 { return int64(bytes/bytesPerToken + 1) }

// judge decides how the turn ended. What the host found wrong comes first, then
// the agent's own last word; an interrupt counts unless the work was complete
// before it.
func (p *performance) judge(agent *child) turnRecord {
	completed := p.end != nil && p.end.Status == string(codex.TurnCompleted) && !agent.failed
	switch {
	case p.err != nil:
		return p.outcome(codex.TurnFailed, p.err.Error()+": "+agent.describe(), "other")
	case completed:
		return p.outcome(codex.TurnCompleted, "", "")
	case p.stopped():
		return p.outcome(codex.TurnInterrupted, "", "")
	case p.end != nil && p.end.Status == string(codex.TurnFailed):
		return p.outcome(codex.TurnFailed, p.end.Error, errorKind(p.end.ErrorKind))
	}
	return p.outcome(codex.TurnFailed, "the agent ended early: "+agent.describe(), "other")
}

func (p *performance) outcome(status codex.TurnStatus, message, kind string) turnRecord {
	end := p.turn.record
	end.Status, end.Error, end.ErrorKind, end.EndedAt = status, message, kind, time.Now().UTC()
	return end
}

// errorKind keeps to the kinds of codex.Turn.
func errorKind(kind string) string {
	switch kind {
	case "rate_limit", "usage_limit", "server", "connection", "auth", "context":
		return kind
	}
	return "other"
}

package fake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"coxswain/activities/codex"
	"coxswain/activities/codex/directive"
)

// errHostGone ends an agent whose input has ended.
var errHostGone = errors.New("the host is gone")

// RunAgent plays one turn: it reads a Request from in, starts the coordination
// server named there, acts, and writes Reports to out; errw gets the server's
// stderr. A text with directives is played as written; without any the agent
// behaves as a worker where the server offers submit_handoff, as an integrator
// where it offers accept_event, and else has nothing to do.
//
// It ends at SIGTERM, SIGINT, the context's end and the end of in, and takes
// every process that it started along; the error then says so. nil means that
// the turn's end was reported, whatever it was. It is a process's whole life:
// the calling goroutine keeps its OS thread, and signals are taken over.
func RunAgent(ctx context.Context, in io.Reader, out, errw io.Writer) error {
	runtime.LockOSThread() // children get a signal when the thread that started them ends
	defer runtime.UnlockOSThread()
	// With SIGPIPE taken over, writing to a killed host is an error instead of a
	// sudden death that would leave commands behind.
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT, syscall.SIGPIPE)
	defer stop()
	input := json.NewDecoder(in)
	var req Request
	if err := input.Decode(&req); err != nil {
		return fmt.Errorf("reading the request: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &agent{req: req, out: json.NewEncoder(out), errw: errw, inbox: make(chan Steer, maxUnread), verdicts: make(chan string, 1)}
	go a.read(ctx, input, cancel)
	return a.run(ctx)
}

// agent plays one turn.
type agent struct {
	req   Request
	errw  io.Writer
	inbox chan Steer
	heard bool // a newer text has come in this turn

	verdicts chan string // answers to what was asked
	tools    *toolbox
	out      *json.Encoder
}

// maxUnread is how many texts may wait while the agent waits for a verdict.
const maxUnread = 64

// failure is a turn that the imagined model fails.
type failure struct{ kind, message string }

func (f *failure) Error() string { return f.message }

// steered ends what the agent does, because a newer text counts.
type steered struct{ text string }

func (s *steered) Error() string { return "a newer message has come" }

// read takes steers until the input ends.
func (a *agent) read(ctx context.Context, input *json.Decoder, cancel context.CancelCauseFunc) {
	for {
		var s Steer
		if err := input.Decode(&s); err != nil {
			if errors.Is(err, io.EOF) {
				err = errHostGone
			}
			cancel(err)
			return
		}
		if s.Verdict != "" {
			select {
			case a.verdicts <- s.Verdict:
			case <-ctx.Done():
				return
			}
			continue
		}
		select {
		case a.inbox <- s:
		case <-ctx.Done():
			return
		}
	}
}

func (a *agent) run(ctx context.Context) error {
	err := a.play(ctx)
	var failed *failure
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
		return a.report(Report{Type: ReportEnd, Status: string(codex.TurnCompleted)})
	case errors.As(err, &failed):
		return a.report(Report{Type: ReportEnd, Status: string(codex.TurnFailed), Error: failed.message, ErrorKind: failed.kind})
	}
	return err
}

// play answers the newest text until none is newer.
func (a *agent) play(ctx context.Context) (err error) {
	a.tools, err = connect(ctx, a.req, a.errw)
	if err != nil {
		return &failure{kind: "other", message: err.Error()}
	}
	// How a server ends that is no longer needed changes nothing.
	defer func() { _ = a.tools.close() }()
	text := a.req.Text
	for {
		err := a.answer(ctx, text)
		if err == nil {
			err = a.poll(ctx, 0)
		}
		var newer *steered
		if !errors.As(err, &newer) {
			return err
		}
		text = newer.text
	}
}

func (a *agent) answer(ctx context.Context, text string) error {
	steps := directive.Parse(text)
	var err error
	switch {
	case steps != nil:
		return a.script(ctx, steps)
	case a.tools.has("submit_handoff"):
		err = a.work(ctx)
	case a.tools.has("accept_event"):
		err = a.integrate(ctx)
	default:
		return a.say(ctx, "No directive and no tool tells me what to do.")
	}
	if refusal, ok := errors.AsType[*toolError](err); ok {
		return a.say(ctx, "I stop here: "+refusal.Error())
	}
	return err
}

// poll waits for the time and tells whether a newer text has come.
func (a *agent) poll(ctx context.Context, wait time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case s := <-a.inbox:
		return a.takeSteer(s)
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case s := <-a.inbox:
		return a.takeSteer(s)
	default:
		return nil
	}
}

func (a *agent) takeSteer(s Steer) error {
	if err := a.report(Report{Type: ReportUser, ClientMessageID: s.ClientMessageID, Text: s.Text}); err != nil {
		return err
	}
	a.heard = true
	return &steered{text: s.Text}
}

// next is called before every step: it keeps the pace and takes newer texts.
func (a *agent) next(ctx context.Context) error {
	return a.poll(ctx, time.Duration(a.req.PaceMS)*time.Millisecond)
}

// hang waits until the turn is steered or stopped.
func (a *agent) hang(ctx context.Context) error {
	select {
	case s := <-a.inbox:
		return a.takeSteer(s)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// linger waits for the time and shows progress at every second of it.
func (a *agent) linger(ctx context.Context, wait time.Duration) error {
	for wait > 0 {
		part := min(wait, time.Second)
		if err := a.poll(ctx, part); err != nil {
			return err
		}
		if err := a.report(Report{Type: ReportProgress}); err != nil {
			return err
		}
		wait -= part
	}
	return nil
}

func (a *agent) report(r Report) error {
	r.Text = cut(r.Text, itemTextLimit)
	if err := a.out.Encode(r); err != nil {
		return fmt.Errorf("reporting to the host: %w", err)
	}
	return nil
}

func (a *agent) item(kind, text string, ok bool) error {
	status := statusCompleted
	if !ok {
		status = statusFailed
	}
	return a.report(Report{Type: ReportItem, Item: kind, Text: text, Status: status})
}

// responded marks the end of one response of the imagined model.
func (a *agent) responded() error { return a.report(Report{Type: ReportResponse}) }

// say is a response that is an agent message.
func (a *agent) say(ctx context.Context, text string) error {
	if err := a.next(ctx); err != nil {
		return err
	}
	if err := a.item(itemAgent, text, true); err != nil {
		return err
	}
	return a.responded()
}

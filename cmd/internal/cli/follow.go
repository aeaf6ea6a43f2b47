package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// follower shows the events of teams as they come, on stdout for people and on
// stderr beside a JSON document.
type follower struct {
	*call
	ledger *ledger.Ledger
	teams  map[string]bool
	after  int64
	seen   int
}

// newFollower shows the teams' events behind a sequence.
func newFollower(in *call, l *ledger.Ledger, teams []string, after int64) *follower {
	f := &follower{call: in, ledger: l, teams: map[string]bool{}, after: after}
	for _, t := range teams {
		f.teams[t] = true
	}
	return f
}

// followPoll is the time between two looks at the events.
const followPoll = 200 * time.Millisecond

// run shows new events until ctx ends or done says so. An interrupt is the normal
// end and no error.
func (f *follower) run(ctx context.Context, done func() (bool, error)) error {
	t := time.NewTicker(followPoll)
	defer t.Stop()
	for {
		if err := f.show(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		ended, err := done()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil || ended {
			return err
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// newestEvent is the sequence of the last event, 0 when there is none.
func newestEvent(ctx context.Context, l *ledger.Ledger) (int64, error) {
	newest, err := l.Events(ctx, ledger.EventFilter{Newest: true, Limit: 1})
	if err != nil || len(newest) == 0 {
		return 0, err
	}
	return newest[0].Sequence, nil
}

func (f *follower) show(ctx context.Context) error {
	events, err := f.ledger.Events(ctx, ledger.EventFilter{After: f.after})
	for _, e := range events {
		f.after = e.Sequence
		if !f.teams[e.TeamID] {
			continue
		}
		f.seen++
		if text := sentence(e); text != "" {
			f.note("%s  %-22s %s", e.CreatedAt.Local().Format("15:04:05"), e.AssignmentID, text)
		}
		if e.Type == models.EventInterventionRequested { // the question has the id of its event
			kind, _ := e.Payload["intervention_kind"].(string)
			f.note("  answer: cox %s%s", f.elsewhere(), models.HowToAnswer(kind, e.ID))
		}
	}
	return err
}

// note tells a person something while the command goes on.
func (in *call) note(format string, args ...any) {
	out := in.io.Out
	if in.json {
		out = in.io.Err
	}
	_, _ = fmt.Fprintln(out, clean(fmt.Sprintf(format, args...))) // progress; its loss is no failure of the command
}

// elsewhere are the flags, with a space behind them, that lead a next command to
// this one's ledger, "" where it finds that by itself.
func (in *call) elsewhere() string {
	for _, name := range []string{"state-dir", "db"} {
		if v := in.value(name); v.source == "flag" && v.raw != "" {
			return "--" + name + " " + shellWord(v.raw) + " "
		}
	}
	return ""
}

// sentence says an event in a few words, "" for one that a follower need not see.
func sentence(e models.Event) string {
	get := func(key string) string { s, _ := e.Payload[key].(string); return s }
	switch e.Type {
	case models.EventAssignmentCreated:
		return "created: " + get("title")
	case models.EventCommandDispatched:
		return "planned " + get("command_type")
	case models.EventCommandFailed:
		return "failed " + get("command_type") + ": " + get("error")
	case models.EventRunClaimed:
		return "claimed by " + e.ActorID + ", thread " + get("session_ref")
	case models.EventTurnStarted:
		return "turn started"
	case models.EventTurnEnded:
		return strings.TrimSpace("turn " + get("status") + " " + get("error"))
	case models.EventHandoffSubmitted:
		return "handed off: " + get("summary")
	case models.EventReviewNudgeDispatched:
		return "integrator nudged"
	case models.EventIntegratorReview:
		return e.Status + " by " + e.ActorID
	case models.EventInterventionRequested:
		return "needs a person: " + get("prompt")
	case models.EventSteerRequested:
		return e.ActorID + " says: " + get("message")
	case models.EventInterruptRequested:
		return because("stopped by "+e.ActorID, get("reason"))
	case models.EventLoopPaused:
		return because("loop "+get("kind")+" by "+e.ActorID, get("reason"))
	case models.EventLoopResumed:
		return "loop resumed by " + e.ActorID
	case models.EventAssignmentCancelled:
		return because("cancelled by "+e.ActorID, get("reason"))
	case models.EventAssignmentSuperseded:
		return because("superseded by "+e.ActorID+" in favour of "+get("superseded_by"), get("reason"))
	case models.EventRunStale:
		return because("run "+e.RunID+" is stale", "its claim has run out")
	case models.EventWorktreeKept:
		return because("its worktree "+get("path")+" is kept", get("reason"))
	case models.EventHookEnded:
		if get("state") == string(models.HookFailed) {
			return because("the hook "+get("hook")+" failed", get("output"))
		}
	case models.EventAdapterUnavailable:
		return because("the adapter "+get("adapter_kind")+" is unavailable", get("reason"))
	}
	return ""
}

// because joins what happened and its reason, which may be missing.
func because(what, reason string) string {
	if reason == "" {
		return what
	}
	return what + ": " + reason
}

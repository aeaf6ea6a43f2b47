package live

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coxswain/models"
	"coxswain/models/ledger"
)

// told checks what a thread's final history, as Codex sent it to the model, holds
// of messages: each by parts that it has to contain.
func (r *rig) wasTold(thread string, want ...[]string) {
	r.t.Helper()
	got := r.histories()[thread].user
	if len(got) != len(want) {
		r.t.Errorf("thread %s holds %d messages, want %d: %.300q", thread, len(got), len(want), got)
		return
	}
	for i, parts := range want {
		wantAll(r.t, "message "+string(rune('1'+i)), got[i], parts...)
	}
}

// question waits for the open question about an assignment.
func (r *rig) question(l *ledger.Ledger, assignment string) (out models.Intervention) {
	r.t.Helper()
	r.until("a person is asked about "+assignment, func(ctx context.Context) (bool, error) {
		open, err := l.Interventions(ctx, ledger.InterventionFilter{Status: "open"})
		for _, q := range open {
			if q.AssignmentID == assignment {
				out = q
				return true, nil
			}
		}
		return false, err
	})
	return out
}

func (r *rig) respond(q models.Intervention, text string) {
	r.t.Helper()
	r.must("intervention", "respond", "--response", text, q.ID)
}

// made waits until the stack has opened its ledger, and opens it too.
func (r *rig) made() *ledger.Ledger {
	r.t.Helper()
	r.until("the ledger is there", func(context.Context) (bool, error) {
		_, err := os.Stat(filepath.Join(r.state, "ledger.db"))
		return err == nil, err
	})
	return r.ledger()
}

// wantTurns checks how a run's turns ended, in order.
func wantTurns(t *testing.T, run ledger.RunDetail, want ...models.TurnStatus) {
	t.Helper()
	var got []models.TurnStatus
	for _, turn := range run.Turns {
		got = append(got, turn.Status)
	}
	if len(got) != len(want) {
		t.Errorf("%s: turns %v, want %v", run.AssignmentID, got, want)
		return
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: turns %v, want %v", run.AssignmentID, got, want)
		}
	}
}

// storedNowhere looks for a text in every file of the state directory.
func (r *rig) storedNowhere(text string) {
	r.t.Helper()
	files := 0
	err := filepath.WalkDir(r.state, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // gone between the look at its folder and this one
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil // a journal that is just removed
		}
		files++
		if bytes.Contains(content, []byte(text)) {
			r.t.Errorf("%s holds %q", path, text)
		}
		return err
	})
	if err != nil || files == 0 {
		r.t.Errorf("%d files were read: %v", files, err)
	}
}

// A turn that ends without a handoff gets one nudge; then a person is asked, and
// the answer is quoted into the same thread, which finishes.
func TestLiveATurnWithoutHandoffGetsOneNudgeThenAPerson(t *testing.T) {
	t.Parallel()
	r := newRig(t, agents(func(t turn) reply {
		if strings.Contains(t.User, "The answer of") {
			return work(t)
		}
		if t.at() == 0 {
			return t.tool("heartbeat_run", map[string]any{"summary": "thinking"})
		}
		return sayDone
	}))
	r.team()
	r.assign("silent", "Write one file", outFile("silent"))
	s := r.up("--exit-when-done")
	l := r.made()
	q := r.question(l, "silent")
	if q.Kind != "no_handoff" {
		t.Errorf("asked as %s", q.Kind)
	}
	wantTurns(t, r.onlyRun(l, "silent"), models.TurnCompleted, models.TurnCompleted)
	r.respond(q, "Write it to "+outFile("silent"))
	wantStatus(t, s.finish(), "accepted", "silent")

	run := r.onlyRun(l, "silent")
	wantTurns(t, run, models.TurnCompleted, models.TurnCompleted, models.TurnCompleted)
	r.wasTold(run.SessionRef, []string{"Your assignment is `silent`"}, []string{"has no handoff yet"}, []string{q.ID, "Write it to " + outFile("silent")})
	r.toldOnce(l)
	r.wantOneStream()
	r.intact()
}

// A worker's own question is answered, and quoted into its resume. Text that looks
// like a secret is refused, the third time in any call and the first time in a
// handoff with a question to a person, and is stored nowhere.
func TestLiveQuestionsAndSecretsReachAPerson(t *testing.T) {
	t.Parallel()
	const secret = "live-agent-leak-4711"
	leak := map[string]any{"summary": "the staging password" + "=" + secret}
	r := newRig(t, agents(func(t turn) reply {
		switch {
		case strings.Contains(t.User, "The answer of"):
			return work(t)
		case t.assignment == "asking" && t.at() == 0:
			return t.tool("request_intervention", map[string]any{"prompt": "Which name shall it have?", "intervention_kind": "decision"})
		case t.assignment == "leaking" && t.at() < 3:
			return t.tool("heartbeat_run", leak)
		case t.assignment == "blurting" && t.at() == 0:
			return t.tool("get_assignment_detail", map[string]any{})
		case t.assignment == "blurting" && t.at() == 1:
			return t.tool("submit_handoff", map[string]any{"base_revision": object(t.document(0), "assignment")["revision"], "payload": leak})
		}
		return sayDone
	}))
	r.team()
	for _, id := range []string{"asking", "leaking", "blurting"} {
		r.assign(id, "Write one file", outFile(id))
	}
	s := r.up("--exit-when-done", "--max-concurrent-runs", "3")
	l := r.made()
	for id, want := range map[string]struct{ kind, prompt string }{
		"asking":   {"decision", "Which name shall it have?"},
		"leaking":  {models.EventSecretRefused, "looks like a secret"},
		"blurting": {models.EventSecretRefused, "looks like a secret"},
	} {
		q := r.question(l, id)
		if q.Kind != want.kind || !strings.Contains(q.Prompt, want.prompt) {
			t.Errorf("%s: asked %s %q", id, q.Kind, q.Prompt)
		}
		r.storedNowhere(secret)
		r.respond(q, "As you like, "+id)
	}
	wantStatus(t, s.finish(), "accepted", "asking", "leaking", "blurting")

	for id, refusals := range map[string]int{"asking": 0, "leaking": 3, "blurting": 1} {
		run := r.onlyRun(l, id)
		r.wasTold(run.SessionRef, []string{"Your assignment is"}, []string{"As you like, " + id})
		events, err := l.Events(t.Context(), ledger.EventFilter{RunID: run.ID, Types: []string{models.EventSecretRefused}})
		if err != nil || len(events) != refusals {
			t.Errorf("%s: %d refusals are noted, want %d (%v)", id, len(events), refusals, err)
		}
	}
	for _, output := range r.outputsOf("Your assignment is `leaking`") {
		wantAll(t, "the refusal", output, string(models.CodeSecretDetected))
	}
	r.storedNowhere(secret)
	r.toldOnce(l)
	r.intact()
}

// Work that is cancelled or superseded while a command of its turn runs, with
// another one in the background, is interrupted: nothing of it is left, and its
// thread hears no further word.
func TestLiveCancelAndSupersedeEndRunningCommands(t *testing.T) {
	t.Parallel()
	marks := map[string]string{"dropped": "471148", "replaced": "471149"}
	r := newRig(t, agents(func(t turn) reply {
		mark, sleeps := marks[t.assignment]
		switch {
		case !sleeps:
			return work(t)
		case t.at() == 0:
			return t.tool("get_assignment_detail", map[string]any{})
		case t.at() == 1:
			return execute(t, "sleep "+mark+" & sleep "+mark)
		}
		return sayDone
	}))
	r.team()
	for _, id := range []string{"dropped", "replaced", "heir"} {
		r.assign(id, "Run a long command", outFile(id))
	}
	s := r.up("--exit-when-done", "--max-concurrent-runs", "3")
	for id, mark := range marks {
		r.until(id+" runs its commands", func(context.Context) (bool, error) { return sleepers(t, mark, r.repo) >= 2, nil })
	}
	r.must("assignment", "cancel", "--reason", "not needed", "dropped")
	r.must("assignment", "supersede", "--by", "heir", "--reason", "done there", "replaced")
	doc := s.finish()
	wantStatus(t, doc, "cancelled", "dropped")
	wantStatus(t, doc, "superseded", "replaced")
	wantStatus(t, doc, "accepted", "heir")

	l := r.ledger()
	for id, mark := range marks {
		run := r.onlyRun(l, id)
		if n := sleepers(t, mark, r.repo); n != 0 || run.EndedAt == nil {
			t.Errorf("%s: %d of its commands still run, the run ended %v", id, n, run.EndedAt)
		}
		wantTurns(t, run, models.TurnInterrupted)
		r.wasTold(run.SessionRef, []string{"Your assignment is `" + id + "`"})
	}
	r.toldOnce(l)
	r.intact()
}

package live

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"coxswain/activities/codex/codextest"
	"coxswain/models"
	"coxswain/models/ledger"
)

// A worker killed outright while the model answers loses, over stdio, the turn and nothing
// else: the thread is resumed once, under its whole configuration.
func TestLiveKilledWorkerResumesTheThread(t *testing.T) {
	t.Parallel()
	r := rigFor(t, func(r *rig) codextest.Model {
		key := filepath.Join(r.state, "ledger.db.key")
		return agents(func(t turn) reply {
			switch {
			case t.first && t.at() == 1:
				return codextest.Reply{Pause: true} // until Codex is gone
			case t.first:
				return work(t)
			}
			return work(t, edit(t.assignment, []any{outFile(t.assignment)}), "cat "+key)
		})
	})
	r.team()
	r.assign("one", "Write one file", outFile("one"))
	s := r.up("--model", listed, "--exit-when-done", "--transport", "stdio")
	r.until("the worker's second request", func(context.Context) (bool, error) { return len(r.outputsOf("Your assignment is ")) == 1, nil })
	l := r.ledger()
	before := r.awaitRun(l, "one", "the prompt's receipt", func(d ledger.RunDetail) bool {
		return len(d.Messages) == 1 && d.Messages[0].State == models.OutboxDelivered
	})
	s.killWorker()
	wantStatus(t, s.finish(), "accepted", "one")

	run := r.onlyRun(l, "one")
	if run.SessionRef != before.SessionRef || len(r.histories()) != 2 {
		t.Errorf("thread %s became %s; the model was asked by %d threads, want 2", before.SessionRef, run.SessionRef, len(r.histories()))
	}
	wantLost(t, run)
	r.toldOnce(l)
	r.intact()
	h := r.histories()[run.SessionRef]
	if len(h.user) != 2 {
		t.Fatalf("the worker's thread holds %d messages, want 2", len(h.user))
	}
	wantAll(t, "the second prompt", h.user[1], "was cut off before it ended", "`"+outFile("one")+"`", criterion("one"))
	wantAll(t, "the instructions after the resume", h.developer, agentsText)
	last := r.requests("was cut off before it ended")
	if model := last[len(last)-1].Body["model"]; model != listed {
		t.Errorf("the resumed thread asks model %v, want %s", model, listed)
	}
	if !slices.Contains(h.tools, "submit_handoff") {
		t.Errorf("the resumed thread is offered %v", h.tools)
	}
	wantRefused(t, "reading the ledger's key after the resume", r.outputsOf("was cut off before it ended")[2])
}

// wantLost checks that the first turn was lost and resumed by one command.
func wantLost(t *testing.T, run ledger.RunDetail) {
	t.Helper()
	if len(run.Turns) != 2 || run.Turns[0].Status != models.TurnLost || run.Turns[1].Status != models.TurnCompleted {
		t.Errorf("turns %+v, want a lost and a completed one", run.Turns)
	}
	var resumes []models.Command
	for _, c := range run.Commands {
		if c.Type == models.CommandResume {
			resumes = append(resumes, c)
		}
	}
	if len(resumes) != 1 || resumes[0].Reason != "turn_lost" || resumes[0].Cause != run.Turns[0].ID || resumes[0].State != models.CommandDone {
		t.Errorf("resume commands %+v, want one for the lost turn", resumes)
	}
}

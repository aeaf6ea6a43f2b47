package live

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"coxswain/activities/codex/codextest"
	"coxswain/models"
	"coxswain/models/ledger"
)

// A question that nobody expected is answered with a refusal and recorded, a
// command that would need approval is refused, and the run goes on.
func TestLiveUnexpectedQuestionsDoNotStopARun(t *testing.T) {
	t.Parallel()
	r := newRig(t, agents(func(t turn) reply {
		switch t.at() {
		case 0:
			return codextest.Escalate(t.id(), "echo x > ../escalated")
		case 1:
			return t.askUser()
		}
		t.Outputs = t.Outputs[2:]
		return work(t)
	}))
	relay := r.relayed()
	write(t, filepath.Join(relay, askFile), "")
	r.team()
	r.assign("one", "Write one file", outFile("one"))
	wantStatus(t, r.up("--exit-when-done", "--transport", "stdio").finish(), "accepted", "one")

	wantAll(t, "the answer to the unheard-of question", string(read(t, filepath.Join(relay, saidFile))), askID, `"error"`, "item/neverHeardOf/request")
	l := r.ledger()
	run := r.onlyRun(l, "one")
	events, err := l.Events(t.Context(), ledger.EventFilter{RunID: run.ID, Types: []string{models.EventServerRequest}})
	check(t, err)
	recorded := map[string]string{}
	for _, e := range events {
		recorded[text(e.Payload, "method")] = text(e.Payload, "answer")
	}
	if len(events) != 2 || recorded["item/neverHeardOf/request"] != "refused_unknown" || recorded["exec_command"] != "denied" {
		t.Errorf("recorded questions %+v, want the unheard-of one, refused, and the escalation, denied", events)
	}
	out := r.outputsOf("Your assignment is ")
	wantAll(t, "the answer to the escalation", out[0], "approval policy is Never", "reject")
	wantAll(t, "the answer to the question to a person", out[1], "unavailable")
	if _, err := os.Stat(filepath.Join(r.dir, "escalated")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the escalated command's file: %v, want none", err)
	}
	if len(run.Turns) != 1 || run.Turns[0].Status != models.TurnCompleted {
		t.Errorf("turns %+v, want one completed", run.Turns)
	}
	r.toldOnce(l)
	r.intact()
}

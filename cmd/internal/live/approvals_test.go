package live

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coxswain/activities/codex/codextest"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/worker"
)

// sixClasses are a command of each class that always needs a person. Their programs
// only say what they were called with.
var sixClasses = []struct {
	class models.RiskClass
	words string
}{
	{models.RiskDeployment, "terraform apply -auto-approve"},
	{models.RiskPush, "git push origin main"},
	{models.RiskRegistry, "docker push registry/app"},
	{models.RiskSecret, "vault kv put secret/app a=b"},
	{models.RiskCluster, "kubectl apply -f app.yaml"},
	{models.RiskDestructive, "rm -rf build"},
}

// stubs makes the programs of the six classes and returns their folder.
func (r *rig) stubs() string {
	r.t.Helper()
	dir := filepath.Join(r.dir, "stubs")
	for _, c := range sixClasses {
		program := strings.Fields(c.words)[0]
		write(r.t, filepath.Join(dir, program), "#!/bin/sh\necho \"called: "+program+" $*\"\n")
		check(r.t, os.Chmod(filepath.Join(dir, program), 0o700))
	}
	return dir
}

// askingModel escalates the commands one after the other, then hands off.
func askingModel(commands func() []string) codextest.Model {
	return agents(func(t turn) reply {
		list := commands()
		if n := t.at(); n < len(list) && t.first {
			return codextest.Escalate(t.id(), list[n])
		}
		if !t.first {
			return work(t)
		}
		if t.at() > len(list) {
			return codextest.Say("handed off")
		}
		return t.tool("submit_handoff", map[string]any{"base_revision": 2, "payload": map[string]any{"summary": "done"}}) // the claim's
	})
}

func (r *rig) policy(text string) {
	r.t.Helper()
	write(r.t, filepath.Join(r.dir, "config", "cox", "policy.yaml"), text)
}

// request waits for the open request of an assignment.
func (r *rig) request(l *ledger.Ledger) (q models.Intervention) {
	r.t.Helper()
	r.until("a person is asked for leave", func(ctx context.Context) (bool, error) {
		open, err := l.Interventions(ctx, ledger.InterventionFilter{Status: "open"})
		if err != nil || len(open) == 0 {
			return false, err
		}
		q = open[0]
		return true, nil
	})
	if q.Kind != models.InterventionApproval {
		r.t.Fatalf("a question of the kind %s: %s", q.Kind, q.Prompt)
	}
	return q
}

func (r *rig) awaitApproval(l *ledger.Ledger, id string, state models.ApprovalState) {
	r.t.Helper()
	r.until("the request is "+string(state), func(ctx context.Context) (bool, error) {
		a, err := l.Approval(ctx, id)
		return err == nil && a.State == state, err
	})
}

// Each command of the six classes is one question to a person; both answers reach the
// model.
func TestLiveTheSixClassesNeedAPerson(t *testing.T) {
	t.Parallel()
	r := rigFor(t, func(r *rig) codextest.Model {
		dir := filepath.Join(r.dir, "stubs")
		return askingModel(func() []string {
			var out []string
			for _, c := range sixClasses {
				out = append(out, filepath.Join(dir, c.words), filepath.Join(dir, c.words)+" twice")
			}
			return out
		})
	})
	r.stubs()
	r.policy("answers:\n  ordinary: ask\n")
	r.team()
	r.assign("one", "Write one file", outFile("one"))
	s := r.up("--exit-when-done")
	l := r.made()
	for _, c := range sixClasses {
		for n, verdict := range []string{"--accept", "--decline"} {
			q := r.request(l)
			if q.Packet["class"] != string(c.class) || !strings.Contains(q.Prompt, c.words) {
				t.Errorf("request %d of %s: class %v, %s", n, c.class, q.Packet["class"], q.Prompt)
			}
			run, err := l.Run(t.Context(), q.RunID)
			check(t, err)
			if run.Status != models.RunAwaitingApproval {
				t.Errorf("run is %s while leave for %s is asked", run.Status, c.words)
			}
			r.must("intervention", "respond", verdict, "--note", "as agreed", q.ID)
			r.awaitApproval(l, q.ID, models.ApprovalResolved)
		}
	}
	wantStatus(t, s.finish(), "accepted", "one")
	out := r.outputsOf("Your assignment is ")
	for i, c := range sixClasses {
		wantAll(t, "the answer to the accepted "+c.words, out[2*i], "called: "+c.words)
		wantAll(t, "the answer to the declined "+c.words, out[2*i+1], "rejected by user")
	}
	asked, err := l.Interventions(t.Context(), ledger.InterventionFilter{})
	check(t, err)
	if len(asked) != 2*len(sixClasses) {
		t.Errorf("%d questions, want one for each of %d requests", len(asked), 2*len(sixClasses))
	}
	r.toldOnce(l)
	r.intact()
}

// Without a policy file threads ask nobody: Codex denies by itself, which is recorded.
func TestLiveUnderNeverTheSixClassesAreDenied(t *testing.T) {
	t.Parallel()
	r := rigFor(t, func(r *rig) codextest.Model {
		dir := filepath.Join(r.dir, "stubs")
		return askingModel(func() []string {
			var out []string
			for _, c := range sixClasses {
				out = append(out, filepath.Join(dir, c.words))
			}
			return out
		})
	})
	r.stubs()
	r.team()
	r.assign("one", "Write one file", outFile("one"))
	wantStatus(t, r.up("--exit-when-done").finish(), "accepted", "one")
	l := r.ledger()
	out := r.outputsOf("Your assignment is ")
	events, err := l.Events(t.Context(), ledger.EventFilter{Types: []string{models.EventServerRequest}})
	check(t, err)
	if len(events) != len(sixClasses) {
		t.Fatalf("recorded %+v, want one denial of each class", events)
	}
	for i, c := range sixClasses {
		wantAll(t, "the answer to "+c.words, out[i], "approval policy is Never")
		p := events[i].Payload
		if text(p, "answer") != "denied" || text(p, "class") != string(c.class) || !strings.Contains(text(p, "detail"), c.words) || events[i].AssignmentID != "one" {
			t.Errorf("recorded %+v for %s", p, c.words)
		}
	}
	asked, err := l.Interventions(t.Context(), ledger.InterventionFilter{})
	check(t, err)
	if len(asked) != 0 {
		t.Errorf("people were asked: %+v", asked)
	}
}

// An answer that a person gives while the worker is away reaches its request where
// Codex outlived the worker; where Codex went with it, the run is resumed with the
// answer and nothing is run.
func TestLiveAnAnswerGivenWhileTheWorkerWasAway(t *testing.T) {
	t.Parallel()
	for transport, outlives := range map[string]bool{"unix": true, "stdio": false} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			answeredAway(t, transport, outlives)
		})
	}
}

func answeredAway(t *testing.T, transport string, outlives bool) {
	t.Helper()
	r := rigFor(t, func(r *rig) codextest.Model {
		command := filepath.Join(r.dir, "stubs", "git") + " push origin main"
		return askingModel(func() []string { return []string{command} })
	})
	r.stubs()
	r.policy("answers:\n  ordinary: ask\n")
	r.team()
	r.assign("one", "Write one file", outFile("one"))
	s := r.up("--transport", transport, "--exit-when-done")
	l := r.made()
	q := r.request(l)
	first, _ := worker.Running(r.state)
	s.killWorker()
	r.must("intervention", "respond", "--accept", "--note", "away", q.ID)
	r.until("another worker runs", func(context.Context) (bool, error) {
		pid, there := worker.Running(r.state)
		return there && pid != first, nil
	})
	wantStatus(t, s.finish(), "accepted", "one")
	run := r.onlyRun(l, "one")
	a, err := l.Approval(t.Context(), q.ID)
	check(t, err)
	asked, err := l.Interventions(t.Context(), ledger.InterventionFilter{})
	check(t, err)
	if len(asked) != 1 {
		t.Errorf("%d questions for one request", len(asked))
	}
	if outlives {
		if a.State != models.ApprovalResolved || len(run.Turns) != 1 {
			t.Errorf("request %+v, turns %+v", a, run.Turns)
		}
		wantAll(t, "the answer to the request", r.outputsOf("Your assignment is ")[0], "called: git push origin main")
		return
	}
	if a.State != models.ApprovalGone || len(run.Turns) != 2 {
		t.Errorf("request %+v, turns %+v", a, run.Turns)
	}
	if n := len(r.requests("accepted: away")); n == 0 {
		t.Error("the resumed thread was not told the answer")
	}
}

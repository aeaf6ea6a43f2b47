package live

import (
	"context"
	"maps"
	"strings"
	"testing"

	"coxswain/activities/codex/codextest"
	"coxswain/models"
	"coxswain/models/ledger"
)

// firstHandoff is the revision of an assignment that was created, claimed and handed
// off.
const firstHandoff = 3

// sayDone ends a turn.
var sayDone = codextest.Say("done")

func execute(t turn, command string) reply { return codextest.Exec(t.id(), command) }

// verdict is one call of an integrator about a handoff.
type verdict struct {
	tool string
	args map[string]any
}

// reviewers is an integrator that judges the handoffs that its prompt names, each by
// its own calls, one after the other, with ordinary workers beside it.
func reviewers(judge func(t turn, assignment string, again bool) []verdict) codextest.Model {
	return func(q codextest.Request) reply {
		t := readTurn(q)
		if !strings.HasPrefix(q.User, "You are Codex integrator actor") {
			return fixOrWork(t)
		}
		if t.at() == 0 {
			return t.tool("list_pending_reviews", map[string]any{})
		}
		var calls []verdict
		for _, p := range list(t.document(0), "pending_reviews") {
			event := object(p, "event")
			if !strings.Contains(q.User, text(event, "event_id")) {
				continue
			}
			revision, _ := p["revision"].(float64)
			for _, v := range judge(t, text(event, "assignment_id"), revision > firstHandoff) {
				calls = append(calls, v.about(p, event))
			}
		}
		if n := t.at() - 1; n < len(calls) {
			return t.tool(calls[n].tool, calls[n].args)
		}
		return sayDone
	}
}

// about fills in what the pending review says of the handoff.
func (v verdict) about(pending, event map[string]any) verdict {
	args := maps.Clone(v.args)
	switch v.tool {
	case "request_intervention":
		args["run_id"] = event["run_id"]
	case "create_assignment":
		args["base_revision"] = 0
	case "supersede_assignment":
		args["assignment_id"], args["base_revision"] = event["assignment_id"], pending["revision"]
	default:
		args["event_id"], args["base_revision"] = event["event_id"], pending["revision"]
		if head := text(pending, "head_commit"); head != "" {
			args["head_commit"] = head
		}
	}
	return verdict{v.tool, args}
}

// fixOrWork is a worker that writes another line where a fix is asked for.
func fixOrWork(t turn) reply {
	if !strings.Contains(t.User, "the decision is needs_fix") {
		return work(t)
	}
	return work(t, "echo 'fixed' >> "+outFile(t.assignment))
}

// judge is how the reviewed assignments of this file go; again is a handoff that is
// not the first.
func judge(t turn, assignment string, again bool) []verdict {
	note := func(words string) map[string]any { return map[string]any{"decision_note": words} }
	create := func(id string) verdict {
		return verdict{"create_assignment", map[string]any{"assignment_id": id, "title": "Go on", "allowed_paths": []string{outFile(id)}}}
	}
	answered := strings.Contains(t.User, " about `"+assignment+"`, intervention ") // one prompt may quote answers about others
	switch {
	case assignment == "fixed" && !again:
		fix := note("The second line is missing.")
		fix["decision_status"] = string(models.DecisionNeedsFix)
		return []verdict{{"review_event", fix}}
	case assignment == "refused":
		return []verdict{{"reject_event", note("Not wanted.")}}
	case assignment == "followed":
		return []verdict{create("followed-more"), {"accept_event", note("Good, and there is more to do.")}}
	case assignment == "replaced":
		return []verdict{create("replaced-again"), {"supersede_assignment", map[string]any{"superseded_by": "replaced-again", "reason": "split differently"}}}
	case assignment == "doubted" && !answered:
		return []verdict{{"request_intervention", map[string]any{"prompt": "Is the new file wanted?", "intervention_kind": "decision"}}}
	case (assignment == "ignored" || assignment == "stubborn") && !answered:
		return nil
	}
	return []verdict{{"accept_event", note("The file is there.")}}
}

// Every decision of an integrator has its effect: a fix continues on the worker's
// thread with the notes, a rejection ends, a follow-up is started, a replacement
// takes the work over.
func TestLiveDecisionsOfAnIntegrator(t *testing.T) {
	t.Parallel()
	r := newRig(t, reviewers(judge))
	r.team()
	for _, id := range []string{"fixed", "refused", "followed", "replaced"} {
		r.assign(id, "Write one file", outFile(id))
	}
	doc := r.up("--exit-when-done", "--max-concurrent-runs", "4").finish()
	wantStatus(t, doc, "accepted", "fixed", "followed", "followed-more", "replaced-again")
	wantStatus(t, doc, "rejected", "refused")
	wantStatus(t, doc, "superseded", "replaced")

	l := r.ledger()
	runs, err := l.Runs(t.Context(), ledger.RunFilter{AssignmentID: "fixed"})
	check(t, err)
	if len(runs) != 2 || runs[0].SessionRef != runs[1].SessionRef || runs[0].ResumeOfRunID != runs[1].ID || runs[1].Status != models.RunCompletedGateFailed {
		t.Errorf("runs of the fixed assignment %+v", runs)
	}
	r.wasTold(runs[0].SessionRef, []string{"Your assignment is `fixed`", runs[1].ID}, []string{"the decision is needs_fix", "The second line is missing.", runs[0].ID})
	wantAll(t, "the fixed file", string(read(t, r.repo+"/"+outFile("fixed"))), "made by fixed\nfixed\n")
	for _, id := range []string{"refused", "followed", "replaced", "followed-more", "replaced-again"} {
		r.wasTold(r.onlyRun(l, id).SessionRef, []string{"Your assignment is `" + id + "`"})
	}
	for _, id := range []string{"followed-more", "replaced-again"} {
		if a, err := l.Assignment(t.Context(), id); err != nil || a.CreatedBy != models.IntegratorID(teamID) {
			t.Errorf("%s was created by %s (%v)", id, a.CreatedBy, err)
		}
	}
	if a, err := l.Assignment(t.Context(), "replaced"); err != nil || a.SupersededBy != "replaced-again" {
		t.Errorf("the replaced assignment %+v (%v)", a, err)
	}
	r.toldOnce(l)
	r.intact()
}

// An integrator that asks a person is nudged again only by the answer, which it
// reads. One that ignores a handoff is nudged three times at the team's interval;
// then a person is asked, and decides or says how.
func TestLiveReviewsThatNeedAPerson(t *testing.T) {
	t.Parallel()
	r := newRig(t, reviewers(judge))
	r.team()
	for _, id := range []string{"doubted", "ignored", "stubborn"} {
		r.assign(id, "Write one file", outFile(id))
	}
	s := r.up("--exit-when-done", "--max-concurrent-runs", "3", "--review-nudge-interval", "2")
	l := r.made()
	doubt := r.question(l, "doubted")
	if doubt.RequestedBy != models.IntegratorID(teamID) || doubt.Prompt != "Is the new file wanted?" {
		t.Errorf("asked %+v", doubt)
	}
	r.respond(doubt, "Yes, keep the new file.")
	for _, id := range []string{"ignored", "stubborn"} {
		if q := r.question(l, id); q.Kind != models.AskReviewIgnored {
			t.Errorf("%s: asked as %s", id, q.Kind)
		}
	}
	r.must("review", "accept", "--note", "it is fine", "ignored")
	stubborn := r.question(l, "stubborn")
	r.respond(stubborn, "Accept it, please.")
	wantStatus(t, s.finish(), "accepted", "doubted", "ignored", "stubborn")

	for id, want := range map[string]struct {
		nudges int
		answer string
	}{"doubted": {2, "Yes, keep the new file."}, "ignored": {3, ""}, "stubborn": {4, "Accept it, please."}} {
		r.wantNudged(l, id, want.nudges, want.answer)
	}
	r.toldOnce(l)
	r.intact()
}

// wantNudged counts the messages to the integrator that name an assignment's
// handoff, as the model was sent them, and looks for an answer in the last one. The
// message that a person was asked may or may not come before that person acts.
func (r *rig) wantNudged(l *ledger.Ledger, id string, nudges int, answer string) {
	r.t.Helper()
	handoffs, err := l.Events(context.Background(), ledger.EventFilter{AssignmentID: id, Types: []string{models.EventHandoffSubmitted}})
	check(r.t, err)
	if len(handoffs) != 1 {
		r.t.Fatalf("%s: %d handoffs", id, len(handoffs))
	}
	var about []string
	for _, h := range r.histories() {
		for _, said := range h.user {
			if strings.Contains(said, handoffs[0].ID) && !strings.Contains(said, "so a person was asked in") {
				about = append(about, said)
			}
		}
	}
	if len(about) != nudges {
		r.t.Errorf("%s: %d nudges, want %d: %.200q", id, len(about), nudges, about)
		return
	}
	wantAll(r.t, "the last nudge about "+id, about[len(about)-1], answer)
}

// An integrator asks a person about work that is under way: the worker's run waits,
// and the answer is quoted into its thread, which finishes.
func TestLiveAnIntegratorAsksAboutARunningWorker(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	r := newRig(t, func(q codextest.Request) reply {
		t := readTurn(q)
		switch {
		case t.assignment == "second" && t.first:
			return codextest.Slow("I stop here.", asked)
		case t.assignment != "":
			return work(t)
		case strings.Contains(q.User, "assignment `first`"):
			return askAboutSecond(t)
		}
		return acceptAll(t)
	})
	r.team()
	r.assign("second", "Write one file", outFile("second"))
	s := r.up("--exit-when-done", "--max-concurrent-runs", "2")
	l := r.made()
	r.awaitRun(l, "second", "its turn is under way", func(d ledger.RunDetail) bool { return len(d.Turns) == 1 })
	r.assign("first", "Write one file", outFile("first"))
	q := r.question(l, "second")
	if a, err := l.Assignment(t.Context(), "second"); err != nil || a.Status != models.AssignmentAwaitingHuman || q.RequestedBy != models.IntegratorID(teamID) {
		t.Errorf("asked %+v, and the assignment is %s (%v)", q, a.Status, err)
	}
	close(asked)
	r.awaitRun(l, "second", "its turn ends", func(d ledger.RunDetail) bool { return len(d.Turns) == 1 && d.Turns[0].Status.Ended() })
	r.respond(q, "Yes, write the second file too.")
	wantStatus(t, s.finish(), "accepted", "first", "second")
	run := r.onlyRun(l, "second")
	wantTurns(t, run, models.TurnCompleted, models.TurnCompleted)
	r.wasTold(run.SessionRef, []string{"Your assignment is `second`"}, []string{q.ID, models.IntegratorID(teamID), "Is the second file still wanted?", "Yes, write the second file too."})
	r.toldOnce(l)
	r.intact()
}

// askAboutSecond is an integrator that reads about another assignment before it
// accepts the handoff that it was nudged about.
func askAboutSecond(t turn) reply {
	switch t.at() {
	case 0:
		return t.tool("get_assignment_detail", map[string]any{"assignment_id": "second"})
	case 1:
		run := text(object(t.document(0), "assignment"), "active_run_id")
		return t.tool("request_intervention", map[string]any{"run_id": run, "prompt": "Is the second file still wanted?", "intervention_kind": "decision"})
	}
	t.Outputs = t.Outputs[2:]
	return acceptAll(t)
}

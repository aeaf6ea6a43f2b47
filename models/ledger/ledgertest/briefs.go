package ledgertest

import (
	"strconv"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

func briefTests() map[string]func(*env) {
	return map[string]func(*env){
		"brief/checkpoint_changes_no_status":    checkpoint,
		"brief/same_id_again":                   checkpointReplayed,
		"brief/source_must_be_the_runs":         checkpointSource,
		"brief/refused_briefs":                  checkpointInvalid,
		"brief/others_may_not":                  checkpointForeign,
		"brief/freshness":                       briefFreshness,
		"brief/its_own_updates_do_not_age_it":   briefOwnUpdates,
		"brief/over_runs_take_none":             checkpointOver,
		"contention/one_update_per_client_id":   contendedCheckpoints,
		"contention/attention_of_one_id_is_one": contendedAttention,
	}
}

func brief(change ...func(map[string]any)) map[string]any {
	b := map[string]any{
		"schema_version": 1, "current_goal": "Search works", "current_stage": "implementing",
		"recent_progress": []string{"the index is built"}, "decisions_and_risks": []any{map[string]any{"decision": "trigrams"}},
		"human_intervention": map[string]any{"needed": false, "blocking": false},
		"next_steps":         []string{"query it"}, "context_refs": []any{}, "mood": "good",
	}
	for _, fn := range change {
		fn(b)
	}
	return b
}

// lastSequence is the sequence of a run's newest event.
func (e *env) lastSequence(run string) int64 {
	e.Helper()
	events := e.run(run).Events
	return events[len(events)-1].Sequence
}

func (e *env) checkpoint(by models.Principal, run, id string, source int64, b map[string]any) (models.Event, bool, error) {
	c := ledger.As(by)
	ev, err := e.l.CheckpointRun(e.ctx, c, ledger.BriefUpdate{RunID: run, ClientUpdateID: id, SourceSequence: source, Brief: b})
	return ev, c.Replayed, err
}

func (e *env) humanBrief(run string) models.HumanBrief {
	e.Helper()
	b, err := e.l.HumanBrief(e.ctx, run)
	e.ok(err)
	return b
}

func checkpoint(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	none := e.humanBrief(c.Run.ID)
	same(e, "before the first", none.Freshness, models.BriefMissing)
	before := e.run(c.Run.ID).Run
	source := e.lastSequence(c.Run.ID)
	ev, _, err := e.checkpoint(agentA, c.Run.ID, "u-1", source, brief())
	e.ok(err)
	same(e, "type", ev.Type, models.EventHumanBriefUpdated)
	same(e, "status", ev.Status, models.EventObserved)
	same(e, "revision", e.assignment("one").Revision, c.Assignment.Revision)
	sameJSON(e, "the run", e.run(c.Run.ID).Run, before)
	b := e.humanBrief(c.Run.ID)
	sameJSON(e, "the brief, further fields included", b.Brief, brief())
	same(e, "id", b.ClientUpdateID, "u-1")
	same(e, "source and latest", b.SourceEventSequence == source && b.LatestEventSequence == source, true)
	same(e, "updated", b.UpdatedAt.Equal(ev.CreatedAt), true)
	same(e, "assignment", b.AssignmentID, "one")
	for _, by := range []models.Principal{boss, ann} { // as may an integrator and a person
		_, _, err = e.checkpoint(by, c.Run.ID, "u-"+string(by.Role), source, brief())
		e.ok(err)
	}
	_, err = e.l.HumanBrief(e.ctx, "run_none")
	e.refused(models.CodeNotFound, err)
}

func checkpointReplayed(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	source := e.lastSequence(c.Run.ID)
	first, replayed, err := e.checkpoint(agentA, c.Run.ID, "u-1", source, brief())
	e.ok(err)
	same(e, "replayed", replayed, false)
	again, replayed, err := e.checkpoint(agentA, c.Run.ID, "u-1", source, brief())
	e.ok(err)
	same(e, "the same id again", again.ID, first.ID)
	same(e, "replayed", replayed, true)
	other := brief(func(b map[string]any) { b["current_goal"] = "Another" })
	refusal := e.unchanged("one", models.CodeIdempotencyConflict, func() error { _, _, err := e.checkpoint(agentA, c.Run.ID, "u-1", source, other); return err })
	same(e, "the first one", refusal.Details["event_id"], any(first.ID))
	_, _, err = e.checkpoint(agentA, c.Run.ID, "u-1", source+1, brief())
	e.refused(models.CodeIdempotencyConflict, err)
	_, _, err = e.checkpoint(agentA, c.Run.ID, "u-2", source, other)
	e.ok(err)
	e.create("two")
	two := e.claim(agentA, "two") // ids are each run's own
	_, _, err = e.checkpoint(agentA, two.Run.ID, "u-1", e.lastSequence(two.Run.ID), other)
	e.ok(err)
	e.handOff(agentA, "one") // the answer to a repeated call outlives the run
	late, replayed, err := e.checkpoint(agentA, c.Run.ID, "u-1", source, brief())
	e.ok(err)
	same(e, "after the handoff", replayed && late.ID == first.ID, true)
}

func checkpointSource(e *env) {
	e.create("one")
	e.create("two")
	mine, other := e.claim(agentA, "one"), e.claim(agentB, "two")
	foreign := e.lastSequence(other.Run.ID)
	_, err := e.l.HeartbeatRun(e.ctx, ledger.As(agentA), mine.Run.ID, "on it")
	e.ok(err)
	events := e.run(mine.Run.ID).Events
	old, newest := events[0].Sequence, events[len(events)-1].Sequence
	for _, bad := range []int64{0, -1, foreign, newest + 1000} {
		refusal := e.unchanged("one", models.CodeInvalidArgument, func() error { _, _, err := e.checkpoint(agentA, mine.Run.ID, "u", bad, brief()); return err })
		same(e, "field", refusal.Details["field"], any("source_event_sequence"))
	}
	_, _, err = e.checkpoint(agentA, mine.Run.ID, "u-1", newest, brief())
	e.ok(err)
	_, _, err = e.checkpoint(agentA, mine.Run.ID, "u-2", newest, brief()) // the same source is not older
	e.ok(err)
	e.unchanged("one", models.CodeInvalidArgument, func() error { _, _, err := e.checkpoint(agentA, mine.Run.ID, "u-3", old, brief()); return err })
}

func checkpointInvalid(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	source := e.lastSequence(c.Run.ID)
	for field, value := range map[string]any{
		"schema_version": true, "current_goal": " ", "current_stage": "dreaming", "recent_progress": "x", "decisions_and_risks": []any{"a text"},
		"human_intervention": map[string]any{"needed": true}, "next_steps": []any{}, "context_refs": nil,
	} {
		bad := brief(func(b map[string]any) { b[field] = value })
		refusal := e.unchanged("one", models.CodeInvalidArgument, func() error { _, _, err := e.checkpoint(agentA, c.Run.ID, "u", source, bad); return err })
		same(e, "field", refusal.Details["field"], any("brief."+field))
	}
	for _, id := range []string{"", "-x", "a b"} {
		e.unchanged("one", models.CodeInvalidArgument, func() error { _, _, err := e.checkpoint(agentA, c.Run.ID, id, source, brief()); return err })
	}
	hidden := brief(func(b map[string]any) { b["note"] = "-----BEGIN OPENSSH PRIVATE KEY-----" })
	refusal := e.unchanged("one", models.CodeSecretDetected, func() error { _, _, err := e.checkpoint(agentA, c.Run.ID, "u", source, hidden); return err })
	same(e, "field", refusal.Details["field"], any("brief.note"))
}

func checkpointForeign(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	source := e.lastSequence(c.Run.ID)
	e.unchanged("one", models.CodeForbidden, func() error { _, _, err := e.checkpoint(agentB, c.Run.ID, "u", source, brief()); return err })
	node := models.Principal{ActorID: "node:n", Role: models.RoleNode}
	e.unchanged("one", models.CodeForbidden, func() error { _, _, err := e.checkpoint(node, c.Run.ID, "u", source, brief()); return err })
	_, _, err := e.checkpoint(agentA, "run_none", "u", source, brief())
	e.refused(models.CodeNotFound, err)
	// whoever may not write is not answered with what was written either
	_, _, err = e.checkpoint(agentA, c.Run.ID, "u", source, brief())
	e.ok(err)
	_, _, err = e.checkpoint(agentB, c.Run.ID, "u", source, brief())
	e.refused(models.CodeForbidden, err)
}

func briefFreshness(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	_, _, err := e.checkpoint(agentA, c.Run.ID, "u-1", e.lastSequence(c.Run.ID), brief())
	e.ok(err)
	e.clock.advance(29 * time.Minute)
	_, err = e.l.HeartbeatRun(e.ctx, ledger.As(agentA), c.Run.ID, "went on")
	e.ok(err)
	e.clock.advance(time.Minute)
	b := e.humanBrief(c.Run.ID)
	same(e, "at exactly 30:00", b.Freshness, models.BriefFresh)
	same(e, "latest", b.LatestEventSequence, e.lastSequence(c.Run.ID))
	e.clock.advance(time.Millisecond)
	same(e, "past it", e.humanBrief(c.Run.ID).Freshness, models.BriefStale)
	_, err = e.l.CreateTeam(e.ctx, ledger.As(ann), ledger.NewTeam{ID: crew, WorkspaceID: space, Settings: map[string]any{"freshness_window_minutes": 45}})
	e.ok(err)
	same(e, "a team cannot lengthen it", e.humanBrief(c.Run.ID).Freshness, models.BriefStale)
	_, _, err = e.checkpoint(agentA, c.Run.ID, "u-2", e.lastSequence(c.Run.ID), brief())
	e.ok(err)
	e.clock.advance(24 * time.Hour)
	same(e, "old, but nothing happened since", e.humanBrief(c.Run.ID).Freshness, models.BriefFresh)
	_, err = e.l.CreateTeam(e.ctx, ledger.As(ann), ledger.NewTeam{ID: crew, WorkspaceID: space, Settings: map[string]any{"freshness_window_minutes": 5}})
	e.ok(err)
	same(e, "a shorter window", e.humanBrief(c.Run.ID).FreshnessWindowMinutes, 5)
}

// Briefs that are updates of briefs do not count as news.
func briefOwnUpdates(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	source := e.lastSequence(c.Run.ID)
	for _, id := range []string{"u-1", "u-2"} {
		_, _, err := e.checkpoint(agentA, c.Run.ID, id, source, brief())
		e.ok(err)
	}
	e.clock.advance(2 * time.Hour)
	b := e.humanBrief(c.Run.ID)
	same(e, "freshness", b.Freshness, models.BriefFresh)
	same(e, "latest", b.LatestEventSequence, source)
}

func checkpointOver(e *env) {
	run, handoff := e.handedOff("one")
	for _, by := range []models.Principal{agentA, boss, ann} {
		e.unchanged("one", models.CodeInvalidArgument, func() error { _, _, err := e.checkpoint(by, run.ID, "u", handoff.Sequence, brief()); return err })
	}
}

func contendedCheckpoints(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	source := e.lastSequence(c.Run.ID)
	ids := make([]string, rivals)
	for i, err := range race(func(i int) error {
		ev, _, err := e.checkpoint(agentA, c.Run.ID, "u-1", source, brief())
		ids[i] = ev.ID
		return err
	}) {
		e.ok(err)
		same(e, "event", ids[i], ids[0])
	}
	same(e, "events", len(e.events("one", models.EventHumanBriefUpdated)), 1)
}

func contendedAttention(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	e.onlyOne(race(func(i int) error {
		a := attention()
		a.WhyNow += strconv.Itoa(i)
		_, _, err := e.raise(agentA, c.Run.ID, "u-1", a)
		return err
	}), models.CodeIdempotencyConflict)
	same(e, "events", len(e.events("one", models.EventAttentionRaised)), 1)
}

package ledgertest

import (
	"coxswain/models"
	"coxswain/models/ledger"
)

func requestTests() map[string]func(*env) {
	return map[string]func(*env){
		"request/replay_returns_the_first_answer": replayed,
		"request/other_arguments_conflict":        replayConflict,
		"request/refused_calls_are_not_recorded":  replayRefused,
	}
}

func replayed(e *env) {
	n := models.NewAssignment{ID: "one", TeamID: crew, Title: "t"}
	first, err := e.l.CreateAssignment(e.ctx, ledger.As(boss).Request("r-1"), n, nil)
	e.ok(err)
	c := e.claim(agentA, "one")
	call := ledger.As(boss).Request("r-1")
	again, err := e.l.CreateAssignment(e.ctx, call, n, nil)
	e.ok(err)
	same(e, "replayed", call.Replayed, true)
	sameJSON(e, "answer", again, first)
	beat, err := e.l.HeartbeatRun(e.ctx, ledger.As(agentA).Request("h-1"), c.Run.ID, "x")
	e.ok(err)
	repeat, err := e.l.HeartbeatRun(e.ctx, ledger.As(agentA).Request("h-1"), c.Run.ID, "x")
	e.ok(err)
	same(e, "heartbeat", repeat.ID, beat.ID)
	same(e, "heartbeats stored", len(e.events("one", models.EventRunHeartbeat)), 1)
	other, err := e.l.HeartbeatRun(e.ctx, ledger.As(agentA).Request("h-2"), c.Run.ID, "x")
	e.ok(err)
	same(e, "another id is another call", other.ID != beat.ID, true)
}

func replayConflict(e *env) {
	e.create("one")
	_, err := e.l.ClaimAssignment(e.ctx, ledger.As(agentA).Request("r-1"), ledger.ClaimRequest{AssignmentID: "one"})
	e.ok(err)
	e.unchanged("one", models.CodeIdempotencyConflict, func() error {
		_, err := e.l.ClaimAssignment(e.ctx, ledger.As(agentA).Request("r-1"), ledger.ClaimRequest{AssignmentID: "one", Branch: "other"})
		return err
	})
	e.unchanged("one", models.CodeIdempotencyConflict, func() error {
		_, err := e.l.SubmitHandoff(e.ctx, ledger.As(agentA).Request("r-1"), ledger.HandoffRequest{AssignmentID: "one"})
		return err
	})
	_, err = e.l.CancelAssignment(e.ctx, ledger.As(boss).Request("r-1"), "one", nil, "ids are scoped by actor")
	e.ok(err)
}

func replayRefused(e *env) {
	e.create("one")
	call := func() error {
		_, err := e.l.SubmitHandoff(e.ctx, ledger.As(agentA).Request("r-1"), ledger.HandoffRequest{AssignmentID: "one"})
		return err
	}
	e.refused(models.CodeInvalidArgument, call())
	e.claim(agentA, "one")
	e.ok(call())
}

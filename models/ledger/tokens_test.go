package ledger_test

import (
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// A handoff's turn whose end was lost in a kill is recorded without its tokens; the
// thread tells them when it is loaded again.
func TestTokensOfALostEndAreLearntLater(t *testing.T) {
	onBoth(t, tokensOfALostEndAreLearntLater)
}

func tokensOfALostEndAreLearntLater(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	run := c.claimed(c.only(models.CommandStart), "th-1")
	c.delivered("th-1", "tu-1")
	c.handOff(run)
	c.ok(c.l.EndTurn(t.Context(), ledger.TurnReport{ThreadID: "th-1", TurnID: "tu-1", Status: models.TurnCompleted}))
	if r := c.run(run.ID); !r.Tokens.Incomplete || r.EndedAt == nil {
		t.Fatalf("after the lost end %+v", r)
	}
	c.pass(time.Second)
	known := models.TokenUsage{Input: 30, Output: 12, Total: 42}
	c.ok(c.l.TurnProgress(t.Context(), ledger.TurnReport{ThreadID: "th-1", TurnID: "another", Tokens: known}))
	if r := c.run(run.ID); !r.Tokens.Incomplete {
		t.Errorf("another turn's totals were taken: %+v", r.Tokens)
	}
	c.ok(c.l.TurnProgress(t.Context(), ledger.TurnReport{ThreadID: "th-1", TurnID: "tu-1", Tokens: known}))
	d, err := c.l.RunDetail(t.Context(), run.ID)
	c.ok(err)
	if d.Tokens != known || d.Turns[0].Tokens != known {
		t.Errorf("run %+v, turn %+v, want %+v", d.Tokens, d.Turns[0].Tokens, known)
	}
}

// One lost turn without totals keeps a run's count incomplete, whatever the others
// tell.
func TestATurnWithoutTotalsKeepsTheRunIncomplete(t *testing.T) {
	onBoth(t, aTurnWithoutTotalsKeepsTheRunIncomplete)
}

func aTurnWithoutTotalsKeepsTheRunIncomplete(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	run := c.claimed(c.only(models.CommandStart), "th-1")
	c.delivered("th-1", "tu-1")
	c.ok(c.l.LoseTurn(t.Context(), "th-1", "tu-1"))
	c.resumed(c.only(models.CommandResume), "th-1", "tu-2")
	c.ok(c.l.LoseTurn(t.Context(), "th-1", "tu-2"))
	c.ok(c.l.TurnProgress(t.Context(), ledger.TurnReport{ThreadID: "th-1", TurnID: "tu-2", Tokens: models.TokenUsage{Input: 1, Output: 1, Total: 2}}))
	if r := c.run(run.ID); !r.Tokens.Incomplete || r.Tokens.Total != 2 {
		t.Errorf("run %+v", r.Tokens)
	}
}

package cli

import (
	"strings"
	"testing"
	"time"

	"coxswain/models"
)

// tableLine is the summary's line of one assignment.
func tableLine(row outcomeRow) string {
	var out strings.Builder
	(&printer{out: &out}).outcomes([]outcomeRow{row})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	return strings.Join(strings.Fields(lines[len(lines)-1]), " ")
}

func happened(row outcomeRow, events ...models.Event) outcomeRow {
	for _, e := range events {
		row.apply(e)
	}
	return row
}

func TestTheSummaryShowsTheCurrentDecisionOnly(t *testing.T) {
	handoff := models.Event{Type: models.EventHandoffSubmitted, ActorID: "worker-1"}
	decided := models.Event{Type: models.EventIntegratorReview, ActorID: "human:ada", CreatedAt: time.Unix(1, 0)}
	claim := models.Event{Type: models.EventRunClaimed, ActorID: "worker-1"}
	row := outcomeRow{AssignmentID: "one", Status: models.AssignmentNeedsFix, Files: []string{}}
	if got := tableLine(happened(row, claim, handoff, decided)); got != "one needs_fix worker-1 human:ada 0 0" {
		t.Errorf("after the decision: %s", got)
	}
	row.Status = models.AssignmentClaimed
	again := happened(row, claim, handoff, decided, claim)
	if got := tableLine(again); strings.Contains(got, "human:ada") || again.DecidedAt != nil {
		t.Errorf("after the next claim: %s", got)
	}
	if got := tableLine(happened(again, handoff)); strings.Contains(got, "human:ada") || !strings.Contains(got, "worker-1") {
		t.Errorf("after the next handoff: %s", got)
	}
}

func TestTheSummaryCountsTheTokensOfAllRuns(t *testing.T) {
	used := func(n int64) models.TokenUsage { return models.TokenUsage{Input: n - 1, Output: 1, Total: n} }
	for _, c := range []struct {
		what string
		runs []models.Run
		want int64
	}{
		{"a second run that has just begun", []models.Run{{SessionRef: "a", Tokens: used(899)}, {}}, 899},
		{"the same thread goes on", []models.Run{{SessionRef: "a", Tokens: used(899)}, {SessionRef: "a", Tokens: used(1000)}}, 1000},
		{"and has not told anything yet", []models.Run{{SessionRef: "a", Tokens: used(899)}, {SessionRef: "a"}}, 899},
		{"a thread of its own", []models.Run{{SessionRef: "a", Tokens: used(899)}, {SessionRef: "b", Tokens: used(101)}}, 1000},
	} {
		if got := tokensOf(c.runs); got.Total != c.want || got.Input+got.Output != c.want {
			t.Errorf("%s: %+v, want %d", c.what, got, c.want)
		}
	}
}

func TestTheSummaryCountsNobodysFiles(t *testing.T) {
	dirt := models.Event{Type: models.EventScopeDirty, Payload: map[string]any{"files": []any{"a", "b"}}}
	if got := tableLine(happened(outcomeRow{AssignmentID: "one", Files: []string{}}, dirt)); !strings.HasSuffix(got, " 2") {
		t.Errorf("with paths: %s", got)
	}
	if got := tableLine(happened(outcomeRow{AssignmentID: "one"}, dirt)); !strings.HasSuffix(got, " -") {
		t.Errorf("without paths: %s", got)
	}
}

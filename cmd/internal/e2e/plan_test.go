package e2e_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// Figures of the big plan.
const (
	planSize  = 200
	planAtime = 8               // runs at a time
	planLimit = 8 * time.Minute // on a machine that does much else; alone it takes one
)

// TestPlanOf200KeepsItsOrder imports a plan in one command and lets the scripted
// agents work through it, eight at a time: every assignment is accepted, and none
// was claimed before all that it waits for were.
func TestPlanOf200KeepsItsOrder(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	waits := drawPlan()
	var imported struct{ Created int }
	h.ok(&imported, "assignment", "import", "--team", theTeam, h.write("plan.yaml", planText(waits), 0o644))
	if imported.Created != planSize {
		t.Fatalf("%d assignments were created, want %d", imported.Created, planSize)
	}
	began := time.Now()
	up := h.start("up", "--json", "--exit-when-done", "--adapter", "fake", "--fake-pace", "0", "--address", e.Address,
		"--max-concurrent-runs", fmt.Sprint(planAtime))
	up.ends(0, planLimit)
	t.Logf("%d assignments took %s", planSize, time.Since(began).Round(time.Second))
	l := h.ledger(h.state())
	h.keptOrder(l, waits)
	h.keptCapacity(l)
	h.toldOnce(l)
}

// drawPlan makes the dependencies of every assignment, by index: up to three of the
// thirty before it.
func drawPlan() [][]int {
	random := rand.New(rand.NewPCG(4711, 0))
	waits := make([][]int, planSize)
	for i := range waits {
		for range random.IntN(4) {
			if on := i - 1 - random.IntN(30); on >= 0 && !slices.Contains(waits[i], on) {
				waits[i] = append(waits[i], on)
			}
		}
	}
	return waits
}

func planID(i int) string { return fmt.Sprintf("part-%03d", i) }

// planText writes the plan, the last part first, so that no order is in it but
// that of the dependencies.
func planText(waits [][]int) string {
	var out strings.Builder
	out.WriteString("assignments:\n")
	for i := range slices.Backward(waits) {
		fmt.Fprintf(&out, "  - id: %s\n    title: Do %s\n    paths: [work/%s/**]\n    criteria: [it is done]\n", planID(i), planID(i), planID(i))
		var on []string
		for _, n := range waits[i] {
			on = append(on, planID(n))
		}
		fmt.Fprintf(&out, "    depends_on: [%s]\n", strings.Join(on, ", "))
	}
	return out.String()
}

// keptOrder compares, by the ledger's own sequence, when each part was claimed with
// when those that it waits for were accepted.
func (h *home) keptOrder(l *ledger.Ledger, waits [][]int) {
	h.t.Helper()
	claimed, accepted := map[string]int64{}, map[string]int64{}
	for _, e := range events(h.t, l, ledger.EventFilter{Types: []string{models.EventRunClaimed}}) {
		if claimed[e.AssignmentID] != 0 {
			h.t.Errorf("%s was claimed twice", e.AssignmentID)
		}
		claimed[e.AssignmentID] = e.Sequence
	}
	for _, e := range events(h.t, l, ledger.EventFilter{Types: []string{models.EventIntegratorReview}}) {
		if e.Status == models.EventAccepted {
			accepted[e.AssignmentID] = e.Sequence
		}
	}
	if len(claimed) != planSize || len(accepted) != planSize {
		h.t.Errorf("%d parts were claimed and %d accepted, want %d", len(claimed), len(accepted), planSize)
	}
	for i, on := range waits {
		for _, n := range on {
			if claimed[planID(i)] < accepted[planID(n)] || accepted[planID(n)] == 0 {
				h.t.Errorf("%s was claimed before %s was accepted", planID(i), planID(n))
			}
		}
	}
}

// keptCapacity checks that never more runs than allowed were open at a time, and
// that the allowance was used.
func (h *home) keptCapacity(l *ledger.Ledger) {
	h.t.Helper()
	runs, err := l.Runs(h.t.Context(), ledger.RunFilter{TeamID: theTeam})
	if err != nil || len(runs) != planSize {
		h.t.Fatalf("%d runs, want %d (%v)", len(runs), planSize, err)
	}
	type change struct {
		at   time.Time
		runs int
	}
	var changes []change
	for _, r := range runs {
		if r.EndedAt == nil {
			h.t.Fatalf("run %s has not ended", r.ID)
		}
		changes = append(changes, change{r.StartedAt, 1}, change{*r.EndedAt, -1})
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), a.runs-b.runs) }) // an end frees its slot first
	open, most := 0, 0
	for _, c := range changes {
		open += c.runs
		most = max(most, open)
	}
	if most != planAtime {
		h.t.Errorf("at most %d runs were open at a time, want %d", most, planAtime)
	}
}

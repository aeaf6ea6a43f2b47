package crash

import (
	"reflect"
	"slices"
	"testing"

	"coxswain/models/ledger/failpoint"
)

// The same seed kills the same: a campaign can be repeated, and one world of it.
func TestPlanFollowsFromSeedAndWorld(t *testing.T) {
	for _, transport := range Transports() {
		if one, two := Plan(7, 3, transport), Plan(7, 3, transport); !reflect.DeepEqual(one, two) {
			t.Errorf("the same seed plans %v and %v", one, two)
		}
		if reflect.DeepEqual(Plan(7, 3, transport), Plan(8, 3, transport)) {
			t.Error("two seeds plan the same")
		}
	}
}

// Every arrow gets its share, and every kind of process dies alone and in a pair.
func TestPlanCoversArrowsAndProcesses(t *testing.T) {
	arrows, alone, paired := map[string]int{}, map[Kind]bool{}, map[Kind]bool{}
	worlds := 3 * len(failpoint.Arrows())
	for w := range worlds {
		for _, transport := range Transports() {
			for _, k := range Plan(1, w, transport) {
				for _, kind := range k.Targets {
					alone[kind] = alone[kind] || len(k.Targets) == 1
					paired[kind] = paired[kind] || len(k.Targets) == 2
				}
				if transport == Unix {
					arrows[ArrowOf(k.Point)]++
				}
			}
		}
	}
	for _, a := range failpoint.Arrows() {
		if want := worlds * atArrows / len(failpoint.Arrows()); arrows[string(a)] != want {
			t.Errorf("arrow %s is planned %d times, want %d", a, arrows[string(a)], want)
		}
	}
	for _, kind := range []Kind{Worker, Temporal, AppServer, MCP, Agent} {
		if !alone[kind] || !paired[kind] {
			t.Errorf("%s is killed alone: %t, in a pair: %t", kind, alone[kind], paired[kind])
		}
	}
}

// A world's first random kill takes the worker, so that what a start of it does can
// be interrupted too.
func TestEveryWorldStartsItsWorkerAgain(t *testing.T) {
	for w := range 20 {
		if !slices.ContainsFunc(Plan(1, w, Fake), func(k Kill) bool { return k.Point == Random && slices.Equal(k.Targets, []Kind{Worker}) }) {
			t.Errorf("world %d kills no worker by itself", w)
		}
	}
}

func TestReportFailsOnFewKillsAndOnFindings(t *testing.T) {
	r := Report{Seed: 5, Minimum: 1, Worlds: []WorldReport{{Transport: Fake, Outcome: Outcome{Settled: true}}}}
	if got := len(r.Problems()); got != len(failpoint.Arrows()) {
		t.Errorf("%d problems without any kill, want one for each arrow", got)
	}
	r.Minimum = 0
	if got := r.Problems(); len(got) > 0 {
		t.Errorf("a clean slice has problems %v", got)
	}
	r.Worlds[0].Settled = false
	r.Worlds = append(r.Worlds, WorldReport{Error: "boom"})
	if got := r.Problems(); len(got) != 2 {
		t.Errorf("problems %v, want one for each world", got)
	}
}

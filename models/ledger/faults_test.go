package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// The tests of this file stage faults that users of software of this kind have
// reported; docs/conformance.md says which.

func (c *crew) events(f ledger.EventFilter) []models.Event {
	c.Helper()
	f.Limit = 2000
	found, err := c.l.Events(c.Context(), f)
	c.ok(err)
	return found
}

// another is a ledger of its own on the same database, as another process has it.
func (c *crew) another(o ledger.Options) *ledger.Ledger {
	c.Helper()
	o.Clock = c.clock
	return open(c.T, o)
}

// atOnce calls fn on so many ledgers of the same database at the same time.
func (c *crew) atOnce(o ledger.Options, count int, fn func(l *ledger.Ledger, n int) error) []error {
	c.Helper()
	ledgers := make([]*ledger.Ledger, count)
	for n := range ledgers {
		ledgers[n] = c.another(o)
	}
	begin, errs := make(chan struct{}), make([]error, count)
	var all sync.WaitGroup
	for n, l := range ledgers {
		all.Go(func() {
			<-begin
			errs[n] = fn(l, n)
		})
	}
	close(begin)
	all.Wait()
	return errs
}

// here lets a crew and further ledgers share one database.
func here(t *testing.T, at place) (place, ledger.Options) {
	t.Helper()
	o := at(t)
	return func(testing.TB) ledger.Options { return o }, o
}

func TestThreePassesAtOnceStartEachItemOnce(t *testing.T) {
	onBoth(t, threePassesAtOnceStartEachItemOnce)
}

func threePassesAtOnceStartEachItemOnce(t *testing.T, at place) {
	shared, o := here(t, at)
	c := newCrew(t, shared, func(s *models.LoopSettings) { s.MaxConcurrentRuns = 20 })
	for n := range 4 {
		c.create(fmt.Sprintf("a-%d", n))
	}
	for _, err := range c.atOnce(o, 3, func(l *ledger.Ledger, _ int) error {
		_, err := l.PlanTeam(t.Context(), "t")
		return err
	}) {
		c.ok(err)
	}
	made, err := c.l.Commands(t.Context(), ledger.CommandFilter{TeamID: "t"})
	c.ok(err)
	seen := map[string]int{}
	for _, cmd := range made {
		seen[cmd.AssignmentID]++
	}
	if len(made) != 4 || len(seen) != 4 {
		t.Errorf("three passes over four ready items made %d commands: %v", len(made), seen)
	}
	if runs, err := c.l.Runs(t.Context(), ledger.RunFilter{TeamID: "t"}); err != nil || len(runs) != 4 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

// A pass of the loop and somebody who claims by hand meet.
func TestAPassAndAClaimAtOnceGiveOneRun(t *testing.T) { onBoth(t, aPassAndAClaimAtOnceGiveOneRun) }

func aPassAndAClaimAtOnceGiveOneRun(t *testing.T, at place) {
	shared, o := here(t, at)
	c := newCrew(t, shared, func(s *models.LoopSettings) { s.MaxConcurrentRuns = 20 })
	for n := range 5 {
		id := fmt.Sprintf("a-%d", n)
		c.create(id)
		errs := c.atOnce(o, 2, func(l *ledger.Ledger, who int) error {
			if who == 0 {
				_, err := l.PlanTeam(t.Context(), "t")
				return err
			}
			by := models.Principal{ActorID: "by-hand", Role: models.RoleAgent}
			_, err := l.ClaimAssignment(t.Context(), ledger.As(by), ledger.ClaimRequest{AssignmentID: id})
			return err
		})
		c.ok(errs[0])
		if errs[1] != nil && !models.IsCode(errs[1], models.CodeLeaseConflict) {
			t.Errorf("who came second is told %v", errs[1])
		}
		runs, err := c.l.Runs(t.Context(), ledger.RunFilter{AssignmentID: id})
		c.ok(err)
		live := slices.DeleteFunc(runs, func(r models.Run) bool { return r.EndedAt != nil })
		if len(live) != 1 {
			t.Errorf("%s has %d live runs after a pass and a claim at once (the claim: %v)", id, len(live), errs[1])
		}
	}
}

// More runs expire at once than any page holds.
func TestManyExpiriesAreNoticedInOneLook(t *testing.T) { onBoth(t, manyExpiriesAreNoticedInOneLook) }

func manyExpiriesAreNoticedInOneLook(t *testing.T, at place) {
	const count = 60
	c := newCrew(t, at, func(s *models.LoopSettings) { s.MaxConcurrentRuns = count })
	for n := range count {
		c.create(fmt.Sprintf("a-%d", n))
	}
	for n, cmd := range c.plan() {
		c.claimed(cmd, fmt.Sprintf("th-%d", n))
	}
	c.pass(2 * time.Hour)
	found, err := c.l.Reconcile(t.Context())
	c.ok(err)
	if found.Stale != count || found.Vanished != count {
		t.Errorf("of %d expired runs %d are stale and %d vanished", count, found.Stale, found.Vanished)
	}
	if n := len(c.events(ledger.EventFilter{Types: []string{models.EventRunStale}})); n != count {
		t.Errorf("%d events tell of them", n)
	}
}

// One handoff is looked at again and again, by a loop that starts anew each time: the
// integrator hears of it once.
func TestAHandoffSeenAgainIsNudgedOnce(t *testing.T) { onBoth(t, aHandoffSeenAgainIsNudgedOnce) }

func aHandoffSeenAgainIsNudgedOnce(t *testing.T, at place) {
	shared, o := here(t, at)
	c := newCrew(t, shared, nil)
	c.create("a")
	run := c.claimed(c.only(models.CommandStart), "th-1")
	c.delivered("th-1", "tu-1")
	handoff := c.handOff(run)
	c.endTurn("th-1", "tu-1", models.TurnCompleted)
	for range 3 {
		again := c.another(o)
		if _, err := again.SubmitHandoff(t.Context(), ledger.As(c.worker(run)), ledger.HandoffRequest{AssignmentID: "a", Payload: map[string]any{"summary": "done"}}); err == nil {
			t.Error("the same handoff was taken twice")
		}
		_, err := again.PlanTeam(t.Context(), "t")
		c.ok(err)
	}
	nudges, err := c.l.Commands(t.Context(), ledger.CommandFilter{TeamID: "t"})
	c.ok(err)
	nudges = slices.DeleteFunc(nudges, func(cmd models.Command) bool { return cmd.Type != models.CommandNudge })
	if len(nudges) != 1 || !slices.Equal(nudges[0].EventIDs, []string{handoff.ID}) {
		t.Errorf("nudges %+v, want one about %s", nudges, handoff.ID)
	}
}

// Fifty handoffs that wait are one text to the integrator.
func TestFiftyHandoffsAreOneNudge(t *testing.T) { onBoth(t, fiftyHandoffsAreOneNudge) }

func fiftyHandoffsAreOneNudge(t *testing.T, at place) {
	const count = 50
	c := newCrew(t, at, func(s *models.LoopSettings) { s.MaxConcurrentRuns = count })
	for n := range count {
		c.create(fmt.Sprintf("a-%d", n))
	}
	for n, cmd := range c.plan() {
		thread, turn := fmt.Sprintf("th-%d", n), fmt.Sprintf("tu-%d", n)
		run := c.claimed(cmd, thread)
		c.delivered(thread, turn)
		c.handOff(run)
		c.endTurn(thread, turn, models.TurnCompleted)
	}
	nudge := c.only(models.CommandNudge)
	if len(nudge.EventIDs) != count {
		t.Errorf("the nudge names %d of %d handoffs", len(nudge.EventIDs), count)
	}
	if more := c.plan(); len(more) != 0 {
		t.Errorf("a second text beside the first: %v", more)
	}
}

// Ten bad looks at the adapter are one alert, and the good one after them is one more
// event.
func TestABadAdapterIsOneAlertAndOneRecovery(t *testing.T) {
	onBoth(t, aBadAdapterIsOneAlertAndOneRecovery)
}

func aBadAdapterIsOneAlertAndOneRecovery(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	good := c.probe()
	before := len(c.events(ledger.EventFilter{Types: []string{models.EventAdapterAvailable}}))
	for n := range 10 {
		c.pass(time.Minute)
		c.ok(c.l.RecordProbe(t.Context(), "n", models.Probe{AdapterKind: models.AdapterKindFake, Status: models.StatusUnavailable, Reason: fmt.Sprintf("no answer, try %d", n)}))
	}
	c.ok(c.l.RecordProbe(t.Context(), "n", good))
	c.ok(c.l.RecordProbe(t.Context(), "n", good))
	bad := c.events(ledger.EventFilter{Types: []string{models.EventAdapterUnavailable}})
	if len(bad) != 1 || !strings.Contains(fmt.Sprint(bad[0].Payload["reason"]), "no answer") {
		t.Errorf("ten bad looks are told by %+v", bad)
	}
	if after := len(c.events(ledger.EventFilter{Types: []string{models.EventAdapterAvailable}})); after-before != 1 {
		t.Errorf("the recovery is told %d times", after-before)
	}
}

// A hundred callers give up while somebody else has the ledger; the next one is
// served.
func TestCallersThatGaveUpHoldNoPlace(t *testing.T) { onBoth(t, callersThatGaveUpHoldNoPlace) }

func callersThatGaveUpHoldNoPlace(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("a")
	for n := range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		var given sync.WaitGroup
		given.Go(func() {
			// Whether this one is served before it gives up is a matter of luck.
			_, _ = c.l.CreateAssignment(ctx, ledger.As(person), models.NewAssignment{ID: fmt.Sprintf("given-up-%d", n), TeamID: "t", Title: "x"}, nil)
		})
		cancel()
		given.Wait()
	}
	limited, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := c.l.CreateAssignment(limited, ledger.As(person), models.NewAssignment{ID: "next", TeamID: "t", Title: "Is served"}, nil); err != nil {
		t.Errorf("after a hundred callers that gave up the next one is told %v", err)
	}
}

// What keeps an assignment back goes away without a word to its row: the next pass
// sees it, and the passes after that do nothing.
func TestAHoldThatIsOverIsNotBelieved(t *testing.T) { onBoth(t, aHoldThatIsOverIsNotBelieved) }

func aHoldThatIsOverIsNotBelieved(t *testing.T, at place) {
	c := newCrew(t, at, nil)
	c.create("first")
	start := c.only(models.CommandStart)
	c.create("second", func(a *models.NewAssignment) { a.AllowedPaths = []string{"first"} })
	if made := c.plan(); len(made) != 0 || c.assignment("second").DeferredReason == "" {
		t.Fatalf("while its path is held the pass made %v, and the reason is %q", made, c.assignment("second").DeferredReason)
	}
	_, err := c.l.CancelAssignment(t.Context(), ledger.As(person), "first", nil, "not needed")
	c.ok(err)
	_, _, err = c.l.BeginCommand(t.Context(), start.ID, "x")
	c.ok(err)
	c.ok(c.l.FailCommand(t.Context(), start.ID, "x", "cancelled"))
	if got := c.only(models.CommandStart); got.AssignmentID != "second" {
		t.Fatalf("started %s", got.AssignmentID)
	}
	for range 5 {
		if made := c.plan(); len(made) != 0 {
			t.Fatalf("a later pass made %v", made)
		}
	}
}

package ledger_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// rivalVar makes a copy of this test binary one of the processes that race; it holds
// rivalOptions.
const rivalVar = "COX_TEST_RIVAL"

// rivals is how many processes race in each round.
const rivals = 8

// rivalOptions are the ledger's options that every process shares.
type rivalOptions struct {
	Path, StateDir string
	LockTimeout    time.Duration
}

// order is one line that a rival reads: what to do to what.
type order struct {
	Do    string `json:"do"` // claim, patch or decide
	ID    string `json:"id"` // the assignment, run or handoff
	Actor string `json:"actor"`
	Key   string `json:"key,omitempty"` // of a patch
}

// outcome is the line that it answers with.
type outcome struct {
	Code    models.Code `json:"code"` // "" for success
	Message string      `json:"message,omitempty"`
	ID      string      `json:"id,omitempty"` // of the run that was claimed, or of the ledger
}

// playRival opens the ledger and carries out orders until there are none.
func playRival(options string) int {
	var o rivalOptions
	answers := json.NewEncoder(os.Stdout)
	answer := func(id string, err error) error {
		out := outcome{ID: id, Code: models.CodeOf(err)}
		if err != nil {
			out.Message = err.Error()
		}
		return answers.Encode(out)
	}
	err := json.Unmarshal([]byte(options), &o)
	var l *ledger.Ledger
	if err == nil {
		l, err = ledger.Open(context.Background(), ledger.Options{Path: o.Path, StateDir: o.StateDir, LockTimeout: o.LockTimeout})
	}
	if err != nil {
		_ = answer("", err) // the exit says the same
		return 1
	}
	defer l.Close()
	err = answer(l.Instance(), nil)
	for orders := json.NewDecoder(os.Stdin); err == nil; {
		var next order
		if err = orders.Decode(&next); err == nil {
			err = answer(carryOut(l, next))
		}
	}
	if errors.Is(err, io.EOF) {
		return 0
	}
	return 1
}

func carryOut(l *ledger.Ledger, o order) (string, error) {
	ctx := context.Background()
	by := models.Principal{ActorID: o.Actor, Role: models.RoleAgent}
	switch o.Do {
	case "claim":
		c, err := l.ClaimAssignment(ctx, ledger.As(by), ledger.ClaimRequest{AssignmentID: o.ID, Base: new(1)})
		return c.Run.ID, err
	case "patch":
		_, err := l.RecordRunBinding(ctx, ledger.As(by), o.ID, map[string]any{"keys": map[string]any{o.Key: true}}, nil)
		return "", err
	case "decide":
		by.Role = models.RoleHuman
		_, err := l.Decide(ctx, ledger.As(by), ledger.DecideRequest{EventID: o.ID, Decision: models.DecisionAccept, Note: "looked at it"})
		return "", err
	}
	return "", fmt.Errorf("no such order: %s", o.Do)
}

// rival is one of the processes, as the test sees it.
type rival struct {
	orders  *json.Encoder
	answers *json.Decoder
}

// derby is the race of all rivals over one ledger.
type derby struct {
	*testing.T
	l      *ledger.Ledger
	rivals []rival
}

// newDerby starts the processes before the ledger exists, so that all of them create
// it at once.
func newDerby(t *testing.T, at place) *derby {
	t.Helper()
	o := at(t)
	o.LockTimeout = time.Minute // the machine may be busy with other tests
	d := &derby{T: t}
	for range rivals {
		d.rivals = append(d.rivals, startRival(t, o))
	}
	instance := ""
	for _, r := range d.rivals {
		out := d.answer(r)
		if out.Code != "" || instance != "" && out.ID != instance {
			t.Fatalf("opened by all at once: %+v, others got %s", out, instance)
		}
		instance = out.ID
	}
	d.l = open(t, o)
	if d.l.Instance() != instance {
		t.Fatalf("instance %s, the rivals opened %s", d.l.Instance(), instance)
	}
	return d
}

func startRival(t *testing.T, o ledger.Options) rival {
	t.Helper()
	text, err := json.Marshal(rivalOptions{Path: o.Path, StateDir: o.StateDir, LockTimeout: o.LockTimeout})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), rivalVar+"="+string(text)), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // ends it
		if err := cmd.Wait(); err != nil {
			t.Errorf("a rival ended: %v", err)
		}
	})
	return rival{orders: json.NewEncoder(in), answers: json.NewDecoder(bufio.NewReader(out))}
}

func (d *derby) answer(r rival) outcome {
	d.Helper()
	var out outcome
	if err := r.answers.Decode(&out); err != nil {
		d.Fatalf("a rival does not answer: %v", err)
	}
	return out
}

// race gives every rival its order at once and collects the answers.
func (d *derby) race(of func(i int) order) []outcome {
	d.Helper()
	for i, r := range d.rivals {
		if err := r.orders.Encode(of(i)); err != nil {
			d.Fatal(err)
		}
	}
	out := make([]outcome, len(d.rivals))
	for i, r := range d.rivals {
		out[i] = d.answer(r)
	}
	return out
}

// winner demands one success and the given refusals of all the others.
func (d *derby) winner(what string, outs []outcome, refusals ...models.Code) int {
	d.Helper()
	won := -1
	for i, out := range outs {
		expected := false
		for _, c := range refusals {
			expected = expected || out.Code == c
		}
		switch {
		case out.Code == "" && won >= 0:
			d.Fatalf("%s: rivals %d and %d won", what, won, i)
		case out.Code == "":
			won = i
		case !expected:
			d.Fatalf("%s: an unexpected refusal: %+v", what, out)
		}
	}
	if won < 0 {
		d.Fatalf("%s: nobody won: %+v", what, outs)
	}
	return won
}

func (d *derby) ok(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

func rounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("COX_TEST_ROUNDS")
	if text == "" {
		return 200
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("COX_TEST_ROUNDS=%s is no number of rounds", text)
	}
	return n
}

// Eight processes claim, patch and decide at once, 200 rounds (COX_TEST_ROUNDS):
// one winner each, no key lost, no error that a rule does not explain, and a
// follower that misses nothing.
func TestProcessesRace(t *testing.T) {
	onBoth(t, func(t *testing.T, at place) {
		t.Parallel()
		d := newDerby(t, at)
		_, err := d.l.RegisterWorkspace(t.Context(), ledger.As(person), ledger.NewWorkspace{ID: "w", RepoRoot: "/srv/w", NodeID: "n"})
		d.ok(err)
		_, err = d.l.CreateTeam(t.Context(), ledger.As(person), ledger.NewTeam{ID: "t", WorkspaceID: "w"})
		d.ok(err)
		follow := d.follow()
		n := rounds(t)
		for i := range n {
			d.round(fmt.Sprintf("a%d", i))
		}
		follow()
		d.settled(n)
	})
}

func (d *derby) round(id string) {
	d.Helper()
	_, err := d.l.CreateAssignment(d.Context(), ledger.As(person), models.NewAssignment{ID: id, WorkspaceID: "w", TeamID: "t", Title: "Do " + id}, nil)
	d.ok(err)
	worker := func(i int) string { return fmt.Sprintf("worker-%d", i) }
	outs := d.race(func(i int) order { return order{Do: "claim", ID: id, Actor: worker(i)} })
	won := d.winner("claim of "+id, outs, models.CodeStaleRevision, models.CodeLeaseConflict)
	run, by := outs[won].ID, models.Principal{ActorID: worker(won), Role: models.RoleAgent}
	for _, out := range d.race(func(i int) order {
		return order{Do: "patch", ID: run, Actor: by.ActorID, Key: fmt.Sprintf("k%d", i)}
	}) {
		if out.Code != "" {
			d.Fatalf("patch of %s: %+v", run, out)
		}
	}
	handoff, err := d.l.SubmitHandoff(d.Context(), ledger.As(by), ledger.HandoffRequest{AssignmentID: id, Payload: map[string]any{"summary": "done"}})
	d.ok(err)
	outs = d.race(func(i int) order { return order{Do: "decide", ID: handoff.ID, Actor: fmt.Sprintf("human:%d", i)} })
	d.winner("decision of "+id, outs, models.CodeStaleRevision)
}

// settled looks at what the rounds left.
func (d *derby) settled(n int) {
	d.Helper()
	runs, err := d.l.Runs(d.Context(), ledger.RunFilter{})
	d.ok(err)
	if len(runs) != n {
		d.Errorf("%d runs of %d rounds", len(runs), n)
	}
	for _, r := range runs {
		if keys, _ := r.Metadata["keys"].(map[string]any); len(keys) != rivals {
			d.Errorf("run %s kept %d of %d keys", r.ID, len(keys), rivals)
		}
	}
	decided, err := d.l.Events(d.Context(), ledger.EventFilter{Types: []string{models.EventIntegratorReview}, Limit: 2 * n})
	d.ok(err)
	if len(decided) != n {
		d.Errorf("%d decisions of %d rounds", len(decided), n)
	}
	for i := range n {
		a, err := d.l.Assignment(d.Context(), fmt.Sprintf("a%d", i))
		d.ok(err)
		if a.Status != models.AssignmentAccepted {
			d.Errorf("assignment %s is %s", a.ID, a.Status)
		}
	}
}

// follow reads events by cursor, at each commit that it notices, while the race goes
// on. The function that it returns
// ends that and demands that no event was missed.
func (d *derby) follow() func() {
	stop, ended := make(chan struct{}), make(chan error, 1)
	seen := []int64{}
	cursor := int64(0)
	look := func() error {
		page, err := d.l.Events(d.Context(), ledger.EventFilter{After: cursor})
		for _, e := range page {
			seen, cursor = append(seen, e.Sequence), e.Sequence
		}
		return err
	}
	watch, err := d.l.Watch(d.Context())
	d.ok(err)
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			changed, err := watch.Changed(d.Context())
			if err == nil && changed {
				err = look()
			}
			if err != nil {
				ended <- err
				return
			}
			select {
			case <-stop:
				ended <- nil
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		d.Helper()
		close(stop)
		d.ok(<-ended)
		d.ok(watch.Close())
		if len(seen) == 0 {
			d.Error("the follower noticed no commit")
		}
		for before := -1; before != len(seen); {
			before = len(seen)
			d.ok(look())
		}
		all, err := d.l.Events(d.Context(), ledger.EventFilter{Limit: 1_000_000})
		d.ok(err)
		for i, e := range all {
			if i >= len(seen) || seen[i] != e.Sequence {
				d.Fatalf("the follower missed event %d, it saw %d of %d", e.Sequence, len(seen), len(all))
			}
		}
	}
}

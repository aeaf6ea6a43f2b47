package fake

import (
	"slices"
	"sync"
	"time"

	"coxswain/activities/codex"

	"github.com/google/uuid"
)

// itemTextLimit is the contract's limit of Item.Text, in bytes.
const itemTextLimit = 4 << 10

// thread is a loaded thread.
type thread struct {
	id    string
	store store

	mu         sync.Mutex
	lock       *threadLock // nil until the first turn is stored
	spec       codex.ThreadSpec
	rec        record
	subscribed bool
	active     *turn         // nil while idle
	asking     string        // the request that waits for a person, "" for none
	last       chan struct{} // closed when the newest turn's end was reported
}

func newThread(id string, s store, spec codex.ThreadSpec) *thread {
	last := make(chan struct{})
	close(last)
	return &thread{
		id: id, store: s, spec: spec, subscribed: true, last: last,
		rec: record{Format: storeFormat, ID: id, CWD: spec.CWD},
	}
}

func (t *thread) view() codex.Thread {
	t.mu.Lock()
	defer t.mu.Unlock()
	return codex.Thread{ID: t.id, CWD: t.rec.CWD, Status: t.statusLocked(), Asking: t.asking != ""}
}

func (t *thread) statusLocked() codex.ThreadStatus {
	if t.active != nil {
		return codex.ThreadActive
	}
	if n := len(t.rec.Turns); n > 0 && t.rec.Turns[n-1].Status == codex.TurnFailed {
		return codex.ThreadError
	}
	return codex.ThreadIdle
}

// snapshot is a copy of the history that the caller may keep.
func (t *thread) snapshot() record {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rec
	r.Turns, r.Items = slices.Clone(r.Turns), slices.Clone(r.Items)
	return r
}

// reconfigure subscribes and applies a configuration, which Codex does only
// while nobody is subscribed and no turn runs.
func (t *thread) reconfigure(spec codex.ThreadSpec) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.subscribed && t.active == nil {
		t.spec, t.rec.CWD = spec, spec.CWD
	}
	t.subscribed = true
}

func (t *thread) unsubscribe() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.subscribed = false
}

func (t *thread) listens() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.subscribed
}

// begin stores a new turn with its user message and makes it the active one.
func (t *thread) begin(in codex.TurnInput, now time.Time) (*turn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.active != nil {
		return nil, &codex.Error{Kind: codex.ErrTurnMismatch, Message: "turn " + t.active.id + " is still active; interrupt it or wait for its end"}
	}
	if t.rec.Archived {
		return nil, refused("thread "+t.id+" is archived", nil)
	}
	if t.lock == nil {
		lock, err := t.store.acquire(t.id)
		if err != nil {
			return nil, err
		}
		t.lock = lock
	}
	run := newTurn(t, in, now)
	if err := t.changeLocked(func(r *record) {
		r.Turns = append(r.Turns, run.record)
		r.Items = append(r.Items, run.message)
	}); err != nil {
		return nil, refused("storing the message in thread "+t.id, err)
	}
	run.previous, t.last = t.last, run.reported
	t.active = run
	return run, nil
}

// changeLocked stores a changed history, or leaves it as it was.
func (t *thread) changeLocked(change func(*record)) error {
	next := t.rec
	next.Turns, next.Items = slices.Clone(next.Turns), slices.Clone(next.Items)
	change(&next)
	if err := t.store.write(&next); err != nil {
		return err
	}
	t.rec = next
	return nil
}

// addItem stores an item of the active turn.
func (t *thread) addItem(item itemRecord) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changeLocked(func(r *record) { r.Items = append(r.Items, item) })
}

// addTokens adds to the totals. They reach the disk with the next item or the
// turn's end.
func (t *thread) addTokens(input, output int64) codex.Tokens {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rec.Tokens.Input += input
	t.rec.Tokens.Output += output
	t.rec.Tokens.Total += input + output
	return codex.Tokens(t.rec.Tokens)
}

// finish stores the end of the active turn. A history that cannot be written
// reads as interrupted later; the turn is over all the same.
func (t *thread) finish(end turnRecord) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active = nil
	set := func(r *record) { r.Turns[len(r.Turns)-1] = end }
	err := t.changeLocked(set)
	if err != nil {
		set(&t.rec)
	}
	return err
}

// expect returns the active turn when it is the given one.
func (t *thread) expect(turnID string) (*turn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.active == nil:
		return nil, &codex.Error{Kind: codex.ErrTurnMismatch, Message: "no turn of thread " + t.id + " is active"}
	case t.active.id != turnID:
		return nil, &codex.Error{Kind: codex.ErrTurnMismatch, Message: "turn " + t.active.id + " is active, not " + turnID}
	}
	return t.active, nil
}

// newID is a UUID of version 7, so that ids sort by age and none comes twice,
// whichever host made it.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

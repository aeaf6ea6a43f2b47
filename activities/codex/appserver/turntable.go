package appserver

import (
	"sync"
	"time"
)

// progressInterval is the least time between two progress events of a turn.
const progressInterval = time.Second

// turnTable knows the turns that this host saw begin and not yet end. The zero
// value is ready.
type turnTable struct {
	mu    sync.Mutex
	turns map[string]*liveTurn
}

type liveTurn struct {
	threadID string
	started  chan struct{} // closed at turn/started, or when the turn is over
	once     sync.Once
	progress time.Time // of the last progress event
}

// announce enters a turn that the server has accepted but not yet started.
func (t *turnTable) announce(threadID, turnID string) *liveTurn {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn := t.turns[turnID]
	if turn == nil {
		turn = &liveTurn{threadID: threadID, started: make(chan struct{})}
		if t.turns == nil {
			t.turns = map[string]*liveTurn{}
		}
		t.turns[turnID] = turn
	}
	return turn
}

func (t *turnTable) start(threadID, turnID string) { t.announce(threadID, turnID).release() }

func (l *liveTurn) release() { l.once.Do(func() { close(l.started) }) }

// of is the turn of a thread that this host saw begin and not yet end, "" for none.
func (t *turnTable) of(threadID string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, turn := range t.turns {
		if turn.threadID == threadID {
			return id
		}
	}
	return ""
}

// end forgets the turn.
func (t *turnTable) end(turnID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if turn := t.turns[turnID]; turn != nil {
		turn.release()
		delete(t.turns, turnID)
	}
}

// drop forgets the turns of a thread whose events come no more.
func (t *turnTable) drop(threadID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, turn := range t.turns {
		if turn.threadID == threadID {
			turn.release()
			delete(t.turns, id)
		}
	}
}

func (t *turnTable) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, turn := range t.turns {
		turn.release()
	}
	t.turns = nil
}

// starting returns the channel that a turn's start closes, nil when the turn has
// ended or was never announced.
func (t *turnTable) starting(turnID string) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if turn := t.turns[turnID]; turn != nil {
		return turn.started
	}
	return nil
}

// progressed tells whether a progress event of the turn is due.
func (t *turnTable) progressed(turnID string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn := t.turns[turnID]
	if turn == nil || now.Sub(turn.progress) < progressInterval {
		return false
	}
	turn.progress = now
	return true
}

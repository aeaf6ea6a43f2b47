package appserver

import (
	"sync"

	"coxswain/activities/codex"
)

// queueLength is how many events wait for one subscriber.
const queueLength = 1024

// hub hands events to subscribers.
type hub struct {
	end  chan struct{}   // closed when no event comes any more
	gone <-chan struct{} // closed when the process has ended: full queues are waited for no more

	mu   sync.Mutex
	subs map[*subscriber]struct{}
}

type subscriber struct {
	queue chan codex.Event
	gone  chan struct{} // closed by cancel
	once  sync.Once
}

func newHub(processGone <-chan struct{}) *hub {
	return &hub{end: make(chan struct{}), gone: processGone, subs: map[*subscriber]struct{}{}}
}

func (h *hub) subscribe(fn func(codex.Event)) func() {
	s := &subscriber{queue: make(chan codex.Event, queueLength), gone: make(chan struct{})}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs[s] = struct{}{}
	go s.run(fn, h.end)
	return func() { h.cancel(s) }
}

// run delivers until the subscription is cancelled, or the hub has ended and the
// queue is empty.
func (s *subscriber) run(fn func(codex.Event), end <-chan struct{}) {
	for {
		var e codex.Event
		select {
		case <-s.gone:
			return
		case e = <-s.queue:
		case <-end:
			select {
			case e = <-s.queue:
			default:
				return
			}
		}
		select {
		case <-s.gone: // an event was ready as well
			return
		default:
			fn(e)
		}
	}
}

func (h *hub) cancel(s *subscriber) {
	s.once.Do(func() { close(s.gone) })
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.subs, s)
}

// emit queues an event for every subscriber. Events of one goroutine, such as
// all that the reader makes, keep their order.
func (h *hub) emit(e codex.Event) {
	for _, s := range h.current() {
		select {
		case s.queue <- e:
			continue
		default:
		}
		if e.Type == codex.EventProgress || e.Type == codex.EventSign {
			continue // the queue holds proof of progress already
		}
		select {
		case s.queue <- e:
		case <-s.gone:
		case <-h.gone:
		case <-h.end:
		}
	}
}

func (h *hub) current() []*subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]*subscriber, 0, len(h.subs))
	for s := range h.subs {
		out = append(out, s)
	}
	return out
}

// close lets the subscribers take what is queued and end. It is called once.
func (h *hub) close() { close(h.end) }

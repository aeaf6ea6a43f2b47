package appserver

import (
	"encoding/json"
	"sync"

	"coxswain/activities/codex"
	"coxswain/models"
)

// The server's requests that are understood.
const (
	askCommand     = "item/commandExecution/requestApproval"
	askFiles       = "item/fileChange/requestApproval"
	askPermissions = "item/permissions/requestApproval"
	askElicitation = "mcpServer/elicitation/request"
	askInput       = "item/tool/requestUserInput"
)

// waitingRequest is a request of the server that has no answer yet. Its fields but
// the states are not changed once it is entered.
type waitingRequest struct {
	raw      json.RawMessage // its id as the server gave it
	method   string
	threadID string
	turnID   string
	asked    models.ApprovalRequest
	granted  json.RawMessage // of askPermissions: what an acceptance grants

	told  bool // a person's answer is waited for
	taken bool // that answer is on its way
}

func (r *waitingRequest) id() string { return string(r.raw) }

// requestTable knows the requests that the server waits for. The zero value is ready.
type requestTable struct {
	mu   sync.Mutex
	open map[requestKey]*waitingRequest
}

type requestKey struct{ threadID, id string }

// add enters a request; one that the server shows again replaces the former.
func (t *requestTable) add(r *waitingRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[requestKey]*waitingRequest{}
	}
	t.open[requestKey{r.threadID, r.id()}] = r
}

// wait marks a request as waiting for a person, false when it has ended.
func (t *requestTable) wait(r *waitingRequest) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[requestKey{r.threadID, r.id()}] != r {
		return false
	}
	r.told = true
	return true
}

// waits tells whether a person's answer to a request is waited for.
func (t *requestTable) waits(ref codex.RequestRef) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.find(ref) != nil
}

// take hands out a request that waits for a person, to one caller.
func (t *requestTable) take(ref codex.RequestRef) *waitingRequest {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.find(ref)
	if r != nil {
		r.taken = true
	}
	return r
}

// find is the request that waits under the name, nil for none. Another server counts
// its requests anew, so that the turn has to be the same.
func (t *requestTable) find(ref codex.RequestRef) *waitingRequest {
	r := t.open[requestKey{ref.ThreadID, ref.ID}]
	if r == nil || r.turnID != ref.TurnID || !r.told || r.taken {
		return nil
	}
	return r
}

func (t *requestTable) giveBack(r *waitingRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.taken = false
}

// end removes a request and returns it, nil when there is none.
func (t *requestTable) end(threadID, id string) *waitingRequest {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := requestKey{threadID, id}
	r := t.open[key]
	delete(t.open, key)
	return r
}

// forget removes a request that is about to be answered by policy.
func (t *requestTable) forget(r *waitingRequest) {
	t.drop(func(o *waitingRequest) bool { return o == r })
}

// drop removes the requests that fit.
func (t *requestTable) drop(fits func(*waitingRequest) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, r := range t.open {
		if fits(r) {
			delete(t.open, key)
		}
	}
}

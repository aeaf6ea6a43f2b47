package appserver

import (
	"encoding/json"
	"sync"

	"coxswain/models"
)

// maxDiff is how much of one file's change is kept for whom it is shown to, in bytes.
const maxDiff = 8 << 10

// patchTable knows the file changes that have begun: a request about one names it
// only. The zero value is ready.
type patchTable struct {
	mu    sync.Mutex
	items map[string]startedPatch // by item
}

type startedPatch struct {
	turnID string
	files  []models.FileChange
}

// note keeps a started file change.
func (t *patchTable) note(params json.RawMessage) {
	var p struct {
		TurnID string `json:"turnId"`
		Item   struct {
			ID      string `json:"id"`
			Type    string `json:"type"`
			Changes []struct {
				Path string `json:"path"`
				Diff string `json:"diff"`
				Kind struct {
					Type string `json:"type"`
				} `json:"kind"`
			} `json:"changes"`
		} `json:"item"`
	}
	if decode(params, &p) != nil || p.Item.Type != "fileChange" {
		return
	}
	files := make([]models.FileChange, 0, len(p.Item.Changes))
	for _, c := range p.Item.Changes {
		files = append(files, models.FileChange{Path: c.Path, Change: c.Kind.Type, Diff: cut(c.Diff, maxDiff)})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.items == nil {
		t.items = map[string]startedPatch{}
	}
	t.items[p.Item.ID] = startedPatch{turnID: p.TurnID, files: files}
}

// of are the files of a change; none when it was not seen to begin.
func (t *patchTable) of(itemID string) []models.FileChange {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.items[itemID].files
}

// drop forgets the changes of an ended turn.
func (t *patchTable) drop(turnID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, p := range t.items {
		if p.turnID == turnID {
			delete(t.items, id)
		}
	}
}

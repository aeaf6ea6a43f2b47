package fake

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"coxswain/activities/codex"

	"github.com/google/uuid"
)

// storeFormat is the version of the thread files. A newer one is refused.
const storeFormat = 1

// record is the content of a thread's file. Its parts convert to the contract's
// types, whose fields they mirror.
type record struct {
	Format   int          `json:"format"`
	ID       string       `json:"id"`
	CWD      string       `json:"cwd"`
	Archived bool         `json:"archived"`
	Tokens   tokenRecord  `json:"tokens"` // totals of the thread
	Turns    []turnRecord `json:"turns"`  // oldest first
	Items    []itemRecord `json:"items"`  // oldest first
}

type tokenRecord struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
	Total  int64 `json:"total"`
}

type turnRecord struct {
	ID        string           `json:"id"`
	Status    codex.TurnStatus `json:"status"`
	Error     string           `json:"error,omitempty"`
	ErrorKind string           `json:"error_kind,omitempty"`
	StartedAt time.Time        `json:"started_at"`
	EndedAt   time.Time        `json:"ended_at"`
}

type itemRecord struct {
	ID       string `json:"id"`
	TurnID   string `json:"turn_id"`
	Type     string `json:"type"`
	ClientID string `json:"client_id,omitempty"`
	Text     string `json:"text"`
	Status   string `json:"status,omitempty"`
}

// loseActive marks turns that no process plays any more. It tells whether there
// were any. When they ended is unknown.
func (r *record) loseActive() bool {
	lost := false
	for i := range r.Turns {
		if r.Turns[i].Status == codex.TurnInProgress {
			r.Turns[i].Status = codex.TurnInterrupted
			lost = true
		}
	}
	return lost
}

// store is the folder of thread files.
type store struct{ dir string }

func (s store) path(id string) string     { return filepath.Join(s.dir, id+".json") }
func (s store) lockPath(id string) string { return filepath.Join(s.dir, id+".lock") }

// ids lists the threads that have a file, in order.
func (s store) ids() ([]string, error) {
	files, err := filepath.Glob(filepath.Join(s.dir, "*.json"))
	if err != nil {
		return nil, refused("listing the threads", err)
	}
	for i, file := range files {
		files[i] = strings.TrimSuffix(filepath.Base(file), ".json")
	}
	return files, nil
}

// read returns a thread's file. An id that is no UUID has none, so that no id
// leads out of the folder.
func (s store) read(id string) (record, error) {
	if err := uuid.Validate(id); err != nil {
		return record{}, unknownThread(id, "is no thread id")
	}
	data, err := os.ReadFile(s.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, unknownThread(id, "has no history")
	}
	if err != nil {
		return record{}, refused("reading thread "+id, err)
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return record{}, refused("the file of thread "+id+" is damaged", err)
	}
	if r.Format != storeFormat {
		return record{}, refused(fmt.Sprintf("the file of thread %s has format %d, this host knows %d", id, r.Format, storeFormat), nil)
	}
	return r, nil
}

// write replaces a thread's file durably. The caller holds the thread's lock, so
// one temporary name is enough and a crash leaves at most that one file.
func (s store) write(r *record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	temp := s.path(r.ID) + ".tmp"
	if err := writeSynced(temp, data); err != nil {
		return err
	}
	if err := os.Rename(temp, s.path(r.ID)); err != nil {
		return err
	}
	return syncDir(s.dir)
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

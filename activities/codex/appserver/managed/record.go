package managed

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// record is what is known of a started server.
type record struct {
	PID       int       `json:"pid"`
	Started   string    `json:"process_started"` // as the system spells it
	Boot      string    `json:"boot_id"`
	Version   string    `json:"version"` // of Codex
	CodexHome string    `json:"codex_home"`
	Socket    string    `json:"socket"`
	At        time.Time `json:"started_at"`
}

// place is the folder of a node's server.
type place string

func placeOf(stateDir string) place { return place(filepath.Join(stateDir, "app-server")) }

func (p place) make() error {
	if err := os.MkdirAll(string(p), 0o700); err != nil {
		return err
	}
	return checkFolder(string(p))
}

func (p place) file() string   { return filepath.Join(string(p), "server.json") }
func (p place) lock() string   { return filepath.Join(string(p), "lock") }
func (p place) log() string    { return filepath.Join(string(p), "output.log") }
func (p place) oldLog() string { return p.log() + ".1" }
func (p place) exists() bool   { _, err := os.Stat(string(p)); return err == nil }
func (p place) forget() error  { return absent(os.Remove(p.file())) }
func absent(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// read returns the record, and whether there is one. A record that cannot be read
// proves nothing, so that its server, if any, would be left alone.
func (p place) read() (r record, found bool, err error) {
	text, err := os.ReadFile(p.file())
	if errors.Is(err, os.ErrNotExist) {
		return record{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return record{}, false, fmt.Errorf("%s: %w", p.file(), err)
	}
	return r, true, nil
}

// write replaces the record whole.
func (p place) write(r record) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	next := p.file() + ".new"
	if err := os.WriteFile(next, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(next, p.file())
}

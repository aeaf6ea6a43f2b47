package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"coxswain/models"
	"coxswain/workflows"
)

// upRecord is what a running `cox up` tells other commands of its state directory.
// The record of one that was killed stays, and tells that it was.
type upRecord struct {
	PID       int    `json:"pid"`
	Adapter   string `json:"adapter"` // as the flag spells it
	Address   string `json:"address"` // of its engine; "" before it is known, and where the SDK's environment names it
	Namespace string `json:"namespace"`

	Ready bool     `json:"ready"` // everything is started
	UI    string   `json:"ui"`    // of its own engine; "" where that is another's
	Teams []string `json:"teams"` // whose loops it turned on
}

func upFile(stateDir string) string { return filepath.Join(stateDir, "up.json") }

// readUp returns the record of the `cox up` that runs; runs is false without one,
// and while it has not told anything yet.
func readUp(stateDir string) (r upRecord, runs bool) {
	pid, held := upRunning(stateDir)
	raw, err := os.ReadFile(upFile(stateDir))
	if err != nil || json.Unmarshal(raw, &r) != nil || !held || r.PID != pid {
		return upRecord{}, false
	}
	return r, true
}

// tellOthers writes the record of this command.
func (s *stack) tellOthers(e workflows.Engine) error {
	r := upRecord{PID: os.Getpid(), Adapter: s.text("adapter"), Address: e.Address, Namespace: e.Namespace}
	return writeUp(s.stateDir, r)
}

// writeUp replaces the record whole, since others read it at any time.
func writeUp(stateDir string, r upRecord) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	next := upFile(stateDir) + ".new"
	if err := os.WriteFile(next, append(raw, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(next, upFile(stateDir))
}

// tellReady adds to the record that everything is started.
func (s *stack) tellReady(teams []string) error {
	r, runs := readUp(s.stateDir)
	if !runs {
		return models.Errorf(models.CodeLedgerUnavailable, "the record of this command in %s is gone", s.stateDir).Hint("cox down && cox up")
	}
	r.Ready, r.UI, r.Teams = true, s.engine.UI, teams
	return writeUp(s.stateDir, r)
}

// likeUp takes the adapter of the `cox up` that runs here where the command line
// names none.
func (in *call) likeUp(stateDir string) {
	r, runs := readUp(stateDir)
	if !runs || in.given("adapter") || r.Adapter == in.text("adapter") {
		return
	}
	v := in.value("adapter")
	v.raw, v.parsed, v.source = r.Adapter, r.Adapter, "up"
	in.values["adapter"] = v
	in.note("the adapter is %s, as of the cox up that runs (process %d)", r.Adapter, r.PID)
}

// noteIgnored says which given options are a worker's own, and change nothing where
// one runs already.
func (in *call) noteIgnored() {
	var given []string
	for _, o := range workerOptions() {
		if in.given(o.name) {
			given = append(given, "--"+o.name)
		}
	}
	if len(given) > 0 {
		in.note("no effect on the worker that runs already: %s", strings.Join(given, ", "))
	}
}

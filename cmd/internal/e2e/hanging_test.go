package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// TestAHangingGitHoldsNobodyElse lets every git of the worker hang while one
// assignment's agent works: its turn's progress and the node's own heartbeat are
// written on time, and what waited for git starts once git answers.
func TestAHangingGitHoldsNobodyElse(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.site()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	hangs := filepath.Join(h.dir, "git-hangs")
	asked := filepath.Join(h.dir, "git-was-asked")
	h.write("bin/git", "#!/bin/sh\nif [ -e "+hangs+" ]; then touch "+asked+"; while [ -e "+hangs+" ]; do sleep 0.2; done; fi\nexec "+git+" \"$@\"\n", 0o755)
	h.assign("works", "slow:15s")
	h.env["PATH"] = filepath.Join(h.dir, "bin") + ":" + h.env["PATH"]
	up := h.start("up", "--adapter", "fake", "--address", e.Address, "--max-concurrent-runs", "2")
	l := h.ledger(h.state())
	h.seen(l, models.EventTurnStarted, 1)
	within(t, time.Minute, "the working run is heard of", func() bool { return !h.liveness(l).IsZero() })
	if err := os.WriteFile(hangs, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.assign("waits", "")
	within(t, time.Minute, "the worker asks git", func() bool { _, err := os.Stat(asked); return err == nil })
	before := h.liveness(l)
	within(t, time.Minute, "the turn's progress is written twice while git hangs", func() bool {
		return h.liveness(l).Sub(before) > 6*time.Second
	})
	if _, err := os.Stat(hangs); err != nil || h.shown("waits").Status != models.AssignmentReady {
		t.Errorf("what needs git went on without it: %s, %v", h.shown("waits").Status, err)
	}
	if err := os.Remove(hangs); err != nil {
		t.Fatal(err)
	}
	h.becomes("waits", models.AssignmentAccepted)
	h.becomes("works", models.AssignmentAccepted)
	up.interrupt()
	h.toldOnce(l)
}

// liveness is when the progress of the working run was last written, the zero time
// before the first one.
func (h *home) liveness(l *ledger.Ledger) time.Time {
	h.t.Helper()
	runs, err := l.Runs(h.t.Context(), ledger.RunFilter{AssignmentID: "works"})
	if err != nil || len(runs) != 1 {
		h.t.Fatalf("runs %+v, %v", runs, err)
	}
	if runs[0].HeartbeatAt == nil {
		return time.Time{}
	}
	return *runs[0].HeartbeatAt
}

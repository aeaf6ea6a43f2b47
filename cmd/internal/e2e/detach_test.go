package e2e_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/worker"
)

// upAnswer is what `cox up --detach` prints.
type upAnswer struct {
	PID            int
	AlreadyRunning bool `json:"already_running"`
	UI, Log        string
	Teams          []string
}

// TestDetachedUpWorksUntilDown starts everything in the background: work is done, a
// second call finds it, and cox down leaves nothing behind.
func TestDetachedUpWorksUntilDown(t *testing.T) {
	t.Parallel()
	needTemporal(t)
	h := newHome(t)
	h.site()
	args := []string{"up", "--detach", "--adapter", "fake", "--port", "0", "--ui-port", "0"}
	var first, second upAnswer
	h.ok(&first, args...)
	if first.AlreadyRunning || first.PID == 0 || !strings.HasPrefix(first.UI, "http://127.0.0.1:") || !slices.Equal(first.Teams, []string{theTeam}) {
		t.Errorf("the first says %+v", first)
	}
	if session := sessionOf(t, first.PID); session != fmt.Sprint(first.PID) {
		t.Errorf("process %d is in session %s", first.PID, session)
	}
	h.ok(&second, args...)
	if !second.AlreadyRunning || second.PID != first.PID || second.UI != first.UI {
		t.Errorf("the second says %+v", second)
	}
	h.assign("one", "")
	h.becomes("one", models.AssignmentAccepted)
	if info, err := os.Stat(first.Log); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its log: %v, %v", info, err)
	}
	var down struct{ Stopped []int }
	h.ok(&down, "down")
	if !slices.Contains(down.Stopped, first.PID) || len(h.processes()) != 0 {
		t.Errorf("stopped %v, left %v", down.Stopped, h.processes())
	}
}

// sessionOf is the session of a process, as Linux tells it.
func sessionOf(t *testing.T, pid int) string {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Skip("sessions are looked at on Linux only")
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.Fields(rest)[3]
}

func TestADetachedUpThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.site()
	h.env["COX_TEMPORAL_BIN"] = h.dir + "/nowhere"
	doc, _ := h.fails(7, "ENGINE_UNAVAILABLE", "up", "--detach", "--adapter", "fake", "--port", "0", "--ui-port", "0")
	if !strings.Contains(doc.Error.Message, "nowhere is not installed") {
		t.Errorf("it says %+v", doc.Error)
	}
	if left := h.processes(); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// draining is a `cox up` in the middle of a turn of some length.
func draining(t *testing.T, turn string) (h *home, up *process) {
	t.Helper()
	e := shared.get(t)
	h = newHome(t)
	h.site()
	h.assign("long", turn)
	h.assign("next", "", "--depends-on", "long")
	up = h.start("up", "--adapter", "fake", "--address", e.Address)
	up.says(time.Minute, "turn started")
	return h, up
}

// TestFirstInterruptLetsTurnsEnd is one Ctrl-C: the turn that runs ends and is
// recorded, its name is shown, and nothing new begins.
func TestFirstInterruptLetsTurnsEnd(t *testing.T) {
	t.Parallel()
	h, up := draining(t, "slow:3s")
	up.signal(os.Interrupt)
	up.says(10*time.Second, "waiting for the turns of long to end")
	up.ends(0, time.Minute)
	if a := h.shown("long"); a.Status != models.AssignmentAwaitingReview {
		t.Errorf("the turn was not let end: %s\n%s", a.Status, up.out.String())
	}
	if a := h.shown("next"); a.Status != models.AssignmentReady {
		t.Errorf("meanwhile another was started: %s", a.Status)
	}
	if n := strings.Count(up.out.String(), "turn started"); n != 1 {
		t.Errorf("%d turns began:\n%s", n, up.out.String())
	}
	if left := h.processes(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestSecondInterruptEndsAtOnce is Ctrl-C twice.
func TestSecondInterruptEndsAtOnce(t *testing.T) {
	t.Parallel()
	h, up := draining(t, "slow:60s")
	up.signal(os.Interrupt)
	up.says(10*time.Second, "waiting for the turns of long to end")
	began := time.Now()
	up.signal(os.Interrupt)
	up.says(10*time.Second, "the turns of long are interrupted")
	up.ends(0, time.Minute)
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	if left := h.processes(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestDownShowsWhatItWaitsFor stops another command's turn at its end, or at once.
func TestDownShowsWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	for name, now := range map[string]bool{"waits": false, "now": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, up := draining(t, map[bool]string{false: "slow:3s", true: "slow:60s"}[now])
			down := h.start(append([]string{"down"}, map[bool][]string{true: {"--now"}}[now]...)...)
			down.ends(0, 29*time.Second)
			up.ends(0, 10*time.Second)
			if a := h.shown("long"); a.Status.Terminal() || (a.Status == models.AssignmentAwaitingReview) == now {
				t.Errorf("its turn was let end: it is %s", a.Status)
			}
			if named := strings.Contains(down.out.String(), fmt.Sprintf("stopping process %d: the turns of long may end", up.cmd.Process.Pid)); named == now {
				t.Errorf("it says:\n%s", down.out.String())
			}
			if _, running := worker.Running(h.state()); running {
				t.Error("a worker runs")
			}
		})
	}
}

package e2e_test

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"coxswain/models"
)

// TestUpTellsThatTheTemporalItUsesIsGone has one whose owner stops it, and starts
// it again.
func TestUpTellsThatTheTemporalItUsesIsGone(t *testing.T) {
	t.Parallel()
	needTemporal(t)
	other, h := newHome(t), newHome(t)
	e, stop := other.temporal()
	h.site()
	up := h.start("up", "--adapter", "fake", "--address", e.Address)
	up.says(time.Minute, "loop is on for "+theTeam)
	h.ok(&struct{}{}, "doctor", "--adapter", "fake")
	stop()
	up.says(30*time.Second, "warning: Temporal at "+e.Address+" does not answer any more")
	doc, _ := h.fails(7, "ENGINE_UNAVAILABLE", "doctor", "--adapter", "fake")
	if !strings.Contains(doc.Error.Message, e.Address+" does not answer, and cox up (process ") || doc.Error.Next != "cox down && cox up" {
		t.Errorf("doctor says %+v", doc.Error)
	}
	_, port, err := net.SplitHostPort(e.Address)
	if err != nil {
		t.Fatal(err)
	}
	other.temporal("--port", port)
	up.says(time.Minute, "Temporal at "+e.Address+" answers again")
	up.interrupt()
}

// TestUpTakesThePlaceOfATemporalThatIsGone has one at the usual port of this home,
// which nobody named.
func TestUpTakesThePlaceOfATemporalThatIsGone(t *testing.T) {
	t.Parallel()
	needTemporal(t)
	other, h := newHome(t), newHome(t)
	e, stop := other.temporal()
	_, port, err := net.SplitHostPort(e.Address)
	if err != nil {
		t.Fatal(err)
	}
	h.env["COX_TEMPORAL_PORT"] = port
	h.site()
	up := h.start("up", "--adapter", "fake", "--ui-port", "0")
	up.says(time.Minute, "Temporal at "+e.Address+" is used")
	up.says(time.Minute, "loop is on for "+theTeam)
	stop()
	up.says(time.Minute, "does not answer any more")
	h.assign("small", "")
	up.says(2*time.Minute, "Temporal at "+e.Address+", Web UI at")
	h.becomes("small", models.AssignmentAccepted)
	up.interrupt()
}

// TestUpRightAfterAKilledUp meets the children of the first, which are about to end.
func TestUpRightAfterAKilledUp(t *testing.T) {
	t.Parallel()
	needTemporal(t)
	h := newHome(t)
	h.site()
	h.assign("small", "")
	first := h.start("up", "--adapter", "fake", "--no-loop", "--port", "0", "--ui-port", "0")
	first.says(2*time.Minute, "worker is ready")
	first.signal(syscall.SIGKILL)
	first.wait(time.Minute)
	second := h.start("up", "--adapter", "fake", "--exit-when-done", "--port", "0", "--ui-port", "0")
	second.ends(0, 3*time.Minute)
	if a := h.shown("small"); a.Status != models.AssignmentAccepted {
		t.Errorf("it is %s", a.Status)
	}
}

// TestTeamThatCameAfterUp is a newcomer who starts everything before there is
// anything, and then types what is printed.
func TestTeamThatCameAfterUp(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	h := newHome(t)
	h.env["COX_FAKE_PACE"] = "1ms"
	h.cwd = h.repository()
	up := h.start("up", "--adapter", "fake", "--address", e.Address)
	up.says(time.Minute, "no loop is on")
	h.ok(&struct{}{}, "workspace", "add", "--id", theSite, ".")
	h.ok(&struct{}{}, "team", "create", "--workspace", theSite, theTeam)
	said := h.cox("assignment", "create", "--team", theTeam, "--id", "small", "--title", "Do it", "--criterion", "it is done", "--path", "work/**")
	if want := "cox loop --team " + theTeam; said.code != 0 || !strings.Contains(said.stderr, "Next: "+want) {
		t.Fatalf("it does not say %q: %+v", want, said)
	}
	loop := h.start("loop", "--team", theTeam)
	loop.says(time.Minute, "the adapter is fake, as of the cox up that runs")
	loop.says(time.Minute, "no effect on the worker that runs already: --fake-pace")
	h.becomes("small", models.AssignmentAccepted)
	loop.interrupt()
	up.interrupt()
}

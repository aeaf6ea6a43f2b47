package e2e_test

import (
	"io"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"

	"coxswain/models"
)

// TestServerOfTheSDK runs the worker against a server that the SDK's own test
// suite starts, found by a flag or by the SDK's environment alone.
func TestServerOfTheSDK(t *testing.T) {
	t.Parallel()
	needTemporal(t)
	server, err := testsuite.StartDevServer(t.Context(), testsuite.DevServerOptions{
		ExistingPath: built.temporal, ClientOptions: &client.Options{Logger: silent{}}, LogLevel: "error", Stdout: io.Discard, Stderr: io.Discard,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	t.Run("flag", func(t *testing.T) {
		h := newHome(t)
		h.acceptedBy("--address", server.FrontendHostPort())
	})
	t.Run("TEMPORAL_ADDRESS", func(t *testing.T) {
		h := newHome(t)
		h.env["TEMPORAL_ADDRESS"] = server.FrontendHostPort()
		delete(h.env, "COX_TEMPORAL_BIN")
		h.acceptedBy()
	})
}

// acceptedBy brings one assignment from its creation to its acceptance, with a
// worker and a loop that find Temporal by the given options.
func (h *home) acceptedBy(options ...string) {
	h.t.Helper()
	h.site()
	w := h.start(append([]string{"worker"}, options...)...)
	w.says(time.Minute, "is ready")
	loop := h.start(append([]string{"loop", "--adapter", "fake"}, options...)...)
	loop.says(time.Minute, "loop is on")
	h.assign("small", "")
	h.becomes("small", models.AssignmentAccepted)
	loop.interrupt()
	w.interrupt()
}

// becomes waits until an assignment has a status.
func (h *home) becomes(id string, want models.AssignmentStatus) {
	h.t.Helper()
	l := h.ledger(h.state())
	var last models.Assignment
	reached := until(2*time.Minute, func() bool {
		d, err := l.AssignmentDetail(h.t.Context(), id)
		last = d.Assignment
		return err == nil && last.Status == want
	})
	if !reached {
		h.t.Fatalf("%s is %s (%s), never %s", id, last.Status, last.DeferredReason, want)
	}
}

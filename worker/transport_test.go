package worker

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coxswain/activities/codex"
	"coxswain/activities/codex/appserver"
	"coxswain/models"
)

// oldCodex plays a Codex that knows no socket: it ends when it is to listen on one,
// and answers over its standard streams.
const oldCodex = `#!/bin/sh
case "$1" in --version) echo "codex-cli 9.9.9"; exit;; esac
for a in "$@"; do [ "$a" = --listen ] && { echo "unexpected argument --listen" >&2; exit 2; }; done
read -r line
echo '{"id":1,"result":{"userAgent":"cox/9.9.9 (test)"}}'
while read -r line; do :; done
`

func socketless(t *testing.T, transport string) (h *hosts, log *strings.Builder) {
	t.Helper()
	r := newRig(t)
	h = r.newHosts(nil)
	dir := t.TempDir()
	log = &strings.Builder{}
	h.o.StateDir, h.o.Transport, h.o.CodexHome, h.o.CodexBin = filepath.Join(dir, "state"), transport, dir, filepath.Join(dir, "codex")
	h.o.Log = slog.New(slog.NewTextHandler(log, nil))
	if err := os.WriteFile(h.o.CodexBin, []byte(oldCodex), 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	return h, log
}

func TestCodexIsAChildWhereItsSocketIsNotToBeHad(t *testing.T) {
	t.Parallel()
	h, log := socketless(t, "")
	for range 2 {
		host, err := h.openCodex(t.Context(), h.codexOptions())
		if err != nil {
			t.Fatal(err)
		}
		if _, isChild := host.(*appserver.Host); !isChild {
			t.Errorf("the host is a %T", host)
		}
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := strings.Count(log.String(), "the socket to Codex is not to be had"); n != 1 || !strings.Contains(log.String(), "output.log") {
		t.Errorf("said %d times:\n%s", n, log.String())
	}
}

func TestASocketThatIsAskedForIsNotReplaced(t *testing.T) {
	t.Parallel()
	h, _ := socketless(t, appserver.Unix)
	if _, err := h.openCodex(t.Context(), h.codexOptions()); codex.KindOf(err) != codex.ErrStartup {
		t.Errorf("it says %v", err)
	}
}

func TestAMissingCodexIsNotLookedForTwice(t *testing.T) {
	t.Parallel()
	h, log := socketless(t, appserver.Auto)
	h.o.CodexBin = filepath.Join(t.TempDir(), "codex")
	if _, err := h.openCodex(t.Context(), h.codexOptions()); err == nil || codex.Happened(err) {
		t.Errorf("it says %v", err)
	}
	if strings.Contains(log.String(), "stdio") {
		t.Errorf("it speaks of the transport:\n%s", log.String())
	}
}

// A host that dies soon after each start is opened ever later.
func TestAHostThatKeepsEndingIsOpenedEverLater(t *testing.T) {
	r := newRig(t)
	var dying []*scripted
	for range 3 {
		s := newScripted()
		s.err = errors.New("killed")
		dying = append(dying, s)
	}
	h, dials := dialled(r, dying...)
	for n, wantDials := range []int{1, 2, 2} {
		_, err := h.Host(t.Context(), models.AdapterKindFake)
		if *dials != wantDials || (err != nil) != (n == 2) {
			t.Errorf("use %d: %d dials, %v", n+1, *dials, err)
		}
		if n < 2 {
			close(dying[n].done)
		}
	}
	r.until("it is opened again", func() bool { h.reopen(t.Context()); return *dials == 3 })
	close(dying[2].done)
}

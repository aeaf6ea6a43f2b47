package worker

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coxswain/activities/codex"
	"coxswain/activities/codex/appserver"
	"coxswain/activities/codex/appserver/managed"
	"coxswain/activities/codex/codextest"
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
	if err := os.WriteFile(h.o.CodexBin, []byte(oldCodex), 0o700); err != nil { // it is to be run
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

// A server of another version than the installed Codex goes on while a thread is
// active; then it is ended, and the next use opens the installed one.
func TestAnOutdatedServerIsReplacedWhenItIsIdle(t *testing.T) {
	t.Parallel()
	bin := codextest.Binary(t)
	dir := t.TempDir()
	release := make(chan struct{})
	model := codextest.NewServer(t, func(codextest.Request) codextest.Reply { return codextest.Slow("long answer", release) })
	r := newRig(t)
	h := r.newHosts(nil)
	h.dial = h.openKind
	h.o.StateDir, h.o.CodexBin, h.o.CodexHome = filepath.Join(dir, "state"), bin, codextest.WriteHome(t, dir, model.BaseURL())
	t.Cleanup(func() {
		r.ok(h.close())
		_, err := managed.Stop(context.Background(), h.o.StateDir, 0)
		r.ok(err)
	})
	r.ok(os.MkdirAll(filepath.Join(dir, "work"), 0o700))
	host, err := h.Host(t.Context(), models.AdapterKindCodex)
	r.ok(err)
	thread, err := host.StartThread(t.Context(), codex.ThreadSpec{CWD: filepath.Join(dir, "work"), Model: codextest.ModelSlug, TempDir: dir})
	r.ok(err)
	_, err = host.StartTurn(t.Context(), thread.ID, codex.TurnInput{Text: "go", ClientMessageID: "m-1"})
	r.ok(err)
	model.Wait(t, "the turn's request", func(q codextest.Request) bool { return q.User == "go" })
	record := filepath.Join(h.o.StateDir, "app-server", "server.json")
	text, err := os.ReadFile(record)
	r.ok(err)
	r.ok(os.WriteFile(record, []byte(strings.Replace(string(text), codextest.Version, "0.1.0", 1)), 0o600))
	h.upgrade(t.Context())
	before, running := managed.Running(h.o.StateDir)
	if !running || h.opened(models.AdapterKindCodex) == nil {
		t.Fatal("a server with an active turn was ended")
	}
	close(release)
	r.until("the idle server is ended", func() bool { h.upgrade(t.Context()); return h.opened(models.AdapterKindCodex) == nil })
	_, err = h.Host(t.Context(), models.AdapterKindCodex)
	r.ok(err)
	if after, running := managed.Running(h.o.StateDir); !running || after == before {
		t.Errorf("process %d became %d, running %t", before, after, running)
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

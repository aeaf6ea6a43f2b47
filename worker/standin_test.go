package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"coxswain/activities/codex"
	"coxswain/activities/codex/appserver"
	"coxswain/models"
	"coxswain/models/ledger"
)

// standInEnv makes the test binary play a Codex app-server that holds the thread "th"
// with its active turn "tu" and then meets a fault. Its value is the fault and, behind
// a colon, the file with the process that played first: a later one finds the turn
// interrupted, as Codex reads what its process took along.
const standInEnv = "COX_TEST_STANDIN"

func init() {
	fault, file, found := strings.Cut(os.Getenv(standInEnv), ":")
	if !found {
		return
	}
	playStandIn(fault, file)
	os.Exit(0)
}

func playStandIn(fault, file string) {
	status := "inProgress"
	if _, err := os.Stat(file); err == nil {
		status, fault = "interrupted", ""
	} else if err := os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		panic(err)
	}
	if fault == "noise" {
		_, _ = os.Stderr.WriteString(strings.Repeat("x", 1<<20)) // whoever reads it is what is tested
	}
	requests := bufio.NewScanner(os.Stdin)
	requests.Buffer(nil, 4<<20)
	for requests.Scan() {
		var r struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal(requests.Bytes(), &r); err != nil {
			panic(err)
		}
		if len(r.ID) == 0 {
			continue
		}
		fmt.Printf(`{"id":%s,"result":%s}`+"\n", r.ID, standInAnswer(r.Method, status))
		if r.Method == "thread/items/list" && status == "inProgress" {
			meetFault(fault)
		}
	}
}

func standInAnswer(method, turn string) string {
	thread := map[string]string{"inProgress": "active", "interrupted": "idle"}[turn]
	switch method {
	case "initialize":
		return `{"userAgent":"cox/9.9.9 (test)"}`
	case "thread/resume":
		return `{"thread":{"id":"th","status":{"type":"` + thread + `"}},"activePermissionProfile":{"id":"cox"}}`
	case "thread/read":
		return `{"thread":{"id":"th","status":{"type":"` + thread + `"}}}`
	case "thread/turns/list":
		return `{"data":[{"id":"tu","status":"` + turn + `"}]}`
	default:
		return `{"data":[]}`
	}
}

// meetFault is what happens in the middle of the turn.
func meetFault(fault string) {
	switch fault {
	case "eof": // closes its output and lives on, deaf to everything but SIGKILL
		signal.Ignore(syscall.SIGTERM)
		_ = os.Stdout.Close()
		time.Sleep(time.Hour)
	case "garbage":
		fmt.Print(strings.Repeat("no frame ", 2<<20)) // longer than a message may be
		time.Sleep(time.Hour)
	default:
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(127)
	}
}

// A Codex that fails in the middle of a turn is ended whole, whatever is left of it,
// and replaced; its turn is recorded as lost, and the planner resumes the same thread.
func TestAFailingCodexLosesItsTurnAndIsReplaced(t *testing.T) {
	for name, fault := range map[string]string{
		"output closed while it lives":        "eof",
		"a message without end":               "garbage",
		"exit":                                "exit",
		"1 MB of stderr without a line, exit": "noise",
	} {
		t.Run(name, func(t *testing.T) { failingCodex(t, fault) })
	}
}

func failingCodex(t *testing.T, fault string) {
	r := newRigOn(t, ledger.Options{Path: filepath.Join(t.TempDir(), "ledger.db")}, models.AdapterKindCodex, t.TempDir())
	file := filepath.Join(t.TempDir(), "first")
	self, err := os.Executable()
	r.ok(err)
	h := r.newHosts(func(ctx context.Context, _ string) (codex.Adapter, error) {
		return appserver.Open(ctx, appserver.Options{
			Bin: self, Env: append(os.Environ(), standInEnv+"="+fault+":"+file), CodexHome: filepath.Dir(file),
			CloseTimeout: 200 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		})
	})
	h.o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.adopt(ctx) }()
	t.Cleanup(func() {
		cancel()
		r.ok(<-ended)
		if err := h.close(); err != nil {
			t.Error(err)
		}
	})
	r.until("the turn is not recorded as lost", func() bool {
		lost, err := r.l.Events(t.Context(), ledger.EventFilter{RunID: r.run.ID, Types: []string{models.EventTurnEnded}})
		r.ok(err)
		return len(lost) == 1 && lost[0].Payload["status"] == string(models.TurnLost)
	})
	text, err := os.ReadFile(file)
	r.ok(err)
	first, err := strconv.Atoi(string(text))
	r.ok(err)
	r.until("the failed Codex is not gone", func() bool { return errors.Is(syscall.Kill(first, 0), syscall.ESRCH) })
	plan, err := r.l.PlanTeam(t.Context(), "t")
	r.ok(err)
	if len(plan.Commands) != 1 || plan.Commands[0].Type != models.CommandResume || plan.Commands[0].RunID != r.run.ID || plan.Commands[0].Reason != "turn_lost" {
		t.Errorf("the plan is %+v, want the run resumed because its turn was lost", plan.Commands)
	}
	if run, err := r.l.Run(t.Context(), r.run.ID); err != nil || run.SessionRef != "th" || run.EndedAt != nil {
		t.Errorf("run %+v, %v", run, err)
	}
}

// A Codex that dies before its first frame is told with what it said last, and leaves
// no process; nothing that was under way is lost or repeated by it.
func TestACodexThatDoesNotStartIsTriedAgain(t *testing.T) {
	r := newRigOn(t, ledger.Options{Path: filepath.Join(t.TempDir(), "ledger.db")}, models.AdapterKindCodex, t.TempDir())
	script := filepath.Join(t.TempDir(), "codex")
	r.ok(os.WriteFile(script, []byte("#!/bin/sh\necho 'libfoo is missing' >&2\nexit 127\n"), 0o700))
	h := r.newHosts(func(ctx context.Context, _ string) (codex.Adapter, error) {
		return appserver.Open(ctx, appserver.Options{Bin: script, CodexHome: t.TempDir()})
	})
	_, err := h.Host(t.Context(), models.AdapterKindCodex)
	if !models.IsCode(err, models.CodeAdapterUnavailable) || !strings.Contains(err.Error(), "libfoo is missing") {
		t.Errorf("the error is %v", err)
	}
	if turn, _ := r.turnOf(models.AdapterKindCodex, "tu"); turn.Status != models.TurnActive {
		t.Errorf("a Codex that did not start made the turn %s", turn.Status)
	}
}

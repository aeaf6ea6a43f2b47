package crash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"gorm.io/gorm"

	"coxswain/activities/codex"
	"coxswain/activities/codex/codextest"
	"coxswain/cmd/internal/crash/audit"
	"coxswain/models"
	"coxswain/models/ledger/failpoint"
)

// A slice of make crash with a fixed plan: one world on the fake, and one on the real
// Codex where it is at hand. Whatever is killed, the auditor finds nothing; then
// faults are planted into the same worlds, and it finds each.
func TestSlice(t *testing.T) {
	for transport, plan := range slicePlans() {
		t.Run(string(transport), func(t *testing.T) {
			t.Parallel()
			w := &World{Programs: programs(t, transport), Dir: worldDir(t), Transport: transport, Plan: plan, parts: shortScene()}
			t.Cleanup(func() {
				if err := w.Kill(); err != nil {
					t.Error(err)
				}
			})
			out, err := w.Run(t.Context())
			if err != nil || !out.Settled {
				t.Fatalf("settled: %t, %v\n%s", out.Settled, err, w.logs())
			}
			if len(out.Findings) > 0 {
				t.Fatalf("findings %+v\n%s", out.Findings, w.logs())
			}
			if len(out.Marks) < len(plan)-1 { // a point may not come after another kill
				t.Errorf("%d of %d kills came; left: %+v", len(out.Marks), len(plan), out.Unfired)
			}
			for _, m := range out.Marks {
				t.Log(markText(m))
			}
			w.plantAll(t)
		})
	}
}

func slicePlans() map[Transport][]Kill {
	return map[Transport][]Kill{
		Fake: {
			{Point: failpoint.TurnAnswered, Nth: 1, Targets: []Kind{Worker}},
			{Point: failpoint.ClaimCommitted, Nth: 2, Targets: []Kind{Temporal}},
			{Point: failpoint.HandoffCommitted, Nth: 1, Targets: []Kind{MCP}},
			{Point: failpoint.NudgeQueued, Nth: 1, Targets: []Kind{Worker, Temporal}},
		},
		Unix: {
			{Point: failpoint.TurnAnswered, Nth: 1, Targets: []Kind{Worker}},
			{Point: failpoint.TurnStartWritten, Nth: 2, Targets: []Kind{AppServer}},
			{Point: failpoint.DecisionCommitted, Nth: 1, Targets: []Kind{Worker, Temporal}},
		},
	}
}

// worldDir is a folder whose name leaves room for the sockets below it, which may be
// 107 bytes long.
func worldDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cox-w") //nolint:usetesting // t.TempDir's names are too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// programs are built once, or named by the environment.
func programs(t *testing.T, transport Transport) Programs {
	t.Helper()
	p := Programs{Temporal: os.Getenv("COX_TEMPORAL_BIN")}
	if p.Temporal == "" {
		p.Temporal = filepath.Join(root(t), "bin", "cox-temporal")
	}
	if _, err := os.Stat(p.Temporal); err != nil {
		missing(t, "cox-temporal is not built: make build, or set COX_TEMPORAL_BIN")
	}
	if transport != Fake {
		p.Codex = codextest.Binary(t)
	}
	cox, err := taggedCox()
	if err != nil {
		t.Fatal(err)
	}
	p.Cox = cox
	return p
}

func missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// built is the folder of the cox that this process built.
var built string

// taggedCox is COX_CRASH_BIN, else a cox with the points, built once.
var taggedCox = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("COX_CRASH_BIN"); bin != "" {
		return bin, nil
	}
	dir, err := os.MkdirTemp("", "cox-crash-bin-")
	if err != nil {
		return "", err
	}
	built = dir
	cmd := exec.Command("go", "build", "-tags", "failpoints,urfave_cli_no_docs", "-o", filepath.Join(dir, "cox"), "./cmd/cox")
	cmd.Dir, cmd.Env = filepath.Join("..", "..", ".."), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build -tags failpoints ./cmd/cox: %w: %s", err, out)
	}
	return filepath.Join(dir, "cox"), nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built) // a leftover in the temporary folder hides no failure
	}
	os.Exit(code)
}

// logs are the ends of what the processes of a world said.
func (w *World) logs() string {
	out := ""
	for _, pattern := range []string{"up.log", "state/*.log"} {
		files, _ := filepath.Glob(filepath.Join(w.Dir, pattern)) // the pattern is well formed
		for _, f := range files {
			text, err := os.ReadFile(f)
			out += fmt.Sprintf("== %s (%v)\n%s\n", f, err, text[max(0, len(text)-5000):])
		}
	}
	return out
}

// plantAll plants one fault after the other into the ended world; each is found
// under its own code.
func (w *World) plantAll(t *testing.T) {
	t.Helper()
	for _, p := range []struct {
		code  string
		plant func(*testing.T, audit.Evidence)
	}{
		{audit.SecondThread, w.plantThread},
		{audit.RepeatedMessage, w.plantPrompt},
		{audit.LostNudge, w.plantLostNudge},
		{audit.LateWrite, w.plantLateWrite},
		{audit.OrphanProcess, w.plantOrphan},
	} {
		before := w.evidence(t)
		if slices.ContainsFunc(audit.Check(before), func(f audit.Finding) bool { return f.Code == p.code }) {
			t.Fatalf("%s is found before it was planted", p.code)
		}
		p.plant(t, before)
		if found := audit.Check(w.evidence(t)); !slices.ContainsFunc(found, func(f audit.Finding) bool { return f.Code == p.code }) {
			t.Errorf("a planted %s was not found; found: %+v", p.code, found)
		}
	}
}

func (w *World) evidence(t *testing.T) audit.Evidence {
	t.Helper()
	e, err := w.Evidence(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// plantThread lets an agent work in a thread that the ledger does not know.
func (w *World) plantThread(t *testing.T, _ audit.Evidence) {
	w.onHost(t, func(ctx context.Context, host codex.Adapter) (string, error) {
		thread, err := host.StartThread(ctx, w.spec())
		return thread.ID, err
	}, "msg-planted")
}

// plantPrompt sends a delivered prompt again, under the same id.
func (w *World) plantPrompt(t *testing.T, e audit.Evidence) {
	i := slices.IndexFunc(e.Messages, func(m models.OutboxItem) bool {
		return m.State == models.OutboxDelivered && m.Kind == models.PromptWorker
	})
	w.onHost(t, func(ctx context.Context, host codex.Adapter) (string, error) {
		_, err := host.ResumeThread(ctx, e.Messages[i].ThreadID, w.spec())
		return e.Messages[i].ThreadID, err
	}, e.Messages[i].ID)
}

func (w *World) spec() codex.ThreadSpec {
	return codex.ThreadSpec{CWD: w.repo(), TempDir: filepath.Join(w.Dir, "tmp")}
}

// onHost plays one turn on a thread of the world's host.
func (w *World) onHost(t *testing.T, thread func(context.Context, codex.Adapter) (string, error), messageID string) {
	t.Helper()
	host, err := w.host(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	events := codextest.Record(t, host)
	id, err := thread(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	turn, err := host.StartTurn(t.Context(), id, codex.TurnInput{Text: "@say planted", ClientMessageID: messageID})
	if err != nil {
		t.Fatal(err)
	}
	events.WaitEnded(t, turn.ID)
}

// plantLostNudge takes the message of a nudge away, as if it had never been queued.
func (w *World) plantLostNudge(t *testing.T, e audit.Evidence) {
	i := slices.IndexFunc(e.Commands, func(c models.Command) bool {
		return c.Type == models.CommandNudge && c.State == models.CommandDone
	})
	w.change(t, func(db *gorm.DB) error {
		return db.Where("command_id = ?", e.Commands[i].ID).Delete(&models.OutboxItem{}).Error
	})
}

// plantLateWrite lets the first run of a fixed assignment speak after its end, past
// the ledger, which would refuse it.
func (w *World) plantLateWrite(t *testing.T, e audit.Evidence) {
	i := slices.IndexFunc(e.Runs, func(r models.Run) bool { return roleOf(r.AssignmentID) == fixed })
	r := e.Runs[i]
	w.change(t, func(db *gorm.DB) error {
		return db.Create(&models.Event{
			ID: "evt_planted", WorkspaceID: r.WorkspaceID, TeamID: r.TeamID, AssignmentID: r.AssignmentID, RunID: r.ID,
			Type: models.EventRunHeartbeat, Status: models.EventObserved, ActorID: r.ActorID, ActorRole: models.RoleAgent, Payload: map[string]any{}, CreatedAt: r.StartedAt,
		}).Error
	})
}

// plantOrphan leaves a process behind.
func (w *World) plantOrphan(t *testing.T, _ audit.Evidence) {
	cmd := w.command(context.Background(), "sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// change writes to the tables past the ledger.
func (w *World) change(t *testing.T, fn func(*gorm.DB) error) {
	t.Helper()
	db, err := rows(ledgerPath(w.state()))
	if err == nil {
		err = errors.Join(fn(db), closeRows(db))
	}
	if err != nil {
		t.Fatal(err)
	}
}

package crash

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"coxswain/activities/codex"
	"coxswain/activities/codex/codextest"
	"coxswain/cmd/internal/crash/audit"
	"coxswain/models/ledger"
)

// rows opens the tables of a world beside the ledger: an auditor reads them by
// itself, and plants faults that the ledger would refuse.
func rows(path string) (*gorm.DB, error) {
	return gorm.Open(sqlite.Open(path+"?_pragma=busy_timeout(20000)"), &gorm.Config{Logger: logger.Discard, SkipDefaultTransaction: true})
}

func closeRows(db *gorm.DB) error {
	raw, err := db.DB()
	if err != nil {
		return err
	}
	return raw.Close()
}

// ledgerRows reads what the ledger holds of a world.
func ledgerRows(ctx context.Context, path string, parts []part) (e audit.Evidence, err error) {
	db, err := rows(path)
	if err != nil {
		return e, err
	}
	defer func() { err = errors.Join(err, closeRows(db)) }()
	db = db.WithContext(ctx)
	for _, part := range []struct {
		into  any
		order string
	}{
		{&e.Assignments, "id"},
		{&e.Runs, "started_at, id"},
		{&e.Tasks, "id"},
		{&e.Commands, "created_at, id"},
		{&e.Messages, "created_at, id"},
		{&e.Bindings, "created_at, id"},
		{&e.Turns, "started_at, id"},
		{&e.Events, "sequence"},
		{&e.Interventions, "created_at, id"},
	} {
		if err := db.Order(part.order).Find(part.into).Error; err != nil {
			return e, err
		}
	}
	err = db.Table("wakeups").Where("generation > acknowledged").Order("workflow_id").Pluck("workflow_id", &e.Unread).Error
	for _, p := range parts {
		e.Wants = append(e.Wants, p.want)
	}
	return e, err
}

var threadFile = regexp.MustCompile(`([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl?$`)

// threadIDs are the threads whose histories lie in files, also those that no ledger
// knows.
func threadIDs(patterns ...string) ([]string, error) {
	var out []string
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if m := threadFile.FindStringSubmatch(f); m != nil {
				out = append(out, m[1])
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// histories reads threads as their host tells them.
func histories(ctx context.Context, host codex.Adapter, ids []string) ([]audit.Thread, error) {
	var out []audit.Thread
	for _, id := range ids {
		t := audit.Thread{ID: id}
		turns, err := host.ListTurns(ctx, id, 0)
		if codex.KindOf(err) == codex.ErrUnknownID {
			continue // a file without a history
		}
		if err != nil {
			return nil, err
		}
		for _, turn := range slices.Backward(turns) {
			t.Turns = append(t.Turns, audit.Turn{ID: turn.ID, Status: string(turn.Status)})
		}
		items, err := host.ListTurnItems(ctx, id, "")
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			if item.Type == "userMessage" {
				t.Messages = append(t.Messages, audit.Message{ID: item.ClientID, TurnID: item.TurnID})
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// requestLog is what the model was asked.
func requestLog(s *codextest.Server) []audit.Request {
	var out []audit.Request
	for _, q := range s.Requests() {
		out = append(out, audit.Request{ThreadID: q.ThreadID, Prompt: promptName(q.User), Step: len(q.Outputs), At: q.At})
	}
	return out
}

var commandLine = regexp.MustCompile("(?m)`(cmd_[^`]+)`")

// promptName tells one prompt of a thread from another: the command that it names,
// and how it begins.
func promptName(text string) string {
	name := []string{text[:min(len(text), 60)]}
	for _, m := range commandLine.FindAllStringSubmatch(text, -1) {
		name = append(name, m[1])
	}
	return strings.Join(name, " ")
}

func ledgerPath(stateDir string) string { return filepath.Join(stateDir, "ledger.db") }

// open opens the ledger of a world as a command would.
func open(ctx context.Context, stateDir string) (*ledger.Ledger, error) {
	return ledger.Open(ctx, ledger.Options{Path: ledgerPath(stateDir)})
}

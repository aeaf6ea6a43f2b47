package ledger

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"coxswain/models"
)

// DryPlan is what one pass over a team would do.
type DryPlan struct {
	TeamID   string           `json:"team_id"`
	Commands []models.Command `json:"commands"`
	LeftOut  []models.LeftOut `json:"left_out"`
	Asks     []models.Ask     `json:"asks"`
	Probe    *models.Probe    `json:"probe"`     // the last recorded probe; nil when there is none
	ProbeAge string           `json:"probe_age"` // such as "2m0s"; "" without a probe
	LoopOn   bool             `json:"loop_on"`   // whether the team's loop is on in the ledger
}

// DryRun plans for teams on a frozen view of the ledger and leaves no trace of it: no
// file appears, no row changes. The settings, when not nil, stand in for those of the
// ledger. A ledger that does not exist is NOT_FOUND.
func DryRun(ctx context.Context, path string, clock Clock, teams func(context.Context, *Ledger) ([]string, error), settings func(models.LoopSettings) models.LoopSettings) ([]DryPlan, error) {
	frozen := withCopy
	if IsAddress(path) {
		frozen = withSnapshot
	}
	var out []DryPlan
	err := frozen(ctx, path, clock, func(l *Ledger) error {
		ids, err := teams(ctx, l)
		if err != nil {
			return err
		}
		out, err = l.dryPlans(ctx, ids, settings)
		return err
	})
	return out, err
}

func (l *Ledger) dryPlans(ctx context.Context, ids []string, settings func(models.LoopSettings) models.LoopSettings) ([]DryPlan, error) {
	out := make([]DryPlan, 0, len(ids))
	for _, id := range ids {
		plan, err := l.dryPlan(ctx, id, settings)
		if err != nil {
			return nil, err
		}
		out = append(out, plan)
	}
	return out, nil
}

// withCopy opens a temporary copy of a ledger's file.
func withCopy(ctx context.Context, path string, clock Clock, fn func(*Ledger) error) error {
	dir, err := os.MkdirTemp("", "cox-dry-run-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a leftover in the temporary folder harms nobody
	copied := filepath.Join(dir, "ledger.db")
	if err := copyLedger(path, copied); err != nil {
		return err
	}
	l, err := Open(ctx, Options{Path: copied, Clock: clock, MustExist: true})
	if err != nil {
		return err
	}
	defer l.Close() //nolint:errcheck // a copy that is deleted next
	return fn(l)
}

func (l *Ledger) dryPlan(ctx context.Context, teamID string, settings func(models.LoopSettings) models.LoopSettings) (DryPlan, error) {
	in, err := loadPlan(l.read(ctx), teamID, "", l.Now())
	if err != nil {
		return DryPlan{}, err
	}
	out := DryPlan{TeamID: teamID, LoopOn: in.Loop.Enabled}
	in, err = l.withSettings(ctx, in, settings)
	if err != nil {
		return out, err
	}
	in.AnyProbe = true
	plan := models.Plan(in)
	out.Commands, out.LeftOut, out.Asks, out.Probe = plan.Commands, plan.LeftOut, plan.Asks, in.Probe
	if in.Probe != nil {
		out.ProbeAge = in.Now.Sub(in.Probe.ProbedAt).Round(time.Second).String()
	}
	return out, nil
}

// withSettings plans as if the loop were on with the given settings.
func (l *Ledger) withSettings(ctx context.Context, in models.PlanInput, settings func(models.LoopSettings) models.LoopSettings) (models.PlanInput, error) {
	if settings == nil {
		return in, nil
	}
	in.Loop = settings(in.Loop)
	in.OnlyLive = in.OnlyLive && !in.Loop.Enabled
	for i := range in.Capacity {
		if in.Capacity[i].Name == "team" {
			in.Capacity[i].Limit = in.Loop.MaxConcurrentRuns
		}
	}
	in.Probe = nil
	node, found, err := find[models.Node](l.read(ctx), "id = ?", in.NodeID)
	if err != nil || !found {
		return in, err
	}
	if p, ok := node.Probes[in.Loop.AdapterKind]; ok {
		in.Probe = &p
	}
	return in, nil
}

// copyLedger copies the database and its write-ahead log while no one writes.
// Opening the file itself would leave files behind, also read-only.
func copyLedger(from, to string) error {
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return models.Errorf(models.CodeNotFound, "there is no ledger at %s", from).Hint("cox workspace add .")
	}
	release, err := shareLock(from + ".lock")
	if err != nil {
		return err
	}
	defer release()
	for _, suffix := range []string{"", "-wal", ".key"} {
		if err := copyFile(from+suffix, to+suffix); err != nil && (suffix == "" || !errors.Is(err, fs.ErrNotExist)) {
			return Unavailable(from, err)
		}
	}
	return nil
}

// shareLock keeps writers out while the copy is made, without touching the lock
// file; a ledger without one has no writer.
func shareLock(path string) (func(), error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, Unavailable(path, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != nil {
		return nil, errors.Join(Unavailable(path, err), f.Close())
	}
	return func() { _ = f.Close() }, nil // closing ends the lock
}

func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close() //nolint:errcheck // opened for reading
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

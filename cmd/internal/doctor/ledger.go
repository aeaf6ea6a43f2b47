package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

const (
	ledgerCheck    = "ledger"
	integrityCheck = "ledger integrity"
	privateCheck   = "private files"
	clockCheck     = "clock"
)

func (e *examination) ledgerOpens(ctx context.Context) {
	name := ledger.ShownAddress(e.Paths.DB)
	l, err := ledger.Open(ctx, ledger.Options{Path: e.Paths.DB, StateDir: e.Paths.StateDir, MustExist: true})
	switch {
	case models.IsCode(err, models.CodeNotFound):
		e.warn(ledgerCheck, "there is none at "+name+" yet", "cox workspace add .")
		return
	case err != nil:
		e.failWith(ledgerCheck, models.CodeLedgerUnavailable, err, "cox --db FILE names another")
		return
	}
	e.ledger = l
	e.ok(ledgerCheck, fmt.Sprintf("%s opens, schema %d", name, ledger.SchemaVersion))
}

func (e *examination) ledgerSound(ctx context.Context) {
	if e.ledger == nil {
		e.skip(integrityCheck, "no ledger")
		return
	}
	found, err := e.ledger.Damage(ctx)
	switch {
	case err != nil:
		e.failWith(integrityCheck, models.CodeLedgerUnavailable, err, "stop cox and restore a backup beside "+ledger.ShownAddress(e.Paths.DB))
	case len(found) > 0:
		e.fail(integrityCheck, models.CodeLedgerUnavailable, "damaged: "+strings.Join(found, "; "), "cox down; then restore a backup of "+ledger.ShownAddress(e.Paths.DB))
	default:
		e.ok(integrityCheck, "no damage found")
	}
}

// ledgerPrivate looks at the modes of the state directory, the database and its
// key: whoever can read them can act as any agent. It comes before the ledger is
// opened, which makes passing files beside it.
func (e *examination) ledgerPrivate(context.Context) {
	private := map[string]fs.FileMode{e.Paths.StateDir: 0o700, filepath.Join(e.Paths.StateDir, "ledger.key"): 0o600}
	if !ledger.IsAddress(e.Paths.DB) {
		for _, suffix := range []string{"", "-wal", "-shm", ".key"} {
			private[e.Paths.DB+suffix] = 0o600
		}
	}
	var open, remedy []string
	seen := 0
	for _, path := range sorted(private) {
		info, err := os.Stat(path)
		if err != nil {
			continue // what is not there cannot be read
		}
		seen++
		if mode := info.Mode().Perm(); mode&^private[path] != 0 {
			open = append(open, fmt.Sprintf("%s has mode %04o", path, mode))
			remedy = append(remedy, e.closing(path, private[path]))
		}
	}
	switch {
	case len(open) > 0:
		e.fail(privateCheck, models.CodeLedgerUnavailable, "others can reach them: "+strings.Join(open, "; "), strings.Join(slices.Compact(remedy), " && "))
	case seen == 0:
		e.skip(privateCheck, "nothing is stored yet")
	default:
		e.ok(privateCheck, fmt.Sprintf("%d looked at, none open to others", seen))
	}
}

// closing is the command that keeps others out. The files of one database are
// closed together, since some of them come and go.
func (e *examination) closing(path string, mode fs.FileMode) string {
	if strings.HasPrefix(path, e.Paths.DB) {
		return fmt.Sprintf("chmod %o %s*", mode, quoted(e.Paths.DB))
	}
	return fmt.Sprintf("chmod %o %s", mode, quoted(path))
}

// clockSlack is how far the clock may be behind the ledger: another node's may be
// a little ahead.
const clockSlack = time.Minute

func (e *examination) clockForward(ctx context.Context) {
	now := e.Now()
	if e.ledger == nil {
		e.ok(clockCheck, now.UTC().Format(time.RFC3339))
		return
	}
	latest, err := e.ledger.LatestTime(ctx)
	switch {
	case err != nil:
		e.failWith(clockCheck, models.CodeLedgerUnavailable, err, "cox doctor")
	case latest.Sub(now) > clockSlack:
		e.fail(clockCheck, models.CodeLedgerUnavailable,
			fmt.Sprintf("it says %s and the ledger has seen %s: deadlines would wait for it", now.UTC().Format(time.RFC3339), latest.Format(time.RFC3339)),
			"set the clock of this host, such as by timedatectl set-ntp true")
	default:
		e.ok(clockCheck, now.UTC().Format(time.RFC3339))
	}
}

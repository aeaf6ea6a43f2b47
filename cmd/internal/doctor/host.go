package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"coxswain/models"
)

const (
	gitCheck    = "git"
	diskCheck   = "disk"
	logsCheck   = "logs"
	workerCheck = "worker"
)

// The oldest Git that knows the settings by which it is held off what agents
// write (safe.bareRepository).
const gitMajor, gitMinor = 2, 38

func (e *examination) gitRuns(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	const remedy = "install git 2.38 or newer"
	out, err := exec.CommandContext(ctx, "git", "--version").Output()
	if err != nil {
		e.fail(gitCheck, models.CodeAdapterUnavailable, "git does not run: "+err.Error(), remedy)
		return
	}
	text := strings.TrimSpace(string(out))
	if major, minor := gitVersion(text); major < gitMajor || major == gitMajor && minor < gitMinor {
		e.fail(gitCheck, models.CodeAdapterUnavailable, text+" is too old", remedy)
		return
	}
	e.ok(gitCheck, text)
}

// gitVersion reads "git version 2.39.5 (…)"; 0 where it is none.
func gitVersion(text string) (major, minor int) {
	words := strings.Fields(text)
	if len(words) < 3 {
		return 0, 0
	}
	parts := strings.Split(words[2], ".")
	if len(parts) < 2 {
		return 0, 0
	}
	major, majorErr := strconv.Atoi(parts[0])
	minor, minorErr := strconv.Atoi(parts[1])
	if majorErr != nil || minorErr != nil {
		return 0, 0
	}
	return major, minor
}

func (e *examination) workerLives(ctx context.Context) {
	if e.ledger == nil {
		e.skip(workerCheck, "no ledger")
		return
	}
	if e.WorkerPID == 0 {
		e.warn(workerCheck, "none runs here, so that what is planned waits", "cox up")
		return
	}
	node, err := e.ledger.Node(ctx, e.NodeID)
	if err != nil {
		e.warn(workerCheck, fmt.Sprintf("process %d runs and serves another node than %s", e.WorkerPID, e.NodeID), "cox node list")
		return
	}
	silent := e.Now().Sub(node.HeartbeatAt).Round(time.Second)
	detail := fmt.Sprintf("process %d serves node %s, incarnation %d, heartbeat %s ago", e.WorkerPID, node.ID, node.Incarnation, silent)
	if silent > models.NodeSilence {
		e.fail(workerCheck, models.CodeEngineUnavailable, detail, "cox down && cox up")
		return
	}
	e.ok(workerCheck, detail)
}

// Free space below which the ledger is about to fail, and below which it is worth
// a look, in bytes.
const (
	diskLeast = 100 << 20
	diskLow   = 1 << 30
)

func (e *examination) diskHasRoom(context.Context) {
	dir, free, err := freeSpace(e.Paths.StateDir)
	remedy := "free some space, or choose another folder with --state-dir"
	detail := fmt.Sprintf("%d MB free at %s", free>>20, dir)
	switch {
	case err != nil:
		e.warn(diskCheck, "the free space cannot be read: "+err.Error(), remedy)
	case free < diskLeast:
		e.fail(diskCheck, models.CodeLedgerUnavailable, detail, remedy)
	case free < diskLow:
		e.warn(diskCheck, detail, remedy)
	default:
		e.ok(diskCheck, detail)
	}
}

// freeSpace is what may still be written at a folder, or at the nearest one above
// it that exists.
func freeSpace(dir string) (at string, free uint64, err error) {
	for {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return dir, 0, err
	}
	return dir, stat.Bavail * uint64(stat.Bsize), nil //nolint:gosec // the size of a block is positive, its type the system's
}

func sorted[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// quoted is a path as a shell takes it.
func quoted(path string) string {
	if strings.ContainsAny(path, " '\"$`\\!*?[](){}<>|&;#~") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// logsMany is how much the logs of a state directory may hold before it is worth a
// look, in bytes: several times what the default limits keep.
const logsMany = 2 << 30

// logsFit adds up the logs, the older files of the rotation included.
func (e *examination) logsFit(context.Context) {
	all, err := filepath.Glob(filepath.Join(e.Paths.StateDir, "*.log*"))
	if err != nil {
		e.warn(logsCheck, "the logs cannot be listed: "+err.Error(), "look into "+e.Paths.StateDir)
		return
	}
	var sum int64
	largest, size := "", int64(0)
	for _, path := range all {
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue // gone since, or none of ours
		}
		sum += info.Size()
		if info.Size() > size {
			largest, size = filepath.Base(path), info.Size()
		}
	}
	if largest == "" {
		e.ok(logsCheck, "none yet in "+e.Paths.StateDir)
		return
	}
	detail := fmt.Sprintf("%d files of %.1f MB in %s, the largest %s", len(all), float64(sum)/(1<<20), e.Paths.StateDir, largest)
	if sum > logsMany {
		e.warn(logsCheck, detail, "lower log.max_size, log.max_files or log.max_days: cox config init explains them")
		return
	}
	e.ok(logsCheck, detail)
}

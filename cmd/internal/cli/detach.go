package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// detachWait is how long everything may take to start in the background.
const detachWait = engineReady + workerReady + time.Minute

// detach starts this command again in the background, in a session of its own, and
// returns once that is ready. Where one runs already it is named instead.
func (in *call) detach(ctx context.Context) error {
	paths, err := in.paths()
	if err != nil {
		return err
	}
	if _, running := upRunning(paths.StateDir); running {
		return in.awaitUp(ctx, paths.StateDir)
	}
	b, err := in.startBehind(paths.StateDir)
	if err != nil {
		return err
	}
	r, err := b.ready(ctx)
	if err != nil {
		return err
	}
	return in.behind(paths.StateDir, r, false)
}

// awaitUp waits until the `cox up` that runs is ready.
func (in *call) awaitUp(ctx context.Context, stateDir string) error {
	var r upRecord
	err := await(ctx, detachWait, func() (bool, error) {
		_, running := upRunning(stateDir)
		r, _ = readUp(stateDir)
		return !running || r.Ready, nil
	})
	if err == nil && !r.Ready {
		err = errors.New("it ended")
	}
	if err != nil {
		return models.Errorf(models.CodeEngineUnavailable, "the cox up that runs already did not become ready").Hint("cox down && cox up").Because(err)
	}
	return in.behind(stateDir, r, true)
}

// behind answers where the stack in the background is, and how to look and stop.
func (in *call) behind(stateDir string, r upRecord, already bool) error {
	log := upLog(stateDir)
	doc := fields{
		"pid": r.PID, "already_running": already, "address": r.Address, "ui": r.UI, "teams": r.Teams, "log": log, "state_dir": stateDir,
	}
	return in.answer(doc, func(p *printer) {
		what := "runs in the background"
		if already {
			what = "runs already"
		}
		p.line("cox up %s (process %d)", what, r.PID)
		if len(r.Teams) > 0 {
			p.line("loop is on for %s", strings.Join(r.Teams, ", "))
		}
		if r.UI != "" {
			p.line("Web UI: %s", r.UI)
		}
		p.line("look: cox %sstatus, cox %sevents --follow; its output: %s", in.elsewhere(), in.elsewhere(), log)
		p.line("stop: cox %sdown", in.elsewhere())
	})
}

func upLog(stateDir string) string { return filepath.Join(stateDir, "up.log") }

// upDoc is the file of the one document that the stack in the background prints.
func upDoc(stateDir string) string { return filepath.Join(stateDir, "up.out") }

// background is a `cox up` that was started in the background.
type background struct {
	stateDir string
	cmd      *exec.Cmd
	ended    chan struct{}
}

// startBehind starts it with this command's own options. Nothing of it depends on
// the terminal, nor on this process.
func (in *call) startBehind(stateDir string) (*background, error) {
	cox, err := executable()
	if err != nil {
		return nil, err
	}
	log, err := outputOf(upLog(stateDir), os.O_APPEND)
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the child writes it
	doc, err := outputOf(upDoc(stateDir), os.O_TRUNC)
	if err != nil {
		return nil, err
	}
	defer doc.Close() //nolint:errcheck // as the log
	cmd := exec.Command(cox, foreground(in.args)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = in.childEnv(nil), doc, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, models.Errorf(models.CodeInternal, "cox up was not started").Because(err)
	}
	b := &background{stateDir: stateDir, cmd: cmd, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it failed stands in its document
		close(b.ended)
	}()
	return b, nil
}

// outputOf opens a file that a process writes on its own, for longer than this one
// lives.
func outputOf(path string, how int) (*os.File, error) {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err != nil {
		return nil, ledger.StateUnusable(path, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|how, 0o600)
	if err != nil {
		return nil, ledger.StateUnusable(path, err)
	}
	return f, nil
}

// foreground are the arguments of the same command in the foreground, as a script
// would call it.
func foreground(args []string) []string {
	out := slices.DeleteFunc(slices.Clone(args[1:]), func(arg string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		return name == "detach" && strings.HasPrefix(arg, "-")
	})
	return append(out, "--json")
}

// ready waits until it has started everything. One that is given up is ended.
func (b *background) ready(ctx context.Context) (r upRecord, err error) {
	err = await(ctx, detachWait, func() (bool, error) {
		r, _ = readUp(b.stateDir)
		return r.Ready && r.PID == b.cmd.Process.Pid || b.hasEnded(), nil
	})
	if err == nil && !b.hasEnded() {
		return r, nil
	}
	if b.hasEnded() {
		return r, b.failure()
	}
	_ = b.cmd.Process.Signal(syscall.SIGTERM) // it may just have ended
	<-b.ended
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	return r, models.Errorf(models.CodeEngineUnavailable, "cox up was not ready within %s", detachWait).Hint("see %s", upLog(b.stateDir)).Because(err)
}

func (b *background) hasEnded() bool {
	select {
	case <-b.ended:
		return true
	default:
		return false
	}
}

// failure is the error with which it ended, as it printed it.
func (b *background) failure() error {
	var doc struct {
		Error struct {
			Code    models.Code    `json:"code"`
			Message string         `json:"message"`
			Next    string         `json:"next"`
			Details map[string]any `json:"details"`
		} `json:"error"`
	}
	raw, err := os.ReadFile(upDoc(b.stateDir))
	if err == nil {
		err = json.Unmarshal(raw, &doc)
	}
	if err != nil || doc.Error.Code == "" {
		return models.Errorf(models.CodeEngineUnavailable, "cox up ended before it was ready (%s): %s", b.cmd.ProcessState, lastLine(upLog(b.stateDir))).
			Hint("see %s", upLog(b.stateDir)).Because(err)
	}
	e := models.Errorf(doc.Error.Code, "%s", doc.Error.Message).Hint("%s", doc.Error.Next)
	for name, value := range doc.Error.Details {
		e = e.With(name, value)
	}
	return e
}

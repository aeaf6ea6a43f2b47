package managed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/google/uuid"

	"coxswain/activities/codex"
	"coxswain/activities/codex/appserver"
)

// gate holds a new process back until its record is on disk: it becomes Codex when
// a line comes over descriptor 3, and ends when that closes without one. Its id
// and its start stay the same.
const gate = `read -r go <&3 || exit 1; exec 3<&-; exec "$@"`

// start starts a server and waits until its socket is there. What it started and
// could not use is ended again.
func (p place) start(ctx context.Context, o appserver.Options, version string) (record, error) {
	r := record{Version: version, CodexHome: home(o), Socket: filepath.Join(string(p), "s-"+uuid.NewString()[:8]), At: time.Now().UTC()}
	ended, err := p.spawn(o, &r)
	if err == nil {
		err = awaitSocket(ctx, r.Socket, o.StartupTimeout, ended)
	}
	if err == nil {
		return r, nil
	}
	if r.PID > 0 {
		err = errors.Join(err, r.kill(), p.cleanUp(r))
	}
	return r, &codex.Error{Kind: codex.ErrStartup, Message: "codex app-server did not come up; its output is in " + p.log(), Cause: err}
}

// home is the Codex home as records spell it.
func home(o appserver.Options) string {
	if path, err := filepath.EvalSymlinks(o.CodexHome); err == nil {
		return path
	}
	return filepath.Clean(o.CodexHome) // Codex itself will say that it is not there
}

// spawn starts the process in a session of its own, completes and writes its
// record, and lets it go on. ended is closed when it has ended, as long as this
// process lives to see it.
func (p place) spawn(o appserver.Options, r *record) (ended <-chan struct{}, err error) {
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	hold, open, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, open.Close()) }()
	args := append([]string{"-c", gate, "codex-gate", o.Bin}, o.Arguments()...)
	cmd := exec.Command("/bin/sh", append(args, "--listen", "unix://"+r.Socket)...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = o.Env, log, log, []*os.File{hold}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = errors.Join(cmd.Start(), hold.Close())
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // only reaped: the socket, or its absence, tells the rest
		close(done)
	}()
	if err := p.name(cmd.Process.Pid, r); err != nil {
		return done, err
	}
	_, err = fmt.Fprintln(open, "go")
	return done, err
}

// name completes the record with the identity of the process and writes it.
func (p place) name(pid int, r *record) error {
	started, alive, err := startOf(pid)
	if err == nil && !alive {
		err = errors.New("the process ended at once")
	}
	if err != nil {
		return err
	}
	boot, err := bootID()
	if err != nil {
		return err
	}
	r.PID, r.Started, r.Boot = pid, started, boot
	return p.write(*r)
}

func awaitSocket(ctx context.Context, path string, limit time.Duration, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	t := time.NewTicker(10 * time.Millisecond)
	defer t.Stop()
	for {
		err := checkSocket(path)
		if err == nil {
			return nil
		}
		select {
		case <-t.C:
		case <-ended:
			return errors.New("the process ended")
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

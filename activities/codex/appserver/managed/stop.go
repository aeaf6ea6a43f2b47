package managed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// DrainTime is how long the turns of a server may go on after it was asked to end.
const DrainTime = 30 * time.Second

// stepTime is how long each further signal may take.
const stepTime = 3 * time.Second

// Stop ends the server of a state directory: it takes no new work from now on,
// turns may end within the drain time, then they are interrupted. A context that
// ends cuts the drain time short. It returns the process that was ended, 0 when
// none was there.
func Stop(ctx context.Context, stateDir string, drain time.Duration) (pid int, err error) {
	p := placeOf(stateDir)
	if !p.exists() {
		return 0, nil
	}
	unlock, err := p.acquire(context.WithoutCancel(ctx))
	if err != nil {
		return 0, err
	}
	defer unlock()
	r, found, err := p.read()
	if err != nil || !found {
		return 0, err
	}
	alive, err := r.running()
	if err != nil {
		return 0, err
	}
	if alive {
		pid = r.PID
		err = r.end(ctx, drain)
	}
	if err != nil {
		return pid, err
	}
	return pid, p.cleanUp(r)
}

// Running tells whether a server of the state directory runs, and its process.
func Running(stateDir string) (pid int, running bool) {
	r, found, err := placeOf(stateDir).read()
	if err != nil || !found {
		return 0, false
	}
	alive, err := r.running()
	return r.PID, alive && err == nil
}

// cleanUp removes the traces of a server that has ended.
func (p place) cleanUp(r record) error {
	if filepath.Dir(r.Socket) == string(p) {
		if err := errors.Join(removeTarget(r.Socket), absent(os.Remove(r.Socket))); err != nil {
			return err
		}
	}
	return p.forget()
}

// removeTarget removes the socket that a killed server left where its link leads: in
// Codex's own folder for sockets, and only when it is this user's and nobody listens.
func removeTarget(link string) error {
	target, err := os.Readlink(link)
	if err != nil || filepath.Dir(target) != fmt.Sprintf("/tmp/codex-daemon-%d", os.Geteuid()) || checkSocket(link) != nil {
		return nil //nolint:nilerr // no link, or one that leads elsewhere: nothing of ours
	}
	c, err := net.DialTimeout("unix", target, time.Second)
	if err == nil {
		return c.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return nil // gone, or in doubt
	}
	return absent(os.Remove(target))
}

// end drains the running server, then ends it, and what is left of its group.
func (r record) end(ctx context.Context, drain time.Duration) error {
	defer func() { _ = syscall.Kill(-r.PID, syscall.SIGKILL) }() // a group that is gone needs none
	r.signal(syscall.SIGTERM)                                    // Codex drains at the first
	gone, err := r.awaitEnd(ctx, drain)
	if gone || err != nil {
		return err
	}
	r.signal(syscall.SIGTERM) // and ends at the second
	if gone, err = r.awaitEnd(context.WithoutCancel(ctx), stepTime); gone || err != nil {
		return err
	}
	return r.kill()
}

func (r record) signal(s syscall.Signal) { _ = syscall.Kill(r.PID, s) } // one that has ended needs none

// kill ends the server and its group outright.
func (r record) kill() error {
	_ = syscall.Kill(-r.PID, syscall.SIGKILL) // a group that is gone needs none
	_, err := r.awaitEnd(context.Background(), stepTime)
	return err
}

// awaitEnd tells whether the process ended within the limit.
func (r record) awaitEnd(ctx context.Context, limit time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	t := time.NewTicker(20 * time.Millisecond)
	defer t.Stop()
	for {
		alive, err := r.running()
		if err != nil || !alive {
			return !alive, err
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return false, nil
		}
	}
}

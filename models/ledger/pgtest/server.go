package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Generous, since tests share machines.
const (
	startLimit = 2 * time.Minute
	stopLimit  = 30 * time.Second
)

// server is a running cluster.
type server struct {
	dir   string // of the socket, the data and the log
	cmd   *exec.Cmd
	ended chan struct{} // closed at its end,
	end   error         // of which this is the reason
}

// launch makes a cluster and waits until it answers.
func launch() (*server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "cox-pg-")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, ended: make(chan struct{})}
	if err := errors.Join(s.initialise(bin), s.run(bin)); err != nil {
		s.stop()
		return nil, err
	}
	if err := s.await(); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log")) // more words for the failure
		s.stop()
		return nil, fmt.Errorf("%w\n%s", err, log)
	}
	return s, nil
}

func (s *server) initialise(bin string) error {
	as, err := owner()
	if err != nil {
		return err
	}
	if as != nil {
		if err := os.Chown(s.dir, int(as.Uid), int(as.Gid)); err != nil {
			return err
		}
	}
	cmd := exec.Command(filepath.Join(bin, "initdb"), "--pgdata", filepath.Join(s.dir, "data"),
		"--username", User, "--auth", "trust", "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync")
	cmd.Dir, cmd.Env = s.dir, environment(s.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// owner is the user that the cluster runs as: Postgres refuses root. nil is the
// test's own.
func owner() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

// environment keeps the caller's PG* variables away from the cluster.
func environment(dir string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "LC_ALL=C.UTF-8"}
}

// run starts the server as a child that ends with this process, whatever ends it.
// Linux ties that to the thread that started the child, which therefore stays.
func (s *server) run(bin string) error {
	as, err := owner()
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	s.cmd = exec.Command(filepath.Join(bin, "postgres"), "-D", filepath.Join(s.dir, "data"), "-k", s.dir,
		"-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=300", "-c", "shared_buffers=32MB",
		"-c", "log_min_messages=fatal", "-c", "full_page_writes=off")
	s.cmd.Dir, s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = s.dir, environment(s.dir), log, log
	s.cmd.SysProcAttr = attributes(as)
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := s.cmd.Start()
		started <- err
		if err == nil {
			s.end = s.cmd.Wait()
			close(s.ended)
		}
		_ = log.Close() // written by the child
	}()
	if err := <-started; err != nil {
		s.cmd = nil
		return err
	}
	return nil
}

func (s *server) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.address("public"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.ended:
			s.cmd = nil
			return fmt.Errorf("postgres ended at once: %w", errors.Join(s.end, err))
		case <-ctx.Done():
			return fmt.Errorf("postgres did not answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the server without care for its data, and removes it.
func (s *server) stop() {
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(syscall.SIGINT) // fast shutdown; an ended process needs none
		select {
		case <-s.ended:
		case <-time.After(stopLimit):
			_ = s.cmd.Process.Signal(syscall.SIGQUIT)
			<-s.ended
		}
		s.cmd = nil
	}
	_ = os.RemoveAll(s.dir) // a leftover in the temporary folder harms nobody
}

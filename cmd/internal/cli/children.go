package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"coxswain/cmd/internal/supervise"
	"coxswain/models"
	"coxswain/models/ledger"
)

// Grace times of the children.
const (
	workerGrace = 15 * time.Second
	engineGrace = 15 * time.Second
	engineReady = 60 * time.Second
	workerReady = 60 * time.Second
)

// childLog opens the log of a child in the state directory, appended to and rotated.
func (in *call) childLog(stateDir, name string) (io.WriteCloser, string, error) {
	path := filepath.Join(stateDir, name+".log")
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return nil, path, ledger.StateUnusable(stateDir, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) // now, since the rotation opens it at the first line
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return nil, path, ledger.StateUnusable(path, err)
	}
	return in.rotated(path), path, nil
}

// temporalServer is where the embedded Temporal should be: beside this program,
// unless COX_TEMPORAL_BIN names it.
func (in *call) temporalServer() (string, error) {
	if given, ok := in.env("COX_TEMPORAL_BIN"); ok && given != "" {
		return given, nil
	}
	cox, err := executable()
	return filepath.Join(filepath.Dir(cox), "cox-temporal"), err
}

// startEngine starts the embedded Temporal beside this program and waits until it
// is ready. Port 0 picks free ones.
func (in *call) startEngine(ctx context.Context, stateDir string, port, uiPort int) (*supervise.Child, engineRecord, error) {
	server, err := in.temporalServer()
	if err != nil {
		return nil, engineRecord{}, err
	}
	if _, err := os.Stat(server); err != nil {
		return nil, engineRecord{}, models.Errorf(models.CodeEngineUnavailable, "the embedded Temporal %s is not installed", server).
			Hint("put cox-temporal beside cox, or name your own Temporal with --address").Because(err)
	}
	log, logPath, err := in.childLog(stateDir, "temporal")
	if err != nil {
		return nil, engineRecord{}, err
	}
	child, err := supervise.Start(supervise.Command{
		Name: "cox-temporal", Path: server, Env: in.childEnv(nil), Log: log,
		Args: []string{
			"--json", "--ip", "127.0.0.1", "--port", strconv.Itoa(port), "--ui-port", strconv.Itoa(uiPort),
			"--db-filename", engineDB(stateDir), "--log-level", "error",
		},
	})
	if err != nil {
		return nil, engineRecord{}, models.Errorf(models.CodeEngineUnavailable, "the embedded Temporal was not started").Because(err)
	}
	wait, cancel := context.WithTimeout(ctx, engineReady)
	defer cancel()
	line, err := child.Ready(wait)
	record := engineRecord{PID: child.PID()}
	if err == nil {
		err = json.Unmarshal([]byte(line), &record)
	}
	if err == nil && record.Address == "" {
		err = errors.New("its ready line names no address")
	}
	if err == nil {
		err = writeEngine(stateDir, record)
	}
	if err != nil {
		child.Stop(engineGrace)
		return nil, record, models.Errorf(models.CodeEngineUnavailable, "the embedded Temporal did not come up: %s", lastLine(logPath)).
			Hint("see %s", logPath).Because(err)
	}
	return child, record, nil
}

// lastLine is the last thing that a log tells, for a message.
func lastLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "its log cannot be read"
	}
	last := ""
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "next: ") { // the hint below an error says less
			last = line
		}
	}
	return clean(last)
}

// workerCommand is the worker of this state directory as a child.
func (in *call) workerCommand(stateDir string, log io.Writer, extra ...string) (supervise.Command, error) {
	cox, err := executable()
	if err != nil {
		return supervise.Command{}, err
	}
	paths, err := in.paths()
	if err != nil {
		return supervise.Command{}, err
	}
	// What the environment and the file say the worker reads by itself, and follows.
	args := append([]string{"worker"}, extra...)
	for _, name := range []string{"log-level", "codex-bin", "codex-home", "transport", "policy", "max-runs", "fake-pace", "address", "namespace"} {
		if in.value(name).source == "flag" {
			args = append(args, "--"+name, in.raw(name))
		}
	}
	env := in.childEnv(map[string]string{"COX_STATE_DIR": stateDir, "COX_DB": paths.DB})
	return supervise.Command{Name: "cox worker", Path: cox, Args: args, Env: env, Log: log}, nil
}

// childEnv is this process's environment with some variables replaced.
func (in *call) childEnv(set map[string]string) []string {
	var out []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if _, replaced := set[name]; !replaced && name != "COX_JSON" && name != "COX_FORMAT" {
			out = append(out, kv)
		}
	}
	for name, value := range set {
		out = append(out, name+"="+value)
	}
	return out
}

// startWorker keeps a worker running until release is called; an app-server that the
// worker leaves behind is the caller's. It returns when the worker serves its queues.
// Its first exit before that is a failure, unless the caller is patient, because it
// keeps an engine that may be starting again: then only the time limit is.
func (in *call) startWorker(ctx context.Context, stateDir string, patient bool) (release func(), err error) {
	log, logPath, err := in.childLog(stateDir, "worker")
	if err != nil {
		return nil, err
	}
	command, err := in.workerCommand(stateDir, log)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	keeping, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	first := make(chan supervise.Change, 1)
	wg.Go(func() {
		supervise.Keep(keeping, command, workerGrace, func(c supervise.Change) {
			if c.Err != nil {
				in.log().Warn("the worker ended and is started again", "pid", c.PID, "error", c.Err)
			}
			if patient && !c.Ready {
				return
			}
			select {
			case first <- c:
			default: // only the first change that counts decides whether the worker came up
			}
		})
	})
	release = func() {
		cancel()
		wg.Wait()
		_ = log.Close() // written by the child; nothing of ours is lost
	}
	select {
	case c := <-first:
		err = c.Err
	case <-time.After(workerReady):
		err = context.DeadlineExceeded
	case <-ctx.Done():
		release()
		return nil, ctx.Err()
	}
	if err != nil {
		release()
		return nil, models.Errorf(models.CodeEngineUnavailable, "the worker did not come up: %s", lastLine(logPath)).Hint("see %s", logPath).Because(err)
	}
	return release, nil
}

// listening tells whether anything answers on a loopback port.
func listening(address string) bool {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	_ = c.Close() // only asked whether it answers
	return true
}

// await calls fn until it says done, at most for a time.
func await(ctx context.Context, limit time.Duration, fn func() (done bool, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	t := time.NewTicker(50 * time.Millisecond)
	defer t.Stop()
	for {
		done, err := fn()
		if done {
			return err
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

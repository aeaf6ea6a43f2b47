package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// DefaultTimeout is how long the command may take.
const DefaultTimeout = 10 * time.Second

// passed are the variables that the command sees; others may hold secrets.
func passed() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR",
		"DBUS_SESSION_BUS_ADDRESS", "XDG_CONFIG_HOME",
	}
}

// maxOutput is how much of the command's output is kept, in bytes.
const maxOutput = 2048

// Run runs a command line with a payload on stdin. The error says how it ended and the
// last of what it wrote. lookup reads a variable of the environment; a timeout of 0 is
// DefaultTimeout. The whole process group ends with the limit.
func Run(ctx context.Context, line string, timeout time.Duration, payload any, lookup func(string) (string, bool)) error {
	text, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	for _, name := range passed() {
		if v, set := lookup(name); set {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	out := &tail{}
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = "/", bytes.NewReader(append(text, '\n')), out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // what it left behind must not hold the output
	err = cmd.Run()
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("not done within %s", timeout)
	}
	if said := strings.TrimSpace(out.String()); said != "" {
		return fmt.Errorf("%w: %s", err, said)
	}
	return err
}

// tail keeps the last of what is written.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if over := len(t.text) - maxOutput; over > 0 {
		t.text = append([]byte(nil), t.text[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.ToValidUTF8(string(t.text), "\uFFFD") }

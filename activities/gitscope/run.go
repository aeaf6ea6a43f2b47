package gitscope

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"coxswain/models"
)

const (
	// CommandTimeout is the longest that one git command may take, within the
	// caller's own deadline.
	CommandTimeout = 30 * time.Second
	// maxOutput bounds what a command's output may hold in memory, in bytes.
	maxOutput = 1 << 20
	// maxStderr is how much of git's own words an error keeps, in bytes.
	maxStderr = 2 << 10
)

// protections stand before every command and override the repository's own
// configuration (design, section 6). The names of protocols are listed because
// a specific setting wins over the general one. Another owner's repository is
// not refused: that check is about configuration that starts programs.
func protections() []string {
	out := []string{"--no-optional-locks", "--no-pager", "--no-replace-objects", "--literal-pathspecs"}
	for _, setting := range []string{
		"core.fsmonitor=false", "core.hooksPath=/dev/null", "safe.bareRepository=explicit",
		"core.attributesFile=/dev/null", "core.excludesFile=/dev/null", "core.splitIndex=false",
		"core.quotePath=false", "diff.orderFile=/dev/null", "safe.directory=*",
		"protocol.allow=never", "protocol.file.allow=never", "protocol.git.allow=never", "protocol.ssh.allow=never",
		"protocol.http.allow=never", "protocol.https.allow=never", "protocol.ext.allow=never",
	} {
		out = append(out, "-c", setting)
	}
	return out
}

// environment is all that git sees: of the caller's environment only PATH.
func environment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.DevNull, "XDG_CONFIG_HOME=" + os.DevNull, "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0",
	}
}

// command is one git command.
type command struct {
	dir   string
	env   []string // besides environment()
	args  []string
	input io.Reader // standard input; nil is none

	timeout time.Duration // CommandTimeout when 0
	held    *os.File      // stays open until the command and all it started have ended
}

// exit is a command that git itself ended with an error.
type exit struct {
	code   int
	stderr string
}

func (e *exit) Error() string { return "git exited with " + strconv.Itoa(e.code) + ": " + e.stderr }

// exited tells whether the error is git's exit with the code.
func exited(err error, code int) bool {
	var e *exit
	return errors.As(err, &e) && e.code == code
}

// output runs the command and returns what it printed; more than maxOutput is
// an error, because half an answer is none.
func (c command) output(ctx context.Context) (string, error) {
	var out string
	err := c.stream(ctx, func(r io.Reader) error {
		text, err := io.ReadAll(io.LimitReader(r, maxOutput+1))
		if err == nil && len(text) > maxOutput {
			err = models.Errorf(models.CodeInternal, "git %s printed more than %d bytes", c.args[0], maxOutput)
		}
		out = string(text)
		return err
	})
	return out, err
}

// errEnough is returned by a reader that has seen all it wants; the command is
// then ended and its exit ignored.
var errEnough = errors.New("enough output")

// stream runs the command and hands its output to read. The error of read wins
// over that of the command.
func (c command) stream(ctx context.Context, read func(io.Reader) error) error {
	limited, cancel := context.WithTimeout(ctx, c.limit())
	defer cancel()
	cmd := exec.CommandContext(limited, "git", append(protections(), c.args...)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.dir, append(environment(), c.env...), time.Second
	cmd.Stdin = c.input
	if c.held != nil {
		cmd.ExtraFiles = []*os.File{c.held}
	}
	stderr := &prefix{limit: maxStderr}
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return models.Errorf(models.CodeInternal, "git %s cannot be started", c.args[0]).Because(err)
	}
	if err := cmd.Start(); err != nil {
		return c.startError(ctx, err)
	}
	// A process that inherited the pipe must not keep read waiting.
	defer context.AfterFunc(limited, func() { _ = stdout.Close() })() // closed twice at worst
	readErr := read(stdout)
	if readErr != nil {
		cancel()
	}
	waitErr := cmd.Wait()
	late := ctx.Err() != nil || errors.Is(limited.Err(), context.DeadlineExceeded)
	switch {
	case errors.Is(readErr, errEnough):
		return nil
	case late && (readErr != nil || waitErr != nil):
		return c.timeError(ctx)
	case readErr != nil:
		return readErr
	}
	return c.exitError(waitErr, stderr.String())
}

func (c command) limit() time.Duration {
	if c.timeout > 0 {
		return c.timeout
	}
	return CommandTimeout
}

func (c command) startError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return c.timeError(ctx)
	}
	if errors.Is(err, exec.ErrNotFound) {
		return models.Errorf(models.CodeAdapterUnavailable, "git is not in PATH").Hint("install git 2.38 or newer").Because(err)
	}
	return models.Errorf(models.CodeInternal, "git cannot be started").Because(err)
}

func (c command) timeError(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return models.Errorf(models.CodeInterrupted, "git %s was given up", c.args[0]).Because(err)
	}
	return models.Errorf(models.CodeInternal, "git %s took longer than %s", c.args[0], c.limit()).With("dir", c.dir)
}

func (c command) exitError(err error, stderr string) error {
	if err == nil {
		return nil
	}
	var status *exec.ExitError
	if !errors.As(err, &status) {
		return models.Errorf(models.CodeInternal, "git %s failed", c.args[0]).Because(err)
	}
	cause := &exit{code: status.ExitCode(), stderr: strings.TrimSpace(stderr)}
	return models.Errorf(models.CodeInternal, "git %s failed in %s", c.args[0], c.dir).With("dir", c.dir).Because(cause)
}

// prefix is a writer that keeps the first bytes and drops the rest.
type prefix struct {
	bytes.Buffer
	limit int
}

func (p *prefix) Write(b []byte) (int, error) {
	if room := p.limit - p.Len(); room > 0 {
		p.Buffer.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

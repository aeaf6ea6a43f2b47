package fake

import (
	"context"
	"log/slog"
	"os"
	"time"

	"coxswain/activities/codex"
)

// Options configure a host. Dir and Agent are required.
type Options struct {
	// Dir is the folder of the threads, one file and one lock for each. It is
	// made with mode 0700 when it is absent.
	Dir string
	// Agent is the command that runs one turn, such as {"/usr/bin/cox",
	// "fake-agent"}. It reads a Request from stdin and writes Reports to stdout.
	Agent []string
	// Env is the agents' environment, nil for the process's own.
	Env []string
	// Policy decides what agents ask leave for; nil is codex.AskNobody.
	Policy codex.Policy
	// Logger gets what the host does on its own; nil discards it.
	Logger *slog.Logger
	// Pace is how long an agent waits before each of its steps, so that a person
	// can watch; 0 is no wait.
	Pace time.Duration
	// StopTimeout is how long an agent has to end after SIGTERM before its group
	// is killed; 3 s by default.
	StopTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Policy == nil {
		o.Policy = codex.AskNobody
	}
	if o.StopTimeout <= 0 {
		o.StopTimeout = 3 * time.Second
	}
	return o
}

// Open opens a host over the threads that former hosts of the folder left. A
// turn that was active when its host ended reads as interrupted. The context
// bounds the opening only. Errors have the kind startup_failed.
func Open(ctx context.Context, opts Options) (codex.Adapter, error) {
	if err := ctx.Err(); err != nil {
		return nil, &codex.Error{Kind: codex.ErrStartup, Message: "opening the fake host", Cause: err}
	}
	if len(opts.Agent) == 0 || opts.Agent[0] == "" {
		return nil, &codex.Error{Kind: codex.ErrStartup, Message: "Options.Agent: the command of the agent is required"}
	}
	if opts.Dir == "" {
		return nil, &codex.Error{Kind: codex.ErrStartup, Message: "Options.Dir: the folder of the threads is required"}
	}
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, &codex.Error{Kind: codex.ErrStartup, Message: "Options.Dir", Cause: err}
	}
	return newHost(opts.withDefaults()), nil
}

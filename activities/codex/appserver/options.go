package appserver

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coxswain/activities/codex"
)

// MaxMessage is the longest message a host reads, in bytes. A longer one ends
// the host.
const MaxMessage = 16 << 20

// Options configure a host. The zero value runs the Codex that Find finds with
// the user's own Codex home.
type Options struct {
	// Bin is the Codex executable; "" asks Find.
	Bin string
	// Env is the environment of Codex, nil for the process's own. CODEX_HOME is
	// set in it when CodexHome is given.
	Env []string
	// CodexHome is Codex's state folder, "" for CODEX_HOME of Env, else
	// ~/.codex. It must exist.
	CodexHome string
	// Logger gets what the host does on its own; nil discards it.
	Logger *slog.Logger
	// Policy decides the server's requests; nil is codex.AskNobody.
	Policy codex.Policy
	// ConfigOverrides are `-c key=value` arguments, the value in TOML.
	ConfigOverrides []string
	// ProofDir is an existing folder in which Probe makes and removes the scratch
	// folder of the sandbox proof; "" is the system's temporary folder.
	ProofDir string
	// Proved gives the stored detail of a sandbox proof that this node has made for
	// a ProfileKey, and whether there is one; Probe then makes none. nil has none.
	Proved func(ctx context.Context, key string) (detail string, proved bool)
	// Fallback is why the host is not on the usual transport, for its probe.
	Fallback string
	// RequestTimeout bounds a request; 30 s by default.
	RequestTimeout time.Duration
	// StartupTimeout bounds spawn to the answer of initialize; 30 s by default.
	StartupTimeout time.Duration
	// MCPStartTimeout bounds the start of a thread's coordination server; 20 s by
	// default. Thread starts and resumes have this time on top of RequestTimeout.
	MCPStartTimeout time.Duration
	// AnswerTimeout bounds a decision of the policy; then the request is declined.
	// 10 s by default. A request that waits for a person is not bound by it.
	AnswerTimeout time.Duration
	// CloseTimeout bounds each step of the end (EOF, SIGTERM, SIGKILL); 3 s by
	// default.
	CloseTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if o.CodexHome == "" {
		o.CodexHome = defaultCodexHome(o.Env)
	} else {
		o.Env = setenv(o.Env, "CODEX_HOME", o.CodexHome)
	}
	if lookup(o.Env, "RUST_LOG") == "" {
		o.Env = setenv(o.Env, "RUST_LOG", "error")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Policy == nil {
		o.Policy = codex.AskNobody
	}
	for _, d := range []struct {
		value    *time.Duration
		fallback time.Duration
	}{
		{&o.RequestTimeout, 30 * time.Second},
		{&o.StartupTimeout, 30 * time.Second},
		{&o.MCPStartTimeout, 20 * time.Second},
		{&o.AnswerTimeout, 10 * time.Second},
		{&o.CloseTimeout, 3 * time.Second},
	} {
		if *d.value <= 0 {
			*d.value = d.fallback
		}
	}
	return o
}

// Arguments are those of the app-server, without the executable.
func (o Options) Arguments() []string {
	args := []string{"app-server"}
	for _, override := range o.ConfigOverrides {
		args = append(args, "-c", override)
	}
	return args
}

// Resolve fills in the executable, the environment and the Codex home that Open
// and Connect would use.
func (o Options) Resolve() (Options, error) {
	o = o.withDefaults()
	var err error
	o.Bin, err = o.bin()
	return o, err
}

func (o Options) bin() (string, error) {
	if o.Bin != "" {
		return o.Bin, nil
	}
	return Find(o.Env)
}

func defaultCodexHome(env []string) string {
	if home := lookup(env, "CODEX_HOME"); home != "" {
		return home
	}
	return filepath.Join(lookup(env, "HOME"), ".codex")
}

// lookup returns a variable of an environment; the last setting wins, as exec
// has it.
func lookup(env []string, name string) string {
	for _, setting := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(setting, name+"="); ok {
			return value
		}
	}
	return ""
}

func setenv(env []string, name, value string) []string {
	return append(append([]string(nil), env...), name+"="+value)
}

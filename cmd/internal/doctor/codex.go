package doctor

import (
	"context"
	"errors"
	"strings"
	"time"

	"coxswain/activities/codex"
	"coxswain/activities/codex/appserver"
	"coxswain/models"
)

const (
	codexCheck      = "codex"
	capabilityCheck = "codex methods"
	loginCheck      = "codex login"
	sandboxCheck    = "codex sandbox"
)

// codexWait is how long Codex may take to start, answer and prove its sandbox.
const codexWait = 90 * time.Second

const installRemedy = "install Codex " + codex.TestedVersion + " (npm install -g @openai/codex@" + codex.TestedVersion + "), or use --adapter fake"

func (e *examination) codexRuns(ctx context.Context) {
	if !e.Codex {
		for _, name := range []string{codexCheck, capabilityCheck, loginCheck, sandboxCheck, transportCheck} {
			e.skip(name, "the fake adapter needs none")
		}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, codexWait)
	defer cancel()
	host, bin, err := e.openCodex(ctx)
	if err != nil {
		e.fail(codexCheck, models.CodeAdapterUnavailable, plain(err), installRemedy)
		for _, name := range []string{capabilityCheck, loginCheck, sandboxCheck, transportCheck} {
			e.skip(name, "Codex does not run")
		}
		return
	}
	defer host.Close() //nolint:errcheck // it was only asked
	e.version(bin, host.Version())
	e.probed(ctx, host)
	e.loggedIn(ctx, host)
	e.transportWorks(ctx)
}

func (e *examination) openCodex(ctx context.Context) (*appserver.Host, string, error) {
	bin := e.CodexBin
	if bin == "" {
		var err error
		if bin, err = appserver.Find(e.Environ); err != nil {
			return nil, "", err
		}
	}
	host, err := appserver.Open(ctx, e.codexOptions(bin))
	return host, bin, err
}

func (e *examination) codexOptions(bin string) appserver.Options {
	return appserver.Options{
		Bin: bin, Env: e.Environ, CodexHome: e.CodexHome, ConfigOverrides: appserver.Offline(),
		Proved: func(ctx context.Context, key string) (string, bool) {
			if e.ledger == nil {
				return "", false
			}
			return e.ledger.StoredProof(ctx, e.NodeID, models.AdapterKindCodex, key)
		},
	}
}

func (e *examination) version(bin, version string) {
	if version == codex.TestedVersion {
		e.ok(codexCheck, version+" at "+bin)
		return
	}
	e.warn(codexCheck, version+" at "+bin+"; cox is proved with "+codex.TestedVersion, "npm install -g @openai/codex@"+codex.TestedVersion)
}

func (e *examination) probed(ctx context.Context, host *appserver.Host) {
	said, err := host.Probe(ctx)
	if err != nil {
		e.fail(capabilityCheck, models.CodeAdapterUnavailable, plain(err), installRemedy)
		e.fail(sandboxCheck, models.CodeAdapterUnavailable, "not proved: "+plain(err),
			"allow unprivileged user namespaces, which Codex's sandbox needs; see: codex sandbox --help")
		return
	}
	if missing := (models.Probe{Capabilities: said.Capabilities}).Missing(); len(missing) > 0 {
		e.fail(capabilityCheck, models.CodeAdapterUnavailable, "this Codex lacks "+strings.Join(missing, ", "), installRemedy)
	} else {
		e.ok(capabilityCheck, "all that a loop needs")
	}
	if !said.SandboxProved {
		e.fail(sandboxCheck, models.CodeAdapterUnavailable, said.SandboxDetail,
			"allow unprivileged user namespaces, which Codex's sandbox needs; see: codex sandbox --help")
		return
	}
	e.ok(sandboxCheck, said.SandboxDetail)
}

func (e *examination) loggedIn(ctx context.Context, host *appserver.Host) {
	account, err := host.Account(ctx)
	switch {
	case err != nil:
		e.fail(loginCheck, models.CodeAdapterUnavailable, plain(err), "codex login")
	case account.Kind != "":
		e.ok(loginCheck, "logged in ("+account.Kind+"); whether the login still holds only a turn shows")
	case account.Ready():
		e.ok(loginCheck, "the configured provider needs no login of OpenAI")
	default:
		e.fail(loginCheck, models.CodeAdapterUnavailable, "nobody is logged in", "codex login")
	}
}

// plain is an error without its kind, which says nothing to a person.
func plain(err error) string {
	if e, ok := errors.AsType[*codex.Error](err); ok {
		text := e.Message
		if e.Cause != nil {
			text += ": " + e.Cause.Error()
		}
		return text
	}
	return err.Error()
}

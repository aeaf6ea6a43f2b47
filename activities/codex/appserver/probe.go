package appserver

import (
	"context"
	"strings"

	"coxswain/activities/codex"
)

// wrongly is a parameter of the wrong type: a server that knows the method
// refuses it for the parameter, before it does anything, and one that does not
// refuses it for the method.
type wrongly map[string]any

// capabilities are asked of the running server, method by method.
var capabilities = []struct {
	name    string
	methods []string
	params  wrongly
}{
	{"can_start_thread", []string{"thread/start"}, wrongly{"cwd": 0}},
	{"can_resume_thread", []string{"thread/resume"}, wrongly{"threadId": 0}},
	{"can_start_turn", []string{"turn/start"}, wrongly{"threadId": 0}},
	{"can_steer_turn", []string{"turn/steer"}, wrongly{"threadId": 0}},
	{"can_interrupt_turn", []string{"turn/interrupt"}, wrongly{"threadId": 0}},
	{"can_read_thread", []string{"thread/read"}, wrongly{"threadId": 0}},
	{"can_observe_turns", []string{"thread/turns/list", "thread/items/list"}, wrongly{"threadId": 0}},
	{"can_archive_thread", []string{"thread/archive"}, wrongly{"threadId": 0}},
	{"can_unsubscribe", []string{"thread/unsubscribe"}, wrongly{"threadId": 0}},
	{"can_clean_terminals", []string{"thread/backgroundTerminals/clean", "thread/backgroundTerminals/list"}, wrongly{"threadId": 0}},
	{"can_list_loaded_threads", []string{"thread/loaded/list"}, wrongly{"limit": "none"}},
}

// Probe implements codex.Adapter. Each capability is what the running server
// answers to a call of the method that it cannot carry out. The sandbox proof,
// a second or two, is made once per Codex version, profile and node, as far as
// Options.Proved remembers it.
func (h *Host) Probe(ctx context.Context) (codex.Probe, error) {
	probe := codex.Probe{Version: h.version, Transport: h.transport, Fallback: h.opts.Fallback, Capabilities: map[string]bool{}}
	for _, c := range capabilities {
		known := true
		for _, method := range c.methods {
			ok, err := h.knows(ctx, method, c.params)
			if err != nil {
				return codex.Probe{}, err
			}
			known = known && ok
		}
		probe.Capabilities[c.name] = known
	}
	probe.ProofKey = ProfileKey(h.version)
	if h.opts.Proved != nil {
		if detail, proved := h.opts.Proved(ctx, probe.ProofKey); proved {
			probe.SandboxProved, probe.SandboxDetail = true, detail
			return probe, nil
		}
	}
	var err error
	probe.SandboxProved, probe.SandboxDetail, err = h.prove(ctx)
	return probe, err
}

func (h *Host) knows(ctx context.Context, method string, params wrongly) (bool, error) {
	err := h.call(ctx, method, params, nil)
	if err != nil && codex.Happened(err) {
		return false, err // no answer
	}
	return err == nil || !strings.Contains(err.Error(), "unknown variant"), nil
}

// prove makes the sandbox proof once; a failure to make it is tried again.
func (h *Host) prove(ctx context.Context) (bool, string, error) {
	h.proofMu.Lock()
	defer h.proofMu.Unlock()
	if h.proof == nil {
		proved, detail, err := ProveSandbox(ctx, Proof{
			Bin: h.bin, Env: h.opts.Env, CodexHome: h.opts.CodexHome, Dir: h.opts.ProofDir,
		})
		if err != nil {
			return false, detail, err
		}
		h.proof = &provedSandbox{proved, detail}
	}
	return h.proof.proved, h.proof.detail, nil
}

type provedSandbox struct {
	proved bool
	detail string
}

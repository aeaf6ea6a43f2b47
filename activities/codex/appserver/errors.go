package appserver

import (
	"errors"
	"slices"
	"strings"

	"coxswain/activities/codex"
)

// refusals maps the server's error texts to kinds; its codes are not specific.
// The first text found decides. Measured with Codex 0.171.0.
var refusals = []struct {
	text string
	kind codex.ErrorKind
}{
	{"no active turn to", codex.ErrTurnMismatch},
	{"expected active turn id", codex.ErrTurnMismatch},
	{"already has an active writer", codex.ErrBusy},
	{"Server is draining", codex.ErrDraining},
	{"no rollout found", codex.ErrUnknownID},
	{"thread not found", codex.ErrUnknownID},
	{"thread not loaded", codex.ErrUnknownID},
	{"invalid thread id", codex.ErrUnknownID},
	// A kill within the first write of a thread leaves a file without a line, which
	// no method gets over; for a moment every new thread reads like that.
	{".jsonl is empty", codex.ErrUnknownID},
}

// noHistoryTexts are in the answers for a thread that has no turn yet, one of
// them also for a thread that does not exist.
var noHistoryTexts = []string{"is not supported yet", "is not materialized yet"}

// classify turns what a request failed with into a codex.Error.
func classify(method string, err error) error {
	var refusal *rpcError
	if !errors.As(err, &refusal) {
		return err // nil, or already of this package
	}
	kind := codex.ErrRefused
	for _, r := range refusals {
		if strings.Contains(refusal.Message, r.text) {
			kind = r.kind
			break
		}
	}
	return &codex.Error{Kind: kind, Message: method, Cause: refusal}
}

func noHistory(err error) bool {
	var refusal *rpcError
	if !errors.As(err, &refusal) {
		return false
	}
	return slices.ContainsFunc(noHistoryTexts, func(text string) bool { return strings.Contains(refusal.Message, text) })
}

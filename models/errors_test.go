package models_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"coxswain/models"
)

func TestErrorsCarryCodeCauseAndDetails(t *testing.T) {
	base := models.Invalid("team", "%q is odd", "x")
	if base.Code != models.CodeInvalidArgument || base.Message != `team: "x" is odd` || base.Details["field"] != "team" {
		t.Fatalf("invalid: %+v", base)
	}
	e := base.Because(io.ErrUnexpectedEOF).Hint("cox team show %s", "t").With("path", "p")
	if e.Next != "cox team show t" || e.Error() != `team: "x" is odd: unexpected EOF` || !errors.Is(e, io.ErrUnexpectedEOF) || e.Details["path"] != "p" || e.Details["field"] != "team" {
		t.Errorf("built up: %+v", e)
	}
	if base.Next != "" || base.Cause != nil || len(base.Details) != 1 || base.Error() != `team: "x" is odd` {
		t.Errorf("the original was changed: %+v", base)
	}
	if nf := models.NotFound("run", "r1"); nf.Code != models.CodeNotFound || nf.Error() != `run "r1" is not in the ledger` || nf.Details["entity"] != "run" || nf.Details["id"] != "r1" {
		t.Errorf("not found: %+v", nf)
	}
	if f := models.Forbidden("%s may not", "x"); f.Code != models.CodeForbidden || f.Error() != "x may not" {
		t.Errorf("forbidden: %+v", f)
	}
}

func TestCodeOfFindsTheNearestCode(t *testing.T) {
	inner := models.NotFound("run", "r")
	outer := models.Forbidden("no").Because(inner)
	for name, c := range map[string]struct {
		err  error
		want models.Code
	}{
		"none":    {nil, ""},
		"foreign": {io.EOF, models.CodeInternal},
		"plain":   {inner, models.CodeNotFound},
		"wrapped": {fmt.Errorf("while: %w", inner), models.CodeNotFound},
		"nearest": {fmt.Errorf("while: %w", outer), models.CodeForbidden},
		"joined":  {errors.Join(io.EOF, inner), models.CodeNotFound},
	} {
		if got := models.CodeOf(c.err); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if c.err != nil && !models.IsCode(c.err, c.want) || models.IsCode(c.err, models.CodeLedgerBusy) {
			t.Errorf("%s: IsCode disagrees", name)
		}
	}
	if models.IsCode(nil, "") {
		t.Error("no error has no code")
	}
}

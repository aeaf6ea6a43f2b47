package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"coxswain/models"
)

// exitError ends the process with a code that is not its own, without a word.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// finish reports the error, if any, and chooses the exit code.
func (a *app) finish(ctx context.Context, err error) int {
	if err == nil {
		return int(models.ExitDone)
	}
	if own, ok := errors.AsType[exitError](err); ok {
		return int(own)
	}
	e := asError(ctx, err)
	fmt.Fprintf(a.io.Err, "%s: %s\n", a.called, clean(e.Error()))
	if e.Next != "" {
		fmt.Fprintf(a.io.Err, "next: %s\n", clean(e.Next))
	}
	if a.promised() && !a.wrote {
		if err := a.document(failure(e)); err != nil {
			fmt.Fprintf(a.io.Err, "%s: %s\n", a.called, err)
		}
	}
	return int(e.Code.Exit())
}

// asError finds the typed error in the chain; anything else is INTERNAL, except
// that the end of the process's own context is INTERRUPTED.
func asError(ctx context.Context, err error) *models.Error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return models.Errorf(models.CodeInterrupted, "interrupted")
	}
	if e, ok := errors.AsType[*models.Error](err); ok {
		return helped(e)
	}
	return models.Errorf(models.CodeInternal, "%s", err)
}

// helped adds the list to look into where an entity was not found and nothing
// better is known.
func helped(e *models.Error) *models.Error {
	entity, _ := e.Details["entity"].(string)
	listed := []string{"workspace", "team", "actor", "assignment", "run", "node", "intervention"}
	if e.Code != models.CodeNotFound || e.Next != "" || !slices.Contains(listed, entity) {
		return e
	}
	return e.Hint("cox %s list", entity)
}

func failure(e *models.Error) fields {
	details := e.Details
	if details == nil {
		details = map[string]any{}
	}
	return fields{"ok": false, "error": map[string]any{
		"code": e.Code, "message": e.Error(), "next": e.Next, "details": details,
	}}
}

// promised tells whether stdout owes a document.
func (a *app) promised() bool {
	if a.begun {
		return a.json
	}
	return wantsJSON(a.args, a.env)
}

// wantsJSON looks for --json where the parser or the configuration failed before
// options were resolved.
func wantsJSON(args []string, env func(string) (string, bool)) bool {
	for i, arg := range args {
		switch name := strings.TrimLeft(arg, "-"); {
		case arg == "--":
			return false
		case name == arg:
		case name == "json", name == "json=true", name == "format=json":
			return true
		case name == "format" && slices.Index(args[i+1:], "json") == 0:
			return true
		}
	}
	asked, _ := env("COX_JSON")
	on, err := parseTruth("json", asked)
	format, _ := env("COX_FORMAT")
	return err == nil && on || format == "json"
}

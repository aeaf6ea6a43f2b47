package fake

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"coxswain/models"
)

// staleRetries is how often a change is repeated on a newer revision.
const staleRetries = 3

// work is a worker's turn, the first one and every later one alike: it looks
// where the assignment stands and goes on from there.
func (a *agent) work(ctx context.Context) error {
	d, err := a.detail(ctx, "")
	if err != nil {
		return err
	}
	switch d.Assignment.Status {
	case models.AssignmentClaimed, models.AssignmentRunning:
	default:
		return a.say(ctx, fmt.Sprintf("Assignment %s is %s: there is nothing for me to do.", d.Assignment.ID, d.Assignment.Status))
	}
	behaviour, err := d.behaviour()
	if err != nil {
		return err
	}
	if d.answered() == 0 {
		switch behaviour {
		case behaveAsk:
			return a.ask(ctx, d)
		case behaveLeakCalls, behaveLeakHandoff:
			return a.leak(ctx, d, behaviour)
		}
	}
	if err := a.use(ctx, "heartbeat_run", withRun(d, map[string]any{"summary": "reading the assignment and changing one file"}), nil); err != nil {
		return err
	}
	return a.workAs(ctx, d, behaviour)
}

func (a *agent) workAs(ctx context.Context, d assignmentDetail, behaviour string) error {
	if kind, ok := strings.CutPrefix(behaviour, behaveFail); ok {
		return &failure{kind: kind, message: "the assignment asks the scripted model to fail with " + kind}
	}
	if behaviour == behaveHang || behaviour == behaveHangTold && !a.told() {
		return a.hang(ctx)
	}
	if text, ok := strings.CutPrefix(behaviour, behaveSlow); ok {
		wait, err := time.ParseDuration(text)
		if err != nil {
			return err // behaviour has parsed it before
		}
		if err := a.linger(ctx, wait); err != nil {
			return err
		}
	}
	if line, ok := strings.CutPrefix(behaviour, behaveCommand); ok {
		if err := a.runFirst(ctx, line); err != nil {
			return err
		}
	}
	file, err := a.changeFile(ctx, d)
	if err != nil {
		return err
	}
	left := fmt.Sprintf("I leave assignment %s without a handoff.", d.Assignment.ID)
	if behaviour == behaveNoHandoff || behaviour == behaveNoHandoffOnce && !a.saidBefore(left) ||
		behaviour == behaveNoHandoffTold && d.answered() == 0 {
		return a.say(ctx, left)
	}
	return a.handOff(ctx, d, file)
}

// told tells whether the thread has had a text after its first one.
func (a *agent) told() bool {
	return a.heard || slices.ContainsFunc(a.req.History, func(p Past) bool { return p.Type == itemUser })
}

func (a *agent) saidBefore(text string) bool {
	for _, past := range a.req.History {
		if past.Type == itemAgent && past.Text == text {
			return true
		}
	}
	return false
}

// changeFile adds the assignment's line to its file, one more for every fix that
// was asked for, and none twice.
func (a *agent) changeFile(ctx context.Context, d assignmentDetail) (string, error) {
	if err := a.next(ctx); err != nil {
		return "", err
	}
	file, err := a.workFile(d.Assignment.AllowedPaths, d.Assignment.ID)
	if err != nil {
		return "", &toolError{tool: "change a file", code: models.CodeInvalidArgument, message: err.Error()}
	}
	line := fmt.Sprintf("Assignment %s: done by the scripted worker.", d.Assignment.ID)
	if n := d.fixes(); n > 0 {
		line = fmt.Sprintf("Assignment %s: fix %d by the scripted worker.", d.Assignment.ID, n)
	}
	added, err := a.appendLine(file, comment(file, line))
	if added || err != nil {
		if reported := a.item(itemFile, file, err == nil); reported != nil {
			return "", reported
		}
	}
	if err != nil {
		return "", &toolError{tool: "change a file", code: models.CodeForbidden, message: err.Error()}
	}
	return file, a.responded()
}

// handOff submits the work on the revision it has just read.
func (a *agent) handOff(ctx context.Context, d assignmentDetail, file string) error {
	err := a.onRevision(ctx, "", func(d assignmentDetail) error {
		return a.use(ctx, "submit_handoff", map[string]any{
			"base_revision": d.Assignment.Revision,
			"payload": map[string]any{
				"summary": fmt.Sprintf("Scripted work on %q: %s is changed.", d.Assignment.Title, file),
				"files":   []string{file},
			},
		}, nil)
	})
	if err != nil {
		return err
	}
	return a.say(ctx, fmt.Sprintf("Assignment %s is handed off.", d.Assignment.ID))
}

// ask puts a question to a person, unless one is still open.
func (a *agent) ask(ctx context.Context, d assignmentDetail) error {
	if d.asked() > 0 {
		return a.say(ctx, "My question is still open.")
	}
	if err := a.use(ctx, "request_intervention", withRun(d, map[string]any{
		"prompt":            fmt.Sprintf("May the scripted worker go on with assignment %s?", d.Assignment.ID),
		"intervention_kind": "question",
	}), nil); err != nil {
		return err
	}
	return a.say(ctx, "I asked a person and wait for the answer.")
}

// leakedText looks like a password to the ledger.
const leakedText = "the staging password" + "=fake-agent-leak-4711"

// leak puts what looks like a secret into calls, which the ledger has to refuse,
// and ends the turn.
func (a *agent) leak(ctx context.Context, d assignmentDetail, behaviour string) error {
	name, args, times := "heartbeat_run", withRun(d, map[string]any{"summary": leakedText}), 3
	if behaviour == behaveLeakHandoff {
		name, times = "submit_handoff", 1
		args = map[string]any{"base_revision": d.Assignment.Revision, "payload": map[string]any{"summary": leakedText}}
	}
	for range times {
		err := a.use(ctx, name, args, nil)
		if err != nil && !isRefusal(err) {
			return err
		}
		if err == nil {
			return a.say(ctx, "The ledger took what looks like a secret.")
		}
	}
	return a.say(ctx, "The ledger refuses what I want to tell it.")
}

// runFirst runs a shell command as a response of its own.
func (a *agent) runFirst(ctx context.Context, line string) error {
	if err := a.next(ctx); err != nil {
		return err
	}
	if err := a.command(ctx, line); err != nil {
		return err
	}
	return a.responded()
}

// withRun names the run where the assignment tells it.
func withRun(d assignmentDetail, args map[string]any) map[string]any {
	if d.Assignment.ActiveRunID != "" {
		args["run_id"] = d.Assignment.ActiveRunID
	}
	return args
}

// detail reads an assignment, the bound one for "".
func (a *agent) detail(ctx context.Context, assignmentID string) (assignmentDetail, error) {
	args := map[string]any{}
	if assignmentID != "" {
		args["assignment_id"] = assignmentID
	}
	var d assignmentDetail
	err := a.use(ctx, "get_assignment_detail", args, &d)
	return d, err
}

// onRevision reads an assignment and changes it, again when somebody else was
// faster.
func (a *agent) onRevision(ctx context.Context, assignmentID string, change func(assignmentDetail) error) error {
	for retry := 0; ; retry++ {
		d, err := a.detail(ctx, assignmentID)
		if err != nil {
			return err
		}
		if err := change(d); !isCode(err, models.CodeStaleRevision) || retry == staleRetries {
			return err
		}
	}
}

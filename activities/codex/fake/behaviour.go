package fake

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"coxswain/models"
)

// The behaviours that an assignment may ask of the scripted agents in its
// metadata, as {"fake": {"behaviour": "ask"}}. Without one they do their work.
// Those of the worker:
const (
	behaveNoHandoff     = "no_handoff"      // works, and never hands off
	behaveNoHandoffOnce = "no_handoff_once" // hands off in its second turn
	behaveNoHandoffTold = "no_handoff_told" // hands off only after a person answered
	behaveHang          = "hang"            // never ends its turn
	behaveHangTold      = "hang_told"       // hangs until a newer message reaches its thread, then works
	behaveFail          = "fail:"           // and an error kind: the model fails, "fail:rate_limit"
	behaveAsk           = "ask"             // asks a person once and works after the answer
	behaveSlow          = "slow:"           // and a duration: works that long, "slow:5s"
	behaveCommand       = "command:"        // and a shell command line that it runs first, "command:make"
	behaveLeakCalls     = "leak_calls"      // puts a secret into three calls, and works after the answer
	behaveLeakHandoff   = "leak_handoff"    // puts a secret into its handoff, and works after the answer
)

// Those of the integrator:
const (
	behaveNeedsFixOnce = "needs_fix_once" // asks for a fix the first time
	behaveReject       = "reject"         // rejects
	behaveIgnore       = "ignore"         // decides nothing
	behaveIgnoreTold   = "ignore_told"    // decides nothing until a person answered, then accepts
	behaveReviewerAsks = "reviewer_asks"  // asks a person about the handoff, and accepts after the answer
	behaveFollowUp     = "follow_up"      // creates a further assignment, ID-more, and accepts
	behaveReplace      = "replace"        // creates another assignment, ID-again, and supersedes by it
)

// behaviours are those without a parameter.
func behaviours() []string {
	return []string{
		behaveNoHandoff, behaveNoHandoffOnce, behaveNoHandoffTold, behaveHang, behaveHangTold, behaveAsk, behaveLeakCalls, behaveLeakHandoff,
		behaveNeedsFixOnce, behaveReject, behaveIgnore, behaveIgnoreTold, behaveReviewerAsks, behaveFollowUp, behaveReplace,
	}
}

// assignmentDetail is what the agents read of get_assignment_detail.
type assignmentDetail struct {
	Assignment models.Assignment `json:"assignment"`
	Events     []models.Event    `json:"events"`
}

// behaviour returns what the assignment asks for, "" for nothing special. A
// request that no agent knows is an error, so that a misspelt one is seen.
func (d assignmentDetail) behaviour() (string, error) {
	options, _ := d.Assignment.Metadata["fake"].(map[string]any)
	text, _ := options["behaviour"].(string)
	if text == "" || slices.Contains(behaviours(), text) || strings.HasPrefix(text, behaveCommand) {
		return text, nil
	}
	if kind, ok := strings.CutPrefix(text, behaveFail); ok && (kind == "other" || errorKind(kind) != "other") {
		return text, nil
	}
	if wait, ok := strings.CutPrefix(text, behaveSlow); ok {
		if _, err := time.ParseDuration(wait); err == nil {
			return text, nil
		}
	}
	return "", &failure{kind: "other", message: fmt.Sprintf(
		"metadata.fake.behaviour: %q is none of %s, %s<error kind>, %s<duration>, %s<shell command>", text, strings.Join(behaviours(), ", "), behaveFail, behaveSlow, behaveCommand)}
}

// fixes counts how often a fix was asked for.
func (d assignmentDetail) fixes() int {
	return d.count(func(e models.Event) bool {
		return e.Type == models.EventIntegratorReview && e.Status == models.EventNeedsFix
	})
}

// asked and answered count the questions to people and their answers.
func (d assignmentDetail) asked() int {
	return d.count(func(e models.Event) bool { return e.Type == models.EventInterventionRequested })
}

func (d assignmentDetail) answered() int {
	return d.count(func(e models.Event) bool { return e.Type == models.EventInterventionResponded })
}

func (d assignmentDetail) count(fits func(models.Event) bool) int {
	n := 0
	for _, e := range d.Events {
		if fits(e) {
			n++
		}
	}
	return n
}

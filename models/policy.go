package models

import (
	"slices"
	"time"
)

// Ruling is what a policy says to a request.
type Ruling string

// The rulings. A request that is refused is answered by an error.
const (
	RulingAccept  Ruling = "accept"
	RulingDecline Ruling = "decline"
	RulingAsk     Ruling = "ask"
	RulingRefuse  Ruling = "refuse"
)

// PolicyRow says what happens to the requests of one class: ask or decline.
type PolicyRow struct {
	Class  RiskClass `json:"class"`
	Ruling Ruling    `json:"ruling"`
}

// AcceptRow is one command that is accepted without asking: these words, exactly.
type AcceptRow struct {
	Argv []string `json:"argv"`
	CWD  string   `json:"cwd,omitempty"` // an absolute folder; "" is any
}

// DefaultWait is how long a request waits for a person before it is declined.
const DefaultWait = 12 * time.Hour

// Policy decides the requests of agents' hosts. The zero value asks nobody and
// accepts nothing.
type Policy struct {
	Rows   []PolicyRow   `json:"rows"`   // classes without a row have their default
	Accept []AcceptRow   `json:"accept"` // compared word by word
	Wait   time.Duration `json:"wait"`   // for a person; 0 is DefaultWait
}

// CoordinationServer is the MCP server whose tools every thread may call.
const CoordinationServer = "cox"

// Ruled is a ruling with what it rests on.
type Ruled struct {
	Ruling  Ruling      `json:"ruling"`
	Class   RiskClass   `json:"class"`   // the riskiest
	Classes []RiskClass `json:"classes"` // all that were found, the riskiest first
	Why     string      `json:"why"`
}

// Asks tells whether anything needs a person or can be accepted, so that threads
// have to be started with leave to ask. Without it Codex refuses by itself.
func (p Policy) Asks() bool {
	return len(p.Accept) > 0 || slices.ContainsFunc(p.Rows, func(r PolicyRow) bool { return r.Ruling == RulingAsk })
}

// WaitFor is how long a request waits for a person.
func (p Policy) WaitFor() time.Duration {
	if p.Wait <= 0 {
		return DefaultWait
	}
	return p.Wait
}

// Row is what the policy says of a class: its row, else ask for everything that is
// risky and for questions, and decline for the rest. A policy that asks nobody
// declines all. No row can accept.
func (p Policy) Row(class RiskClass) Ruling {
	if !p.Asks() {
		return RulingDecline
	}
	for _, r := range p.Rows {
		if r.Class == class && (r.Ruling == RulingAsk || r.Ruling == RulingDecline) {
			return r.Ruling
		}
	}
	if class.AlwaysAsks() || class == RiskWidening || class == RiskQuestion {
		return RulingAsk
	}
	return RulingDecline
}

// Decide rules on a request. Tools of the coordination server are accepted, what
// nobody here understands is refused. The classes of high risk and every widening of
// sandbox or network are never accepted, whatever the list says; an ordinary command
// is accepted when its words are exactly those of a row.
func (p Policy) Decide(r ApprovalRequest) Ruled {
	classes := Classify(r)
	out := Ruled{Class: classes[0], Classes: classes}
	switch {
	case r.Kind == RequestTool && r.Server == CoordinationServer && r.Tool != "":
		out.Ruling, out.Why = RulingAccept, "a tool of the coordination server"
	case out.Class == RiskUnknown:
		out.Ruling, out.Why = RulingRefuse, "nobody here can answer this request"
	case out.Class == RiskOrdinary && p.lists(r):
		out.Ruling, out.Why = RulingAccept, "the policy lists exactly this command"
	case !p.Asks():
		out.Ruling, out.Why = RulingDecline, "the policy asks nobody"
	default:
		out.Ruling = p.strictest(classes)
		out.Why = "the policy says " + string(out.Ruling) + " to " + string(out.Class)
	}
	return out
}

// strictest declines when one of the classes is to be declined.
func (p Policy) strictest(classes []RiskClass) Ruling {
	if slices.ContainsFunc(classes, func(c RiskClass) bool { return p.Row(c) == RulingDecline }) {
		return RulingDecline
	}
	return RulingAsk
}

// lists tells whether a row accepts the command of the request.
func (p Policy) lists(r ApprovalRequest) bool {
	return r.Kind == RequestCommand && len(r.Argv) > 0 && slices.ContainsFunc(p.Accept, func(row AcceptRow) bool {
		return slices.Equal(row.Argv, r.Argv) && (row.CWD == "" || row.CWD == r.CWD)
	})
}

// MayAccept tells whether an actor of a role may accept a request of a class. What
// is risky needs a person (seed 000, security and trust boundaries).
func (c RiskClass) MayAccept(role Role) bool {
	return role == RoleHuman || role == RoleIntegrator && c == RiskOrdinary
}

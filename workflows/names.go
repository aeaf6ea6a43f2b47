package workflows

import (
	"strings"

	"go.temporal.io/sdk/temporal"

	"coxswain/models/ledger"
)

// WakeSignal is the only signal; it has no argument.
const WakeSignal = "wake"

// CardQuery returns the card of a workflow as it last read the ledger.
const CardQuery = "card"

// The registered names of the workflows are wire contract.
const (
	LoopName       = "Loop"
	AssignmentName = "Assignment"
	NudgeName      = "Nudge"
	DeliveryName   = "Delivery"
	ClockName      = "Clock"
)

// NameOf is the workflow that serves a kind of wake-up, "" for an unknown kind.
func NameOf(kind string) string {
	switch kind {
	case ledger.WakeLoop:
		return LoopName
	case ledger.WakeAssignment:
		return AssignmentName
	case ledger.WakeNudge:
		return NudgeName
	case ledger.WakeDelivery:
		return DeliveryName
	case ledger.WakeClock:
		return ClockName
	}
	return ""
}

// ID is the id on the server of a workflow of the ledger: queues and ids begin
// with the first eight hex of the ledger's instance, so that two ledgers can
// share a server.
func ID(prefix, workflowID string) string { return prefix + ":" + workflowID }

// ControlQueue is the queue of workflows and ledger calls.
func ControlQueue(prefix string) string { return prefix + "-control" }

// NodeQueue is the queue of a node's effects.
func NodeQueue(controlQueue, nodeID string) string {
	return strings.TrimSuffix(controlQueue, "-control") + "-node-" + nodeID
}

// The search attributes of every workflow, all keywords.
var (
	AttrWorkspace  = temporal.NewSearchAttributeKeyKeyword("CoxWorkspace")
	AttrTeam       = temporal.NewSearchAttributeKeyKeyword("CoxTeam")
	AttrAssignment = temporal.NewSearchAttributeKeyKeyword("CoxAssignment")
	AttrActor      = temporal.NewSearchAttributeKeyKeyword("CoxActor")
	AttrStatus     = temporal.NewSearchAttributeKeyKeyword("CoxStatus")
)

// AttributeNames are the search attributes that a namespace needs.
func AttributeNames() []string {
	return []string{AttrWorkspace.GetName(), AttrTeam.GetName(), AttrAssignment.GetName(), AttrActor.GetName(), AttrStatus.GetName()}
}

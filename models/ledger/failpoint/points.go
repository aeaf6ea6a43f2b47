package failpoint

// Point names a place in the code.
type Point string

// Arrow is a step of an assignment's life, or of the machinery that carries it, at
// which a crash leaves something of its own behind (design, sections 1, 5 and 6).
type Arrow string

// The arrows, in the order of a life.
const (
	ArrowAdopt     Arrow = "adopt"     // a worker starts: incarnation raised, threads attached again
	ArrowPlan      Arrow = "plan"      // ready → command, run, task and binding written
	ArrowWake      Arrow = "wake"      // wake-up sent → read by its workflow
	ArrowThread    Arrow = "thread"    // thread started → its id recorded
	ArrowClaim     Arrow = "claim"     // thread → claimed, prompt queued
	ArrowTake      Arrow = "take"      // message queued → owned by an attempt to send it
	ArrowSend      Arrow = "send"      // turn/start sent → receipt written
	ArrowStarted   Arrow = "started"   // turn runs → recorded as started
	ArrowEnded     Arrow = "ended"     // turn is over → recorded as ended, run ended
	ArrowHandoff   Arrow = "handoff"   // worker's call → handoff recorded
	ArrowNudge     Arrow = "nudge"     // handoff due → nudge planned, queued, delivered
	ArrowDecision  Arrow = "decision"  // integrator's call → decision recorded
	ArrowQuestion  Arrow = "question"  // agent's call → question recorded
	ArrowResume    Arrow = "resume"    // resume planned → its message queued
	ArrowInterrupt Arrow = "interrupt" // interrupt planned → turn ended, run ended
	ArrowFinish    Arrow = "finish"    // assignment over → its scope looked at
)

// Arrows are all arrows in the order of a life.
func Arrows() []Arrow {
	return []Arrow{
		ArrowAdopt, ArrowPlan, ArrowWake, ArrowThread, ArrowClaim, ArrowTake, ArrowSend, ArrowStarted, ArrowEnded,
		ArrowHandoff, ArrowNudge, ArrowDecision, ArrowQuestion, ArrowResume, ArrowInterrupt, ArrowFinish,
	}
}

// The points, by arrow. The first of an arrow lies before its effect, the last one
// after it.
const (
	NodeStarting    Point = "node_starting"
	NodeStarted     Point = "node_started"
	ThreadAttaching Point = "thread_attaching"
	ThreadAttached  Point = "thread_attached"

	PlanDeciding  Point = "plan_deciding"
	PlanCommitted Point = "plan_committed"

	WakeSending      Point = "wake_sending"
	WakeSent         Point = "wake_sent"
	WakeAcknowledged Point = "wake_acknowledged"

	ThreadBegun    Point = "thread_begun"
	ThreadStarting Point = "thread_starting"
	ThreadStarted  Point = "thread_started"
	ThreadRecorded Point = "thread_recorded"

	ClaimDeciding  Point = "claim_deciding"
	ClaimCommitted Point = "claim_committed"

	MessageTaking Point = "message_taking"
	MessageTaken  Point = "message_taken"

	TurnSending    Point = "turn_sending"
	TurnAnswered   Point = "turn_answered"
	ReceiptSeen    Point = "receipt_seen"
	ReceiptWritten Point = "receipt_written"

	TurnStartSeen    Point = "turn_start_seen"
	TurnStartWritten Point = "turn_start_written"

	TurnEndSeen    Point = "turn_end_seen"
	TurnEndWritten Point = "turn_end_written"

	HandoffReceived  Point = "handoff_received"
	HandoffCommitted Point = "handoff_committed"

	NudgePlanned  Point = "nudge_planned"
	NudgeQueueing Point = "nudge_queueing"
	NudgeQueued   Point = "nudge_queued"

	DecisionReceived  Point = "decision_received"
	DecisionCommitted Point = "decision_committed"

	QuestionReceived  Point = "question_received"
	QuestionCommitted Point = "question_committed"

	ResumeQueueing Point = "resume_queueing"
	ResumeQueued   Point = "resume_queued"

	InterruptBegun    Point = "interrupt_begun"
	InterruptSending  Point = "interrupt_sending"
	InterruptSent     Point = "interrupt_sent"
	InterruptEnded    Point = "interrupt_ended"
	InterruptFinished Point = "interrupt_finished"

	ScopeInspecting Point = "scope_inspecting"
	ScopeRecorded   Point = "scope_recorded"
)

// Place is a row of the table: where a point lies, and the process that passes it.
type Place struct {
	Point   Point
	Arrow   Arrow
	Process Process
}

// Process is a kind of process that passes points.
type Process string

// The processes that pass points; the others are only killed at them.
const (
	Worker Process = "worker"
	MCP    Process = "mcp"
)

// Table lists all points in the order of a life.
func Table() []Place {
	var out []Place
	add := func(a Arrow, p Process, points ...Point) {
		for _, point := range points {
			out = append(out, Place{Point: point, Arrow: a, Process: p})
		}
	}
	add(ArrowAdopt, Worker, NodeStarting, NodeStarted, ThreadAttaching, ThreadAttached)
	add(ArrowPlan, Worker, PlanDeciding, PlanCommitted)
	add(ArrowWake, Worker, WakeSending, WakeSent, WakeAcknowledged)
	add(ArrowThread, Worker, ThreadBegun, ThreadStarting, ThreadStarted, ThreadRecorded)
	add(ArrowClaim, Worker, ClaimDeciding, ClaimCommitted)
	add(ArrowTake, Worker, MessageTaking, MessageTaken)
	add(ArrowSend, Worker, TurnSending, TurnAnswered, ReceiptSeen, ReceiptWritten)
	add(ArrowStarted, Worker, TurnStartSeen, TurnStartWritten)
	add(ArrowEnded, Worker, TurnEndSeen, TurnEndWritten)
	add(ArrowHandoff, MCP, HandoffReceived, HandoffCommitted)
	add(ArrowNudge, Worker, NudgePlanned, NudgeQueueing, NudgeQueued)
	add(ArrowDecision, MCP, DecisionReceived, DecisionCommitted)
	add(ArrowQuestion, MCP, QuestionReceived, QuestionCommitted)
	add(ArrowResume, Worker, ResumeQueueing, ResumeQueued)
	add(ArrowInterrupt, Worker, InterruptBegun, InterruptSending, InterruptSent, InterruptEnded, InterruptFinished)
	add(ArrowFinish, Worker, ScopeInspecting, ScopeRecorded)
	return out
}

// Variable names the socket of the controller. Without it the one in the state
// directory is asked, if there is one: Codex passes little of its environment on to
// the servers that it starts.
const Variable = "COX_FAILPOINTS"

// SocketName is the controller's socket in a state directory.
const SocketName = "failpoints.sock"

package codex

import (
	"context"
	"errors"
	"time"

	"coxswain/models"
)

// Adapter is one host of Codex threads: an app-server connection or the fake.
// A host is opened once per kind and node and shared by activities and the turn
// observer. All methods are safe for concurrent use, honour ctx, and return
// typed errors (see Error). None of them retries an effect by itself.
type Adapter interface {
	// Kind is the adapter kind of records: codex_app_server or fake_codex.
	Kind() string
	// Probe asks what the host can do. It starts no thread and calls no model.
	Probe(ctx context.Context) (Probe, error)
	// StartThread starts an empty thread. An empty thread has no history and
	// vanishes with the host.
	StartThread(ctx context.Context, spec ThreadSpec) (Thread, error)
	// ResumeThread loads a thread with the given configuration and subscribes to
	// its events. The configuration of a loaded thread with a subscriber is not
	// changed; Unsubscribe first where it has to be.
	ResumeThread(ctx context.Context, threadID string, spec ThreadSpec) (Thread, error)
	// ReadThread returns the thread's status without loading it.
	ReadThread(ctx context.Context, threadID string) (Thread, error)
	// ListTurns returns the thread's turns, newest first, at most limit (0: 25).
	// An empty thread has none.
	ListTurns(ctx context.Context, threadID string, limit int) ([]Turn, error)
	// ListTurnItems returns all items of a thread, oldest first, of one turn when
	// turnID is set. An empty thread has none.
	ListTurnItems(ctx context.Context, threadID, turnID string) ([]Item, error)
	// StartTurn sends a text. The id comes back as Item.ClientID of the stored
	// user message; it does not make the call idempotent.
	StartTurn(ctx context.Context, threadID string, in TurnInput) (Turn, error)
	// SteerTurn adds a text to the active turn, refused with ErrTurnMismatch when
	// another turn or none is active. Acceptance is not delivery: a text waits for
	// a running command, and for a model that has not begun to answer.
	SteerTurn(ctx context.Context, threadID, expectedTurnID string, in TurnInput) error
	// InterruptTurn asks a turn to stop, for a turn that this host started not
	// before it has begun. It is done when the turn reads as ended.
	// ErrTurnMismatch: another turn or none is active, or it has not begun in time.
	InterruptTurn(ctx context.Context, threadID, turnID string) error
	// Waits tells whether a request waits here for a person: it was shown to this host,
	// has not ended, and no answer was given here.
	Waits(r RequestRef) bool
	// AnswerRequest answers a request that waits here, once; EventRequestResolved proves
	// that the answer was taken. ErrRequestGone where Waits would say no.
	AnswerRequest(ctx context.Context, r RequestRef, a Answer) error
	// ArchiveThread ends a thread and what it runs. Archiving one that is already
	// archived or never existed succeeds.
	ArchiveThread(ctx context.Context, threadID string) error
	// Unsubscribe stops this host's events of a thread, so that the next resume
	// applies its configuration.
	Unsubscribe(ctx context.Context, threadID string) error
	// CleanBackgroundTerminals ends commands that outlived their turn and returns
	// how many are left. A thread that is not loaded has none.
	CleanBackgroundTerminals(ctx context.Context, threadID string) (int, error)
	// LoadedThreads lists the ids of the threads in the host's memory.
	LoadedThreads(ctx context.Context) ([]string, error)
	// StoredThreads lists the ids of the threads, in memory or not, that work in a
	// folder and have a history. Archived ones are left out.
	StoredThreads(ctx context.Context, folder string) ([]string, error)
	// Holds tells whether this host gets the thread's events and the thread has its
	// tools. A thread that another host of the same server loaded is in memory and not
	// held, and so is one whose tool server ended; resume it.
	Holds(threadID string) bool
	// Subscribe delivers the host's events, in order, to fn until the returned
	// function is called. fn must not block; several subscribers may exist. A call
	// of fn that runs at that moment may still finish.
	Subscribe(fn func(Event)) (cancel func())
	// Done is closed when the host is gone; Err then says why (nil after Close).
	Done() <-chan struct{}
	// Err returns why the host ended, after Done is closed.
	Err() error
	// Close ends the host and, on stdio, every process it started; on unix the
	// server and its turns go on.
	Close() error
}

// Probe is what a host says of itself.
type Probe struct {
	Version       string          // such as "0.171.0"
	Transport     string          // stdio, unix or process
	Fallback      string          // why it is not the one that is usual, "" where it is
	Capabilities  map[string]bool // the names of models.RequiredCapabilities and more
	SandboxProved bool            // the permission profile was seen to hold
	SandboxDetail string          // what was tried, or what is open
	ProofKey      string          // the version and profile that the proof holds for; "" without one
}

// TestedVersion is the Codex that the adapter is proved with.
const TestedVersion = "0.171.0"

// ThreadSpec is the whole configuration of a thread. Codex remembers none of
// it, so it is passed at every start and resume.
type ThreadSpec struct {
	CWD                   string            // absolute workspace or worktree root
	Model                 string            // "" for the user's own default
	DeveloperInstructions string            // includes the project's AGENTS.md text
	Writable              bool              // false: read-only (integrators)
	AskPerson             bool              // approval policy on-request instead of never
	DenyPaths             []string          // absolute paths the agent may neither read nor write; CWD and TempDir may lie below one
	ProjectConfig         bool              // the project's own .codex folder counts: configuration, hooks, servers, and its AGENTS.md
	TempDir               string            // the one writable temporary folder
	MCP                   MCPServer         // the coordination tools
	Env                   map[string]string // added to the agent's shell environment
}

// MCPServer is the `cox mcp` process of a thread.
type MCPServer struct {
	Name    string // "cox"
	Command string // absolute path
	Args    []string
	Env     map[string]string // carries the binding's token
}

// ThreadStatus is the host's view of a thread.
type ThreadStatus string

// The statuses of a thread.
const (
	ThreadNotLoaded ThreadStatus = "not_loaded"
	ThreadIdle      ThreadStatus = "idle"
	ThreadActive    ThreadStatus = "active"
	ThreadError     ThreadStatus = "error" // the last turn failed; the next one may start
)

// Thread is a Codex conversation.
type Thread struct {
	ID     string
	Status ThreadStatus
	CWD    string
	Asking bool // a request of the active turn waits for an answer: no text may be sent
}

// TurnInput is a text with its client message id.
type TurnInput struct {
	Text            string
	ClientMessageID string
}

// TurnStatus is the host's view of a turn.
type TurnStatus string

// The statuses of a turn.
const (
	TurnInProgress  TurnStatus = "in_progress"
	TurnCompleted   TurnStatus = "completed"
	TurnInterrupted TurnStatus = "interrupted"
	TurnFailed      TurnStatus = "failed"
)

// Turn is one turn of a thread.
type Turn struct {
	ID        string
	Status    TurnStatus
	Error     string // message of a failed turn
	ErrorKind string // rate_limit, usage_limit, server, connection, auth, context, other
	StartedAt time.Time
	EndedAt   time.Time // zero while in progress or unknown
}

// Item is one entry of a thread's history.
type Item struct {
	ID       string
	TurnID   string
	Type     string // the protocol's item type, such as userMessage or commandExecution
	ClientID string // of a userMessage: the client message id
	Text     string // message text or a command line; at most 4 KiB
	Status   string
}

// EventType is what a host reports.
type EventType string

// The events of a host. Notifications that mean nothing to the ledger are not
// delivered, but every other notification of something done in a turn counts as
// EventProgress, at most once per turn and second; retries of the model are an
// EventSign.
const (
	EventTurnStarted   EventType = "turn_started"
	EventItemCompleted EventType = "item_completed"
	EventProgress      EventType = "progress"
	EventSign          EventType = "sign" // the turn lives, but nothing was done in it
	EventTokens        EventType = "tokens"
	EventRateLimits    EventType = "rate_limits"
	EventTurnEnded     EventType = "turn_ended"
	EventThreadClosed  EventType = "thread_closed"
	EventServerRequest EventType = "server_request" // asked: answered by policy, or waiting for a person
	// EventRequestResolved tells that a request that waited does so no more: the answer
	// was taken, or the request ended. A host that dies or loses the turn reports none.
	EventRequestResolved EventType = "request_resolved"
)

// Event is one report of a host.
type Event struct {
	Type     EventType
	ThreadID string // "" for account events
	TurnID   string
	Turn     Turn           // turn_started, turn_ended
	Item     Item           // item_completed
	Tokens   Tokens         // tokens
	Limits   map[string]any // rate_limits, as the host said it
	Request  ServerRequest  // server_request; request_resolved with its ID alone
	At       time.Time
}

// Tokens are the absolute totals of a thread.
type Tokens struct{ Input, Output, Total int64 }

// The answers of requests that nobody waits for.
const (
	AnsweredAccept  = "accepted"
	AnsweredDecline = "declined"        // the turn goes on and the agent is told
	AnsweredRefuse  = "refused_unknown" // an error: nobody here can answer this
	AnsweredDenied  = "denied"          // Codex refused by itself, under the approval policy never
)

// ServerRequest is a question of the host, and how it was answered. One without an
// answer waits for a person.
type ServerRequest struct {
	ID     string // the host's, unique within the turn; "" where no question was put
	Method string
	Answer string // one of those above; "" while it waits
	Detail string // command or tool, at most 500 characters, no arguments of tools
	Class  models.RiskClass
	Why    string                  // what the ruling rests on
	Asked  *models.ApprovalRequest // everything, of one that waits
	Wait   time.Duration           // for a person, of one that waits
}

// RequestRef names a request of a host.
type RequestRef struct{ ThreadID, TurnID, ID string }

// Answer is what a person says to a request.
type Answer struct {
	Verdict models.Verdict
	Words   string // of models.VerdictAnswer
}

// Policy decides the requests of a host. It must return when ctx ends; then the
// request is declined whatever it says. wait is how long one may wait for a person.
type Policy func(ctx context.Context, r models.ApprovalRequest) (ruled models.Ruled, wait time.Duration)

// AskNobody is the policy without a file: tools of the coordination server are
// accepted, commands and file changes declined, and all that is unknown refused.
func AskNobody(_ context.Context, r models.ApprovalRequest) (models.Ruled, time.Duration) {
	p := models.Policy{}
	return p.Decide(r), p.WaitFor()
}

// Error is a failure of a host's method.
type Error struct {
	Kind    ErrorKind
	Message string
	Cause   error
}

// ErrorKind classifies an Error for the caller's next step.
type ErrorKind string

// The kinds of host errors.
const (
	ErrNotFound     ErrorKind = "codex_not_found"  // no executable; nothing happened
	ErrStartup      ErrorKind = "startup_failed"   // ended or refused before it was ready; nothing happened
	ErrClosed       ErrorKind = "host_closed"      // the host is gone; what was asked is unknown
	ErrTimeout      ErrorKind = "response_timeout" // no answer in time; what was asked is unknown
	ErrUnknownID    ErrorKind = "thread_not_found" // no such thread or rollout; nothing happened
	ErrTurnMismatch ErrorKind = "turn_mismatch"    // the expected turn is not active; nothing happened
	ErrBusy         ErrorKind = "thread_in_use"    // another process has the thread; nothing happened
	ErrRefused      ErrorKind = "response_error"   // the host refused; nothing happened
	ErrDraining     ErrorKind = "host_draining"    // the host ends and takes nothing new; nothing happened
	ErrRequestGone  ErrorKind = "request_gone"     // no such request waits here; nothing was answered
)

// Error returns kind, message and cause in one line.
func (e *Error) Error() string {
	s := string(e.Kind) + ": " + e.Message
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// KindOf returns the kind of the nearest Error in the chain, "" for none.
func KindOf(err error) ErrorKind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

// Happened tells what an error leaves open: false when the effect certainly did
// not happen, true when it may have.
func Happened(err error) bool {
	switch KindOf(err) {
	case ErrNotFound, ErrStartup, ErrUnknownID, ErrTurnMismatch, ErrBusy, ErrRefused, ErrDraining, ErrRequestGone:
		return false
	default:
		return true
	}
}

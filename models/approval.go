package models

import "time"

// RequestKind is what an agent's host asks leave for.
type RequestKind string

// The kinds of requests.
const (
	RequestCommand     RequestKind = "command"     // run a command outside the sandbox, or with more rights
	RequestFiles       RequestKind = "file_change" // change files outside the writable folders
	RequestPermissions RequestKind = "permissions" // widen the sandbox for the rest of the turn
	RequestTool        RequestKind = "tool"        // call a tool of an MCP server, or answer what the server asks
	RequestInput       RequestKind = "input"       // questions to a person
	RequestUnknown     RequestKind = "unknown"     // nobody here can answer it
)

// ApprovalRequest is one request of an agent's host, as far as it is understood.
type ApprovalRequest struct {
	Kind     RequestKind `json:"kind"`
	Command  string      `json:"command,omitempty"`  // as the host reports it
	Argv     []string    `json:"argv,omitempty"`     // the words of a plain command without its shell; none where it is not plain
	Commands [][]string  `json:"commands,omitempty"` // every command in it, through shells and pipes
	Doubts   []string    `json:"doubts,omitempty"`   // what of it cannot be read
	// Destroys are the files that its redirections empty.
	Destroys  []string        `json:"destroys,omitempty"`
	CWD       string          `json:"cwd,omitempty"`
	Files     []FileChange    `json:"files,omitempty"`
	Widening  []string        `json:"widening,omitempty"` // what sandbox or network would be opened for, besides running outside it once
	Server    string          `json:"server,omitempty"`   // of a tool
	Tool      string          `json:"tool,omitempty"`
	Questions []InputQuestion `json:"questions,omitempty"`
	Reason    string          `json:"reason,omitempty"` // as the agent gives it
}

// FileChange is one file of a change.
type FileChange struct {
	Path   string `json:"path"`
	Change string `json:"change"` // add, update, delete
	Diff   string `json:"diff,omitempty"`
}

// InputQuestion is one question of an input request.
type InputQuestion struct {
	ID      string   `json:"id"`
	Text    string   `json:"text"`
	Options []string `json:"options,omitempty"`
	Secret  bool     `json:"secret,omitempty"` // the answer would be a secret
}

// The kinds of the interventions that requests open.
const (
	InterventionApproval = "approval_request" // answered by accept or decline
	InterventionInput    = "input_request"    // answered in words
)

// IsRequest tells whether a question is a request of an agent's host.
func (i Intervention) IsRequest() bool {
	return i.Kind == InterventionApproval || i.Kind == InterventionInput
}

// HowToAnswer is the command of cox that answers a question of a kind; the words are
// the person's own.
func HowToAnswer(kind, id string) string {
	if kind == InterventionApproval {
		return "intervention respond --accept " + id + ", or --decline"
	}
	return `intervention respond --response "…" ` + id
}

// ApprovalState is where a request that waits for a person stands.
type ApprovalState string

// The states of an approval. The answer is sent only while the host still shows
// the request as pending; one that is gone is answered by nothing.
const (
	ApprovalOpen     ApprovalState = "open"     // nobody has answered
	ApprovalAnswered ApprovalState = "answered" // decided, not sent yet
	ApprovalSent     ApprovalState = "sent"     // the answer may have reached the host
	ApprovalResolved ApprovalState = "resolved" // the host has taken the answer
	ApprovalGone     ApprovalState = "gone"     // the request ended without the answer
)

// Verdict is the answer to a request.
type Verdict string

// A verdict holds for the one request, never for the session.
const (
	VerdictAccept  Verdict = "accept"
	VerdictDecline Verdict = "decline"
	VerdictAnswer  Verdict = "answer" // words, of an input request
)

// Approval is a request that waits, or waited, for a person. Its id is that of its
// intervention.
type Approval struct {
	ID          string        `json:"intervention_id"`
	RunID       string        `json:"run_id"`
	NodeID      string        `json:"node_id"`
	AdapterKind string        `json:"adapter_kind"`
	ThreadID    string        `json:"thread_id"`
	TurnID      string        `json:"turn_id"`
	RequestID   string        `json:"request_id"` // the host's; unique within the turn
	Kind        RequestKind   `json:"kind"`
	Risk        RiskClass     `json:"risk"`
	State       ApprovalState `json:"state"`
	Verdict     Verdict       `json:"verdict,omitempty"`
	Words       string        `json:"words,omitempty"`                 // of VerdictAnswer
	ExpiresAt   time.Time     `json:"expires_at" gorm:"serializer:ms"` // declined then
	CreatedAt   time.Time     `json:"created_at" gorm:"serializer:ms"` // when it was recorded
	SentAt      *time.Time    `json:"sent_at,omitempty" gorm:"serializer:ms"`
	EndedAt     *time.Time    `json:"ended_at,omitempty" gorm:"serializer:ms"` // when it was resolved or found gone
}

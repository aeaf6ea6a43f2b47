package fake

import "coxswain/activities/codex"

// maxLine is the longest report that a host takes, in bytes.
const maxLine = 1 << 20

// historyItems and historyText bound what a Request tells of the thread's past.
const (
	historyItems = 100
	historyText  = 500
)

// Request is the first line that a host writes to an agent: one turn to play.
// Each further line is a Steer. The end of the input means that the host is
// gone: the agent ends at once and takes what it started along.
type Request struct {
	ThreadID              string            `json:"thread_id"`
	TurnID                string            `json:"turn_id"`
	ClientMessageID       string            `json:"client_message_id"`
	Text                  string            `json:"text"`
	CWD                   string            `json:"cwd"`
	DeveloperInstructions string            `json:"developer_instructions"` // for agents of other makes; RunAgent reads none
	Writable              bool              `json:"writable"`
	DenyPaths             []string          `json:"deny_paths,omitempty"`
	TempDir               string            `json:"temp_dir,omitempty"` // TMPDIR of commands
	Env                   map[string]string `json:"env,omitempty"`      // of commands
	MCP                   Server            `json:"mcp"`
	PaceMS                int64             `json:"pace_ms"`           // wait before each step, in milliseconds
	History               []Past            `json:"history,omitempty"` // the newest items before this turn, oldest first
}

// Server is the coordination server of the thread; without a command there is
// none.
type Server struct {
	Name    string            `json:"name"`
	Command string            `json:"command"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

// Past is an item of an earlier turn, its text cut to 500 bytes.
type Past struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Steer is a text added to the running turn. The agent takes it between two
// steps and then reports it back as ReportUser.
type Steer struct {
	ClientMessageID string `json:"client_message_id"`
	Text            string `json:"text"`
	Verdict         string `json:"verdict,omitempty"` // accept or decline: no text, but the answer to the agent's ReportAsk
}

// ReportType tells what an agent's line is about.
type ReportType string

// The reports of an agent. ReportEnd is the last one; an agent that ends
// without it has failed.
const (
	ReportUser     ReportType = "user"     // a steer was taken: ClientMessageID, Text
	ReportItem     ReportType = "item"     // an item is complete: Item, Text, Status
	ReportResponse ReportType = "response" // a response of the imagined model is over: tokens are counted
	ReportAsk      ReportType = "ask"      // leave is asked to run the command Text: the agent waits for a Steer with the verdict
	ReportProgress ReportType = "progress" // nothing to store, but the agent is at work
	ReportProcess  ReportType = "process"  // a command's group has started or ended: Group, Ended
	ReportEnd      ReportType = "end"      // Status, and Error and ErrorKind of a failed turn
)

// Report is one line of an agent.
type Report struct {
	Type            ReportType `json:"type"`
	Item            string     `json:"item,omitempty"` // the protocol's item type
	Text            string     `json:"text,omitempty"`
	Status          string     `json:"status,omitempty"`
	ClientMessageID string     `json:"client_message_id,omitempty"`
	Group           int        `json:"group,omitempty"` // process group id
	Ended           bool       `json:"ended,omitempty"`
	Error           string     `json:"error,omitempty"`
	ErrorKind       string     `json:"error_kind,omitempty"` // as codex.Turn has it
}

// The protocol's item types that the fake produces, and their statuses.
const (
	itemUser    = "userMessage"
	itemAgent   = "agentMessage"
	itemCommand = "commandExecution"
	itemFile    = "fileChange"
	itemTool    = "mcpToolCall"

	statusCompleted = "completed"
	statusFailed    = "failed"
	statusDeclined  = "declined"
)

// newRequest describes a turn to its agent.
func newRequest(t *turn, spec codex.ThreadSpec, past []itemRecord, opts Options) Request {
	return Request{
		ThreadID: t.thread.id, TurnID: t.id, ClientMessageID: t.message.ClientID, Text: t.text,
		CWD: spec.CWD, DeveloperInstructions: spec.DeveloperInstructions,
		Writable: spec.Writable, DenyPaths: spec.DenyPaths, TempDir: spec.TempDir, Env: spec.Env,
		MCP:    Server(spec.MCP),
		PaceMS: opts.Pace.Milliseconds(), History: summarise(past),
	}
}

func summarise(items []itemRecord) []Past {
	var out []Past
	for _, item := range items[max(0, len(items)-historyItems):] {
		out = append(out, Past{Type: item.Type, Text: cut(item.Text, historyText)})
	}
	return out
}

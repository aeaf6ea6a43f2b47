package models

import "time"

// RunItem is one finished item of a run's turns: a message, a command line, a
// changed file, a tool call. The ledger keeps one short line of each; the whole
// text stays in the Codex thread.
type RunItem struct {
	Sequence  int64     `json:"sequence" gorm:"primaryKey;autoIncrement"`
	RunID     string    `json:"run_id"`
	TurnID    string    `json:"turn_id"`
	ItemID    string    `json:"item_id"`
	Type      string    `json:"type"` // the protocol's item type, such as commandExecution
	Status    string    `json:"status,omitempty"`
	Summary   string    `json:"summary"` // one line of at most MaxItemSummary characters
	CreatedAt time.Time `json:"created_at" gorm:"serializer:ms"`
}

// MaxItemSummary is the longest line kept of an item, in characters.
const MaxItemSummary = 200

// LogKind is what an entry of a run's log is about.
type LogKind string

// The kinds of log entries.
const (
	LogTurn    LogKind = "turn"
	LogItem    LogKind = "item"
	LogMessage LogKind = "message" // a text into the thread, and its receipt
	LogCommand LogKind = "command" // what the planner asked for, and its outcome
	LogBeat    LogKind = "heartbeat"
	LogHandoff LogKind = "handoff"
	LogPerson  LogKind = "person" // questions, answers, words, stops, decisions
	LogRun     LogKind = "run"    // claim, end, staleness and everything else
)

// LogKinds are all kinds, for filters.
func LogKinds() []LogKind {
	return []LogKind{LogTurn, LogItem, LogMessage, LogCommand, LogBeat, LogHandoff, LogPerson, LogRun}
}

// LogEntry is one line of what a run did.
type LogEntry struct {
	ID     string      `json:"id"` // unique in the run's log
	At     time.Time   `json:"at"`
	Kind   LogKind     `json:"kind"`
	Status string      `json:"status,omitempty"`
	TurnID string      `json:"turn_id,omitempty"`
	Text   string      `json:"text"`
	Tokens *TokenUsage `json:"tokens,omitempty"` // of the thread, when a turn ended
}

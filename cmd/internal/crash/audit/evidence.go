package audit

import (
	"time"

	"coxswain/models"
)

// Evidence is what is left of a world after its end.
type Evidence struct {
	Wants         []Want
	Assignments   []models.Assignment
	Runs          []models.Run
	Tasks         []models.Task
	Commands      []models.Command // the journal
	Messages      []models.OutboxItem
	Bindings      []models.Binding
	Turns         []models.Turn
	Events        []models.Event // in their order
	Interventions []models.Intervention
	Unread        []string  // workflows that have not read what was raised for them
	Threads       []Thread  // the threads' own histories, as the adapter reads them
	Requests      []Request // what the model was asked; none on the fake
	Marks         []Mark
	Excusing      []string  // processes whose crash may take an answer of the model along
	Left          []Process // that outlived the world
}

// Want is how an assignment has to end.
type Want struct {
	AssignmentID string
	Status       models.AssignmentStatus
	Claims       int // runs that were claimed
}

// Thread is a history.
type Thread struct {
	ID       string
	Turns    []Turn
	Messages []Message // of the user, in their order
}

// Turn is a turn of a history. Status is the host's word: completed, failed,
// interrupted or in_progress.
type Turn struct {
	ID     string
	Status string
}

// Message is a user's message in a history.
type Message struct {
	ID     string // the client message id
	TurnID string
}

// Request is one call of the model.
type Request struct {
	ThreadID string
	Prompt   string // tells one prompt of a thread from another
	Step     int    // results of tools after the prompt
	At       time.Time
}

// Mark is a crash: what was killed, and when.
type Mark struct {
	At     time.Time
	Point  string // "random" for one at no point
	Killed []string
}

// Process is a process that is still there.
type Process struct {
	PID  int
	Args string
}

// Finding is a broken promise.
type Finding struct {
	Code    string `json:"code"`
	Subject string `json:"subject"` // the id that it is about
	Text    string `json:"text"`
}

// The codes of findings.
const (
	SecondThread    = "second_thread"    // a run, or nobody, has a thread too many
	RepeatedMessage = "repeated_message" // a message is more than once in the histories
	UnknownMessage  = "unknown_message"  // a history holds a message that nobody queued
	LostMessage     = "lost_message"     // a receipt without its message
	OpenMessage     = "open_message"     // a message that never arrived
	SurplusRequest  = "surplus_request"  // the model was asked twice and no crash tells why
	RepeatedRun     = "repeated_run"     // more runs than attempts, or than was to be done
	RepeatedCommand = "repeated_command" // the journal holds an effect twice
	LostNudge       = "lost_nudge"       // a handoff whose reminder never came to its thread
	RepeatedNudge   = "repeated_nudge"   // a handoff was reminded of twice in one attempt
	WrongEnd        = "wrong_end"        // an assignment ended otherwise, or not
	OpenEnd         = "open_end"         // something still waits that nothing will move
	TurnDiffers     = "turn_differs"     // ledger and history disagree on a turn
	LateWrite       = "late_write"       // a run wrote after its end
	OrphanProcess   = "orphan_process"   // a process outlived its world
)

// Check returns all findings, in the order of the checks.
func Check(e Evidence) []Finding {
	var out []Finding
	for _, check := range []func(Evidence) []Finding{
		ends, open, runs, journal, threads, messages, turns, nudges, requests, late, orphans,
	} {
		out = append(out, check(e)...)
	}
	return out
}

func finding(code, subject, text string) Finding {
	return Finding{Code: code, Subject: subject, Text: text}
}

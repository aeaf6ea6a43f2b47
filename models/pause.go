package models

import (
	"fmt"
	"time"
)

// PauseKind says how far a pause goes.
type PauseKind string

// The kinds of a pause. A paused loop starts nothing new, and live work goes on; a
// stopped team is silent besides: no review is nudged, no turn of its integrator
// goes on, and its runs wait for a person.
const (
	PauseStarts PauseKind = "paused"
	PauseStop   PauseKind = "stopped"
)

// LoopPause is what a person told a team's loop to hold. It outlives every command
// that turns the loop on; only a person's resume lifts it.
type LoopPause struct {
	Kind   PauseKind `json:"kind"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

// Stopped tells whether the team is to be silent. A nil pause holds nothing.
func (p *LoopPause) Stopped() bool { return p != nil && p.Kind == PauseStop }

// Why is the pause in one line, without who may lift it.
func (p *LoopPause) Why() string {
	text := fmt.Sprintf("%s by %s since %s", p.Kind, p.By, p.At.UTC().Format("2006-01-02 15:04:05Z"))
	if p.Reason != "" {
		text += " (" + p.Reason + ")"
	}
	return text
}

// Next is the command that lifts the pause of a team.
func (p *LoopPause) Next(teamID string) string {
	if p.Stopped() {
		return "cox resume --team " + teamID
	}
	return "cox loop resume --team " + teamID
}

package models

import (
	"fmt"
	"slices"
	"time"
)

// AlertKind is a kind of condition that people are told about.
type AlertKind string

// The kinds of alerts.
const (
	AlertNeedsYou AlertKind = "needs_you" // something waits for a person
	AlertAllDone  AlertKind = "all_done"  // all work of a team has ended
	AlertLimitHit AlertKind = "limit_hit" // the account's usage limit holds work back
	AlertParked   AlertKind = "parked"    // work gave up after failures and waits for a person
)

// AlertKinds are all kinds, in the order in which they are told.
func AlertKinds() []AlertKind {
	return []AlertKind{AlertNeedsYou, AlertAllDone, AlertLimitHit, AlertParked}
}

// Recovers tells whether the end of the condition is told too.
func (k AlertKind) Recovers() bool { return k != AlertAllDone }

// Alert is one condition from its rise to its end. However often it is looked at in
// between, it is one alert.
type Alert struct {
	ID        string     `json:"alert_id"`
	NodeID    string     `json:"node_id"`
	Kind      AlertKind  `json:"kind"`
	Subject   string     `json:"subject"` // what it is about: an inbox entry, a team, an assignment
	Summary   string     `json:"summary"`
	RaisedAt  time.Time  `json:"raised_at" gorm:"serializer:ms"`
	ClearedAt *time.Time `json:"cleared_at,omitempty" gorm:"serializer:ms"`
}

// AlertFact is a condition that holds now.
type AlertFact struct {
	Kind    AlertKind
	Subject string
	Summary string
}

// Latch compares the alerts that are up with what holds now: what rises, and what
// ends. The order is that of the arguments.
func Latch(up []Alert, now []AlertFact) (rise []AlertFact, end []Alert) {
	for _, f := range now {
		if !slices.ContainsFunc(up, func(a Alert) bool { return a.Kind == f.Kind && a.Subject == f.Subject }) {
			rise = append(rise, f)
		}
	}
	for _, a := range up {
		if !slices.ContainsFunc(now, func(f AlertFact) bool { return a.Kind == f.Kind && a.Subject == f.Subject }) {
			end = append(end, a)
		}
	}
	return rise, end
}

// The changes of a notice.
const (
	NoticeRaised  = "raised"
	NoticeCleared = "cleared"
)

// Notice is one thing to tell by the notify command: all alerts of a kind that rose
// together, or the end of the last one. Its id stays the same when it has to be told
// again after a crash.
type Notice struct {
	ID        string         `json:"notice_id"`
	NodeID    string         `json:"node_id"`
	Kind      AlertKind      `json:"kind"`
	Change    string         `json:"change"` // raised | cleared
	Payload   map[string]any `json:"payload" gorm:"serializer:json"`
	State     string         `json:"state"` // pending | running | done | failed
	Attempts  int            `json:"attempts"`
	Error     string         `json:"error,omitempty"`
	CreatedAt time.Time      `json:"created_at" gorm:"serializer:ms"`
	EndedAt   *time.Time     `json:"ended_at,omitempty" gorm:"serializer:ms"`
}

// NoticeSummary is a notice in one sentence.
func NoticeSummary(kind AlertKind, change string, summaries []string) string {
	if change == NoticeCleared {
		return map[AlertKind]string{
			AlertNeedsYou: "nothing needs you any more", AlertLimitHit: "the usage limit is over", AlertParked: "nothing is parked any more",
		}[kind]
	}
	text := summaries[0]
	if n := len(summaries) - 1; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	return text
}

package models

import (
	"math"
	"slices"
	"strings"
	"time"
)

// MaxFreshnessWindow is the age up to which a brief that later events have passed
// is still fresh. A team may shorten it, never lengthen it.
const MaxFreshnessWindow = 30 * time.Minute

// The freshness of a run's brief.
const (
	BriefFresh   = "fresh"
	BriefStale   = "stale"
	BriefMissing = "missing" // the run has no brief yet
)

// HumanBrief is the newest brief of a run and how far it can be trusted.
type HumanBrief struct {
	RunID                  string         `json:"run_id"`
	AssignmentID           string         `json:"assignment_id"`
	Brief                  map[string]any `json:"brief"` // nil until the first checkpoint
	ClientUpdateID         string         `json:"client_update_id"`
	SourceEventSequence    int64          `json:"source_event_sequence"` // the last event that the brief takes into account
	LatestEventSequence    int64          `json:"latest_event_sequence"` // of the run, briefs left out
	UpdatedAt              *time.Time     `json:"updated_at"`
	Freshness              string         `json:"freshness"`
	FreshnessWindowMinutes int            `json:"freshness_window_minutes"`
}

// Judge fills in the freshness: a brief is stale when the run went on after the
// brief's source and the brief is older than the window. A brief exactly as old
// as the window is fresh.
func (b *HumanBrief) Judge(now time.Time, window time.Duration) {
	b.FreshnessWindowMinutes = int(window / time.Minute)
	switch {
	case b.UpdatedAt == nil:
		b.Freshness = BriefMissing
	case b.LatestEventSequence > b.SourceEventSequence && now.Sub(*b.UpdatedAt) > window:
		b.Freshness = BriefStale
	default:
		b.Freshness = BriefFresh
	}
}

// FreshnessWindow reads freshness_window_minutes of a team's settings. Anything
// but a whole number above 0 counts as not set.
func FreshnessWindow(settings map[string]any) time.Duration {
	return min(minutes(settings, "freshness_window_minutes", MaxFreshnessWindow), MaxFreshnessWindow)
}

// minutes reads a setting in whole minutes, as decoded from JSON.
func minutes(settings map[string]any, key string, usual time.Duration) time.Duration {
	n, ok := wholeNumber(settings[key])
	if !ok || n < 1 {
		return usual
	}
	return time.Duration(n) * time.Minute
}

// wholeNumber reads a whole number as JSON decodes it. Numbers too large for a
// duration in minutes are none.
func wholeNumber(v any) (int64, bool) {
	f, ok := v.(float64)
	if !ok || f != math.Trunc(f) || math.Abs(f) > 1e9 {
		return 0, false
	}
	return int64(f), true
}

// BriefStages are the words that a brief may use for its stage.
func BriefStages() []string {
	return []string{"investigating", "implementing", "verifying", "waiting", "handing_off", "completed"}
}

// CheckBrief refuses a brief, as decoded from JSON, that lacks a field or has one
// of another kind (comem, section 1). Further fields are allowed. Errors:
// INVALID_ARGUMENT naming the field.
func CheckBrief(brief map[string]any) error {
	checks := []struct {
		field string
		bad   func(any) string
	}{
		{"schema_version", notVersionOne},
		{"current_goal", notText},
		{"current_stage", notStage},
		{"recent_progress", notTexts},
		{"decisions_and_risks", notObjects},
		{"human_intervention", notIntervention},
		{"next_steps", notSteps},
		{"context_refs", notList},
	}
	for _, c := range checks {
		value, given := brief[c.field]
		if !given {
			return Invalid("brief."+c.field, "is required")
		}
		if why := c.bad(value); why != "" {
			return Invalid("brief."+c.field, "%s", why)
		}
	}
	return nil
}

func notVersionOne(v any) string {
	if n, ok := wholeNumber(v); !ok || n != 1 {
		return "must be the number 1"
	}
	return ""
}

func notText(v any) string {
	if text, ok := v.(string); !ok || strings.TrimSpace(text) == "" {
		return "must be a text that is not blank"
	}
	return ""
}

func notStage(v any) string {
	if text, ok := v.(string); !ok || !slices.Contains(BriefStages(), text) {
		return "must be one of " + strings.Join(BriefStages(), ", ")
	}
	return ""
}

func notTexts(v any) string {
	list, ok := v.([]any)
	if !ok || slices.ContainsFunc(list, func(e any) bool { _, text := e.(string); return !text }) {
		return "must be a list of texts"
	}
	return ""
}

func notObjects(v any) string {
	list, ok := v.([]any)
	if !ok || slices.ContainsFunc(list, func(e any) bool { _, object := e.(map[string]any); return !object }) {
		return "must be a list of objects"
	}
	return ""
}

func notSteps(v any) string {
	if list, ok := v.([]any); !ok || len(list) == 0 || notTexts(v) != "" {
		return "must be a list of texts with at least one entry"
	}
	return ""
}

func notList(v any) string {
	if _, ok := v.([]any); !ok {
		return "must be a list"
	}
	return ""
}

func notIntervention(v any) string {
	object, _ := v.(map[string]any)
	for _, field := range []string{"needed", "blocking"} {
		if _, ok := object[field].(bool); !ok {
			return "must be an object in which needed and blocking are true or false"
		}
	}
	return ""
}

package models

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// goodBrief is a brief with every required field, as decoded from JSON.
func goodBrief() map[string]any {
	return map[string]any{
		"schema_version": 1.0, "current_goal": "Search works", "current_stage": "implementing",
		"recent_progress": []any{"the index is built"}, "decisions_and_risks": []any{map[string]any{"decision": "trigrams"}},
		"human_intervention": map[string]any{"needed": false, "blocking": false},
		"next_steps":         []any{"query it"}, "context_refs": []any{},
	}
}

// comem section 1, human brief: the validation table.
func TestBriefValidation(t *testing.T) {
	if err := CheckBrief(goodBrief()); err != nil {
		t.Fatal(err)
	}
	for field, bad := range map[string][]any{
		"schema_version":      {nil, true, "1", 2.0, 1.5, 0.0},
		"current_goal":        {nil, "", " \n", 1.0, []any{"x"}},
		"current_stage":       {nil, "", "dreaming", "Implementing", 1.0},
		"recent_progress":     {nil, "x", map[string]any{}, []any{1.0}, []any{nil}},
		"decisions_and_risks": {nil, "x", []any{"a text"}, []any{[]any{}}, map[string]any{}},
		"human_intervention":  {nil, true, []any{}, map[string]any{}, map[string]any{"needed": true}, map[string]any{"needed": "yes", "blocking": false}, map[string]any{"needed": 1.0, "blocking": 0.0}},
		"next_steps":          {nil, "x", []any{}, []any{map[string]any{}}},
		"context_refs":        {nil, "docs/x.md", map[string]any{}},
	} {
		missing := goodBrief()
		delete(missing, field)
		wantField(t, missing, field)
		for _, value := range bad {
			brief := goodBrief()
			brief[field] = value
			wantField(t, brief, field)
		}
	}
}

func wantField(t *testing.T, brief map[string]any, field string) {
	t.Helper()
	err := CheckBrief(brief)
	if !IsCode(err, CodeInvalidArgument) || !strings.HasPrefix(err.Error(), "brief."+field+":") {
		t.Errorf("%s = %#v gives %v", field, brief[field], err)
	}
}

func TestBriefsMayHaveMore(t *testing.T) {
	for _, stage := range BriefStages() {
		brief := goodBrief()
		brief["current_stage"], brief["mood"], brief["recent_progress"], brief["decisions_and_risks"] = stage, "good", []any{}, []any{}
		brief["human_intervention"] = map[string]any{"needed": true, "blocking": true, "why": "money"}
		brief["context_refs"] = []any{"docs/a.md", map[string]any{"path": "docs/b.md"}}
		if err := CheckBrief(brief); err != nil {
			t.Errorf("%s: %v", stage, err)
		}
	}
}

// comem section 3, get_human_brief: a team may shorten the window only.
func TestFreshnessWindowSettings(t *testing.T) {
	for setting, want := range map[string]int{
		`15`: 15, `1`: 1, `30`: 30, `31`: 30, `100000`: 30, `1e300`: 30,
		`0`: 30, `-5`: 30, `true`: 30, `false`: 30, `12.5`: 30, `"15"`: 30, `null`: 30, `[15]`: 30, `{}`: 30,
	} {
		settings := map[string]any{}
		if err := json.Unmarshal([]byte(`{"freshness_window_minutes":`+setting+`}`), &settings); err != nil {
			t.Fatal(err)
		}
		if got := FreshnessWindow(settings); got != time.Duration(want)*time.Minute {
			t.Errorf("%s gives %s, want %d minutes", setting, got, want)
		}
	}
	if FreshnessWindow(nil) != MaxFreshnessWindow {
		t.Error("without settings the window is the longest one")
	}
}

// comem section 3: stale only when the run went on and the brief is older than
// the window; exactly at 30:00 it is fresh.
func TestBriefFreshness(t *testing.T) {
	made := time.Date(2026, 7, 2, 10, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		age    time.Duration
		latest int64
		want   string
	}{
		"just made":                  {0, 8, BriefFresh},
		"at the window":              {30 * time.Minute, 8, BriefFresh},
		"a millisecond past":         {30*time.Minute + time.Millisecond, 8, BriefStale},
		"past it, nothing new":       {48 * time.Hour, 7, BriefFresh},
		"past it, only older events": {48 * time.Hour, 3, BriefFresh},
	} {
		b := HumanBrief{SourceEventSequence: 7, LatestEventSequence: c.latest, UpdatedAt: &made}
		if b.Judge(made.Add(c.age), MaxFreshnessWindow); b.Freshness != c.want || b.FreshnessWindowMinutes != 30 {
			t.Errorf("%s: %s with %d minutes", name, b.Freshness, b.FreshnessWindowMinutes)
		}
	}
	none := HumanBrief{LatestEventSequence: 5}
	if none.Judge(made, 10*time.Minute); none.Freshness != BriefMissing || none.FreshnessWindowMinutes != 10 {
		t.Errorf("without a brief: %+v", none)
	}
}

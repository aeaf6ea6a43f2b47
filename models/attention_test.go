package models

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func goodAttention() Attention {
	return Attention{
		Level: AttentionYellow, Target: TargetHuman, DedupeKey: "api-limit", ReasonCode: "slow", WhyNow: "the limit is near",
		RecommendedAction: "raise the limit", SourceEventIDs: []string{"evt_1"},
	}
}

// comem section 1, attention: the validation table.
func TestAttentionValidation(t *testing.T) {
	if err := goodAttention().Check(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		field  string
		change func(*Attention)
	}{
		"red is for questions": {"level", func(a *Attention) { a.Level = AttentionRed }},
		"unknown level":        {"level", func(a *Attention) { a.Level = "blue" }},
		"no level":             {"level", func(a *Attention) { a.Level = "" }},
		"unknown target":       {"target", func(a *Attention) { a.Target = "everybody" }},
		"no target":            {"target", func(a *Attention) { a.Target = "" }},
		"blank key":            {"dedupe_key", func(a *Attention) { a.DedupeKey = " " }},
		"a question's key":     {"dedupe_key", func(a *Attention) { a.DedupeKey = "intervention:evt_1" }},
		"no reason":            {"reason_code", func(a *Attention) { a.ReasonCode = "" }},
		"no why":               {"why_now", func(a *Attention) { a.WhyNow = "\n" }},
		"no action":            {"recommended_action", func(a *Attention) { a.RecommendedAction = "" }},
	} {
		a := goodAttention()
		c.change(&a)
		if err := a.Check(); !IsCode(err, CodeInvalidArgument) || !strings.HasPrefix(err.Error(), c.field+":") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, target := range AttentionTargets() {
		a := goodAttention()
		a.Target, a.Level, a.Blocking, a.SourceEventIDs = target, AttentionGreen, true, nil
		if err := a.Check(); err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
}

func item(sequence int64, run, key, target string, level AttentionLevel) AttentionItem {
	return AttentionItem{Attention: Attention{Level: level, Target: target, DedupeKey: key}, RunID: run, Sequence: sequence}
}

func TestAttentionIsDedupedAndOrdered(t *testing.T) {
	raised := []AttentionItem{
		item(9, "r1", "intervention:evt_9", TargetHuman, AttentionRed),
		item(1, "r1", "a", TargetHuman, AttentionYellow),
		item(2, "r2", "a", TargetHuman, AttentionYellow), // another run's key is another one
		item(3, "r1", "a", TargetHuman, AttentionGreen),  // replaces 1
		item(4, "r1", "b", TargetHuman, AttentionYellow),
		item(5, "r1", "b", "integrator", AttentionYellow), // takes it away from people
	}
	counts, shown := ArrangeAttention(raised, TargetHuman, false)
	if counts != (AttentionCounts{Red: 1, Yellow: 1, Green: 1}) || !slices.Equal(sequences(shown), []int64{9, 2}) {
		t.Errorf("%+v, %v", counts, sequences(shown))
	}
	if _, shown = ArrangeAttention(raised, TargetHuman, true); !slices.Equal(sequences(shown), []int64{9, 2, 3}) {
		t.Errorf("with green: %v", sequences(shown))
	}
	if counts, shown = ArrangeAttention(raised, "integrator", true); counts.Yellow != 1 || !slices.Equal(sequences(shown), []int64{5}) {
		t.Errorf("for the integrator: %+v, %v", counts, sequences(shown))
	}
	if counts, shown = ArrangeAttention(raised, "nobody", true); counts != (AttentionCounts{}) || shown == nil || len(shown) != 0 {
		t.Errorf("for an unknown target: %+v, %v", counts, shown)
	}
}

func sequences(items []AttentionItem) []int64 {
	out := []int64{}
	for _, i := range items {
		out = append(out, i.Sequence)
	}
	return out
}

// Whatever is raised: one item per run and key, the latest; counts cover what is
// hidden; and the order is by level, then by sequence.
func TestAttentionBoardProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raised := make([]AttentionItem, rapid.IntRange(0, 30).Draw(t, "n"))
		last := map[[2]string]AttentionItem{}
		for i := range raised {
			raised[i] = item(int64(i+1), rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "run"), rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"),
				rapid.SampledFrom(AttentionTargets()).Draw(t, "target"), rapid.SampledFrom([]AttentionLevel{AttentionYellow, AttentionGreen}).Draw(t, "level"))
			last[[2]string{raised[i].RunID, raised[i].DedupeKey}] = raised[i]
		}
		counts, shown := ArrangeAttention(raised, TargetHuman, true)
		if counts.Red+counts.Yellow+counts.Green != len(shown) {
			t.Fatalf("%+v for %d items", counts, len(shown))
		}
		for i, have := range shown {
			if want := last[[2]string{have.RunID, have.DedupeKey}]; want.Sequence != have.Sequence || have.Target != TargetHuman {
				t.Fatalf("%+v is not the last one", have)
			}
			if i > 0 && (shown[i-1].Level.rank() > have.Level.rank() || shown[i-1].Level == have.Level && shown[i-1].Sequence >= have.Sequence) {
				t.Fatalf("%v are out of order", sequences(shown))
			}
		}
	})
}

// comem section 3: what is over or blocked asks for nobody's attention.
func TestAttentionIsHiddenWithItsAssignment(t *testing.T) {
	for _, s := range []AssignmentStatus{
		AssignmentProposed, AssignmentReady, AssignmentClaimed, AssignmentRunning, AssignmentAwaitingHuman, AssignmentAwaitingApproval,
		AssignmentAwaitingReview, AssignmentNeedsFix, AssignmentBlocked, AssignmentAccepted, AssignmentRejected, AssignmentCancelled, AssignmentSuperseded,
	} {
		if slices.Contains(QuietStatuses(), s) != (s.Terminal() || s == AssignmentBlocked) {
			t.Errorf("%s", s)
		}
	}
}

func TestDigestSettings(t *testing.T) {
	usual := DigestOf(nil)
	if usual.IntervalMinutes != 60 || usual.Channel != "product_inbox" || !slices.Equal(usual.GroupBy, []string{"owner", "project", "assignment"}) {
		t.Errorf("%+v", usual)
	}
	if d := DigestOf(map[string]any{"yellow_digest_minutes": 15.0, "attention_channel": " crew "}); d.IntervalMinutes != 15 || d.Channel != "crew" {
		t.Errorf("%+v", d)
	}
	for _, bad := range []any{0.0, -1.0, 1.5, true, "15", nil} {
		if d := DigestOf(map[string]any{"yellow_digest_minutes": bad, "attention_channel": bad}); d.IntervalMinutes != 60 {
			t.Errorf("%#v: %+v", bad, d)
		}
	}
}

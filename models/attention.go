package models

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// AttentionLevel says how urgently somebody should look.
type AttentionLevel string

// Red is never raised by a call: it is an open question of a run, which waits.
const (
	AttentionRed    AttentionLevel = "red"
	AttentionYellow AttentionLevel = "yellow"
	AttentionGreen  AttentionLevel = "green" // hidden unless asked for
)

// TargetHuman is whom open questions are shown to.
const TargetHuman = "human"

// AttentionTargets are those to whom attention can be addressed.
func AttentionTargets() []string {
	return []string{TargetHuman, string(RoleIntegrator), string(RoleAgent)}
}

// questionKey begins the dedupe keys of red items, which no call may use.
const questionKey = "intervention:"

// Attention is what a run wants somebody to look at.
type Attention struct {
	Level             AttentionLevel `json:"level"`
	Target            string         `json:"target"`
	Blocking          bool           `json:"blocking"`
	DedupeKey         string         `json:"dedupe_key"` // a later one of the run with the same key replaces it
	ReasonCode        string         `json:"reason_code"`
	WhyNow            string         `json:"why_now"`
	RecommendedAction string         `json:"recommended_action"`
	SourceEventIDs    []string       `json:"source_event_ids"`
}

// Check refuses attention that nobody could act upon. Errors: INVALID_ARGUMENT
// naming the field.
func (a Attention) Check() error {
	if a.Level == AttentionRed {
		return Invalid("level", "red is kept for open questions").Hint("ask with request_intervention, or raise yellow")
	}
	if a.Level != AttentionYellow && a.Level != AttentionGreen {
		return Invalid("level", "%q must be yellow or green", a.Level)
	}
	if !slices.Contains(AttentionTargets(), a.Target) {
		return Invalid("target", "%q must be one of %s", a.Target, strings.Join(AttentionTargets(), ", "))
	}
	if strings.HasPrefix(a.DedupeKey, questionKey) {
		return Invalid("dedupe_key", "must not begin with %q, which names open questions", questionKey)
	}
	for _, text := range []struct{ field, value string }{
		{"dedupe_key", a.DedupeKey}, {"reason_code", a.ReasonCode}, {"why_now", a.WhyNow}, {"recommended_action", a.RecommendedAction},
	} {
		if strings.TrimSpace(text.value) == "" {
			return Invalid(text.field, "is required")
		}
	}
	return nil
}

// AttentionItem is one line of an attention board.
type AttentionItem struct {
	Attention
	EventID        string         `json:"event_id"`
	Sequence       int64          `json:"sequence"`
	RunID          string         `json:"run_id"`
	OwnerActorID   string         `json:"owner_actor_id"` // who runs the work
	WorkspaceID    string         `json:"workspace_id"`
	AssignmentID   string         `json:"assignment_id"`
	Title          string         `json:"title"` // of the assignment
	DecisionPacket map[string]any `json:"decision_packet,omitempty"`
	CreatedAt      time.Time      `json:"created_at"`
	Settled        bool           `json:"-"` // a person looked at it
}

// RedItem turns an open question into an item of the board.
func RedItem(q Intervention) AttentionItem {
	next := "cox intervention respond " + q.ID
	if q.Kind == InterventionApproval {
		next = "cox " + HowToAnswer(q.Kind, q.ID)
	}
	return AttentionItem{
		Attention: Attention{
			Level: AttentionRed, Target: TargetHuman, Blocking: true, DedupeKey: questionKey + q.ID, ReasonCode: q.Kind,
			WhyNow: q.Prompt, RecommendedAction: next, SourceEventIDs: []string{q.ID},
		},
		EventID: q.ID, RunID: q.RunID, OwnerActorID: q.RequestedBy, WorkspaceID: q.WorkspaceID, AssignmentID: q.AssignmentID,
		DecisionPacket: q.Packet, CreatedAt: q.CreatedAt,
	}
}

// AttentionCounts are the items of a board by level, hidden green ones included.
type AttentionCounts struct {
	Red    int `json:"red"`
	Yellow int `json:"yellow"`
	Green  int `json:"green"`
}

// AttentionDigest says how yellow items are to be gathered for people.
type AttentionDigest struct {
	IntervalMinutes int      `json:"interval_minutes"`
	Channel         string   `json:"channel"`
	GroupBy         []string `json:"group_by"`
}

// The digest of a team whose settings say nothing usable.
const (
	usualDigestInterval = time.Hour
	usualDigestChannel  = "product_inbox"
)

// DigestOf reads yellow_digest_minutes and attention_channel of a team's
// settings.
func DigestOf(settings map[string]any) AttentionDigest {
	channel, _ := settings["attention_channel"].(string)
	if channel = strings.TrimSpace(channel); channel == "" {
		channel = usualDigestChannel
	}
	return AttentionDigest{
		IntervalMinutes: int(minutes(settings, "yellow_digest_minutes", usualDigestInterval) / time.Minute),
		Channel:         channel, GroupBy: []string{"owner", "project", "assignment"},
	}
}

// ArrangeAttention turns everything that was raised, in the order of sequences,
// into what one target sees. Of a run's items with one dedupe key the last
// counts, whomever the earlier ones were for, unless a person has settled it. Red comes first, then yellow, then
// green, each in the order of sequences; green is counted and, unless asked for,
// not shown.
func ArrangeAttention(raised []AttentionItem, target string, green bool) (AttentionCounts, []AttentionItem) {
	type key struct{ run, dedupe string }
	last := map[key]int{}
	for i, item := range raised {
		last[key{item.RunID, item.DedupeKey}] = i
	}
	counts, shown := AttentionCounts{}, []AttentionItem{}
	for i, item := range raised {
		if last[key{item.RunID, item.DedupeKey}] != i || item.Target != target || item.Settled {
			continue
		}
		counts.add(item.Level)
		if item.Level != AttentionGreen || green {
			shown = append(shown, item)
		}
	}
	slices.SortStableFunc(shown, func(a, b AttentionItem) int {
		return cmp.Or(cmp.Compare(a.Level.rank(), b.Level.rank()), cmp.Compare(a.Sequence, b.Sequence))
	})
	return counts, shown
}

func (c *AttentionCounts) add(level AttentionLevel) {
	switch level {
	case AttentionRed:
		c.Red++
	case AttentionYellow:
		c.Yellow++
	case AttentionGreen:
		c.Green++
	}
}

func (l AttentionLevel) rank() int {
	return slices.Index([]AttentionLevel{AttentionRed, AttentionYellow, AttentionGreen}, l)
}

// QuietStatuses are those of assignments of which nothing asks for attention any
// more.
func QuietStatuses() []AssignmentStatus {
	return []AssignmentStatus{AssignmentAccepted, AssignmentRejected, AssignmentCancelled, AssignmentSuperseded, AssignmentBlocked}
}

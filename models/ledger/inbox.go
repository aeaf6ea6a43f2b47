package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"coxswain/models"
)

// InboxFilter narrows the inbox; zero fields do not.
type InboxFilter struct {
	WorkspaceID string
	TeamID      string
}

// Inbox lists everything that needs a person, the oldest first: undecided
// handoffs, open questions, reviews that were ignored, work that is stuck, and what
// runs raised for people (yellow; green is only good to know). A
// handoff that was ignored is one entry, not two.
func (l *Ledger) Inbox(ctx context.Context, f InboxFilter) ([]models.InboxEntry, error) {
	reviews, err := l.PendingReviews(ctx, ReviewFilter{WorkspaceID: f.WorkspaceID, TeamID: f.TeamID})
	if err != nil {
		return nil, err
	}
	questions, err := l.Interventions(ctx, InterventionFilter{WorkspaceID: f.WorkspaceID, TeamID: f.TeamID, Status: interventionOpen})
	if err != nil {
		return nil, err
	}
	out := inboxReviews(reviews, questions)
	out = append(out, inboxQuestions(reviews, questions)...)
	for _, load := range []func(context.Context, InboxFilter) ([]models.InboxEntry, error){l.unasked, l.vainWaits, l.stuckNodes, l.lookedFor, l.keptWorktrees} {
		more, err := load(ctx, f)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	slices.SortStableFunc(out, func(a, b models.InboxEntry) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

func inboxReviews(reviews []models.PendingReview, questions []models.Intervention) []models.InboxEntry {
	out := make([]models.InboxEntry, 0, len(reviews))
	for _, r := range reviews {
		e := models.InboxEntry{
			Kind: models.InboxReview, Reason: models.ReasonHandoff, ID: r.Event.ID, WorkspaceID: r.Event.WorkspaceID, TeamID: r.Event.TeamID,
			AssignmentID: r.Event.AssignmentID, RunID: r.Event.RunID, Summary: r.Title, Since: r.Event.CreatedAt, Review: &r,
		}
		if said, _ := r.Event.Payload["summary"].(string); said != "" {
			e.Summary += ": " + said
		}
		if slices.ContainsFunc(questions, func(q models.Intervention) bool { return ignored(q, r) }) {
			e.Kind, e.Reason = models.InboxEscalation, models.ReasonReviewIgnored
		}
		out = append(out, e)
	}
	return out
}

// ignored tells whether a question says that the handoff was nudged in vain.
func ignored(q models.Intervention, r models.PendingReview) bool {
	return q.Kind == models.ReasonReviewIgnored && q.RunID == r.Event.RunID
}

func inboxQuestions(reviews []models.PendingReview, questions []models.Intervention) []models.InboxEntry {
	var out []models.InboxEntry
	for _, q := range questions {
		if slices.ContainsFunc(reviews, func(r models.PendingReview) bool { return ignored(q, r) }) {
			continue
		}
		out = append(out, models.InboxEntry{
			Kind: models.QuestionKind(q.Kind), Reason: q.Kind, ID: q.ID, WorkspaceID: q.WorkspaceID, TeamID: q.TeamID,
			AssignmentID: q.AssignmentID, RunID: q.RunID, Summary: q.Prompt, Since: q.CreatedAt,
		})
	}
	return out
}

// unasked finds work that waits for a person without an open question, which
// nobody could answer.
func (l *Ledger) unasked(ctx context.Context, f InboxFilter) ([]models.InboxEntry, error) {
	var rows []models.Assignment
	err := where(where(l.read(ctx), "workspace_id", f.WorkspaceID), "team_id", f.TeamID).
		Where(`status IN ('awaiting_human','awaiting_approval')
		  AND NOT EXISTS (SELECT 1 FROM interventions i WHERE i.assignment_id = assignments.id AND i.status = 'open')`).
		Order("updated_at, id").Find(&rows).Error
	var out []models.InboxEntry
	for _, a := range rows {
		out = append(out, models.InboxEntry{
			Kind: models.InboxRecovery, Reason: models.ReasonUnasked, ID: a.ID, WorkspaceID: a.WorkspaceID, TeamID: a.TeamID,
			AssignmentID: a.ID, RunID: a.ActiveRunID, Since: a.UpdatedAt,
			Summary: fmt.Sprintf("%s is %s, and no question about it is open", a.ID, a.Status),
		})
	}
	return out, err
}

// lookedFor finds what runs raised for people and nobody has settled.
func (l *Ledger) lookedFor(ctx context.Context, f InboxFilter) ([]models.InboxEntry, error) {
	var teams []string
	err := where(where(l.read(ctx).Table("events"), "workspace_id", f.WorkspaceID), "team_id", f.TeamID).
		Where("type = 'attention_raised'").Distinct("team_id").Order("team_id").Pluck("team_id", &teams).Error
	var out []models.InboxEntry
	for _, team := range teams {
		raised, err := l.raisedItems(ctx, team)
		if err != nil {
			return nil, err
		}
		_, items := models.ArrangeAttention(raised, models.TargetHuman, false)
		for _, i := range items {
			e := models.InboxEntry{
				Kind: models.InboxAttention, Reason: i.ReasonCode, ID: i.EventID, WorkspaceID: i.WorkspaceID, TeamID: team,
				AssignmentID: i.AssignmentID, RunID: i.RunID, Since: i.CreatedAt, Summary: i.WhyNow + "; " + i.RecommendedAction,
			}
			if i.Blocking {
				e.Summary += " (its work waits for it)"
			}
			out = append(out, e)
		}
	}
	return out, err
}

// vainWaits finds work that waits for work that ended without being accepted.
func (l *Ledger) vainWaits(ctx context.Context, f InboxFilter) ([]models.InboxEntry, error) {
	waiting, err := findBlockers(l.read(ctx), "a.status IN ('ready','needs_fix')")
	if err != nil {
		return nil, err
	}
	var out []models.InboxEntry
	for _, w := range waiting {
		if !w.Status.Terminal() || len(out) > 0 && out[len(out)-1].ID == w.AssignmentID {
			continue // one entry for each, about its first
		}
		a, err := get[models.Assignment](l.read(ctx), "assignment", w.AssignmentID)
		if err != nil {
			return nil, err
		}
		if f.WorkspaceID != "" && f.WorkspaceID != a.WorkspaceID || f.TeamID != "" && f.TeamID != a.TeamID {
			continue
		}
		e := models.InboxEntry{
			Kind: models.InboxRecovery, Reason: models.ReasonVainWait, ID: a.ID, WorkspaceID: a.WorkspaceID, TeamID: a.TeamID,
			AssignmentID: a.ID, DependencyID: w.DependsOn, Since: a.UpdatedAt,
			Summary: fmt.Sprintf("%s waits for %s, which is %s", a.ID, w.ID, w.Status),
		}
		if w.CompletedAt != nil {
			e.Since = later(e.Since, *w.CompletedAt)
		}
		out = append(out, e)
	}
	return out, nil
}

// stuckNodes finds nodes that hold work and are silent, or whose adapter failed.
func (l *Ledger) stuckNodes(ctx context.Context, f InboxFilter) ([]models.InboxEntry, error) {
	nodes, err := l.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	var out []models.InboxEntry
	for _, n := range nodes {
		held, err := l.heldWork(ctx, n.ID, "", f)
		if err != nil {
			return nil, err
		}
		if silent := l.Now().Sub(n.HeartbeatAt); silent > models.NodeSilence {
			if held > 0 {
				out = append(out, models.InboxEntry{
					Kind: models.InboxRecovery, Reason: models.ReasonLostNode, ID: n.ID, NodeID: n.ID, WorkspaceID: f.WorkspaceID, TeamID: f.TeamID, Since: n.HeartbeatAt,
					Summary: fmt.Sprintf("no worker of node %s answers on host %s, and %d of its runs and starts wait", n.ID, n.Name, held),
				})
			}
			continue // what its adapters could do then says nothing about now
		}
		failed, err := l.failedAdapters(ctx, n, f)
		if err != nil {
			return nil, err
		}
		out = append(out, failed...)
	}
	return out, nil
}

func (l *Ledger) failedAdapters(ctx context.Context, n models.Node, f InboxFilter) ([]models.InboxEntry, error) {
	var out []models.InboxEntry
	for _, kind := range []string{models.AdapterKindCodex, models.AdapterKindFake} {
		p, probed := n.Probes[kind]
		if !probed || p.Status == models.StatusActive {
			continue
		}
		held, err := l.heldWork(ctx, n.ID, kind, f)
		if err != nil {
			return nil, err
		}
		if held > 0 {
			out = append(out, models.InboxEntry{
				Kind: models.InboxRecovery, Reason: models.ReasonFailedAdapter, ID: n.ID, NodeID: n.ID, WorkspaceID: f.WorkspaceID, TeamID: f.TeamID, Since: p.ProbedAt,
				Summary: fmt.Sprintf("the adapter %s of node %s cannot be used, and %d runs and starts wait for it: %s", kind, n.ID, held, p.Reason),
			})
		}
	}
	return out, nil
}

// heldWork counts the open runs of a node and the assignments that its loops
// would start, of one adapter when kind is set.
func (l *Ledger) heldWork(ctx context.Context, nodeID, kind string, f InboxFilter) (int, error) {
	var runs int64
	q := where(where(l.read(ctx).Table("runs"), "runs.workspace_id", f.WorkspaceID), "runs.team_id", f.TeamID).
		Joins("JOIN bindings b ON b.id = runs.binding_id").Where("runs.node_id = ? AND runs.ended_at IS NULL", nodeID)
	if err := where(q, "b.adapter_kind", kind).Count(&runs).Error; err != nil {
		return 0, err
	}
	var teams []models.Team
	err := where(where(l.read(ctx), "workspace_id", f.WorkspaceID), "id", f.TeamID).
		Where("status = 'active' AND workspace_id IN (SELECT id FROM workspaces WHERE node_id = ? AND status = 'active')", nodeID).Find(&teams).Error
	if err != nil {
		return 0, err
	}
	var waiting []string
	for _, t := range teams {
		if t.Loop.Enabled && (kind == "" || t.Loop.AdapterKind == kind) {
			waiting = append(waiting, t.ID)
		}
	}
	var starts int64
	if len(waiting) > 0 {
		err = l.read(ctx).Table("assignments").Where("team_id IN ? AND status IN ('ready','needs_fix')", waiting).Count(&starts).Error
	}
	return int(runs + starts), err
}

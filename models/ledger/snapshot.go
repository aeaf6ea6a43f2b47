package ledger

import (
	"context"
	"fmt"
	"time"

	"coxswain/models"
)

// SnapshotFilter narrows a snapshot; zero fields do not.
type SnapshotFilter struct {
	WorkspaceID string
	TeamID      string
}

// Snapshot reads what is accepted and what waits for a decision or an answer. It
// may be taken by everybody who reads the ledger. Errors: NOT_FOUND for a
// workspace or team of the filter.
func (l *Ledger) Snapshot(ctx context.Context, f SnapshotFilter) (models.Snapshot, error) {
	s := models.Snapshot{
		SchemaVersion: models.SnapshotSchema, LedgerVersion: fmt.Sprintf("coxswain-ledger.v%d", SchemaVersion),
		GeneratedAt: new(l.Now()), SingleWriterRules: models.SingleWriterRules(),
		ActiveAssignments: map[string]models.AcceptedAssignment{}, AcceptedEvents: []models.AcceptedEvent{},
	}
	steps := []func() error{
		func() error { return l.knownPlace(ctx, f) },
		func() error { return l.acceptedInto(ctx, f, &s) }, // before the teams, which it names
		func() error {
			return where(where(l.read(ctx).Table("teams"), "workspace_id", f.WorkspaceID), "id", f.TeamID).Order("id").Find(&s.Teams).Error
		},
		func() (err error) { s.Workspaces, err = l.snapshotWorkspaces(ctx, f); return err },
		func() (err error) { s.OpenGovernance, err = l.openGovernance(ctx, f); return err },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return s, err
		}
	}
	return s, nil
}

// Projection is the snapshot of one workspace as it may be written into that
// workspace's repository: it changes only when something is accepted or set up.
// Integrators and people export. Errors: FORBIDDEN, NOT_FOUND.
func (l *Ledger) Projection(ctx context.Context, by models.Principal, workspaceID string) (models.Snapshot, models.Workspace, error) {
	var none models.Snapshot
	by, err := recognise(l.read(ctx), by)
	if err != nil {
		return none, models.Workspace{}, err
	}
	if by.Role != models.RoleIntegrator && by.Role != models.RoleHuman {
		return none, models.Workspace{}, models.Forbidden("export projection: role %q may not do this; it needs integrator or human", by.Role).
			With("role", string(by.Role)).With("actor_id", by.ActorID)
	}
	if by.BindingID != "" {
		return none, models.Workspace{}, models.Forbidden("export projection: a thread bound to work may not do this").Hint("ask a person")
	}
	w, err := l.Workspace(ctx, workspaceID)
	if err != nil {
		return none, w, err
	}
	if err := w.InUse(); err != nil {
		return none, w, err
	}
	if w.RepoRoot == "" {
		return none, w, models.Invalid("workspace_id", "workspace %q has no repository", w.ID).Hint("cox workspace add --help; it registers its folder")
	}
	s, err := l.Snapshot(ctx, SnapshotFilter{WorkspaceID: w.ID})
	return s.Projection(), w, err
}

func (l *Ledger) knownPlace(ctx context.Context, f SnapshotFilter) error {
	if f.WorkspaceID != "" {
		if _, err := l.Workspace(ctx, f.WorkspaceID); err != nil {
			return err
		}
	}
	if f.TeamID == "" {
		return nil
	}
	_, err := l.Team(ctx, f.TeamID)
	return err
}

func (l *Ledger) snapshotWorkspaces(ctx context.Context, f SnapshotFilter) ([]models.SnapshotWorkspace, error) {
	out := []models.SnapshotWorkspace{}
	q := where(l.read(ctx).Table("workspaces"), "id", f.WorkspaceID)
	if f.TeamID != "" {
		q = q.Where("id = (SELECT workspace_id FROM teams WHERE id = ?)", f.TeamID)
	}
	return out, q.Order("id").Find(&out).Error
}

// acceptance is one row of the query about everything that was accepted.
type acceptance struct {
	Sequence                                               int64
	DecisionID, HandoffID, AcceptedBy                      string
	AcceptedAt                                             time.Time      `gorm:"serializer:ms"`
	Decision, Payload                                      map[string]any `gorm:"serializer:json"`
	AssignmentID, WorkspaceID, TeamID, Title, RunID, Actor string
	Revision                                               int
	HeadCommit                                             string
}

// acceptedInto reads everything that was accepted in one statement, so that
// nothing is half in it.
func (l *Ledger) acceptedInto(ctx context.Context, f SnapshotFilter, s *models.Snapshot) error {
	var rows []acceptance
	q := l.read(ctx).Table("events AS d").
		Select(`d.sequence, d.id AS decision_id, h.id AS handoff_id, d.actor_id AS accepted_by, d.created_at AS accepted_at, d.payload AS decision,
		  h.payload, a.id AS assignment_id, a.workspace_id, a.team_id, a.title, a.revision, r.id AS run_id, r.actor_id AS actor, r.head_commit`).
		Joins("JOIN events h ON h.id = d.reviewed_event_id").
		Joins("JOIN assignments a ON a.id = d.assignment_id AND a.status = 'accepted'").
		Joins("JOIN runs r ON r.id = h.run_id").
		Where("d.type = 'integrator_review' AND d.status = 'integrator_accepted'")
	q = where(where(q, "a.workspace_id", f.WorkspaceID), "a.team_id", f.TeamID)
	if err := q.Order("d.sequence").Scan(&rows).Error; err != nil {
		return err
	}
	for _, r := range rows {
		s.AcceptedThrough = r.Sequence
		s.AcceptedEvents = append(s.AcceptedEvents, r.event())
		s.ActiveAssignments[r.AssignmentID] = models.AcceptedAssignment{
			Status: models.EventAccepted, WorkspaceID: r.WorkspaceID, TeamID: r.TeamID, Title: r.Title, Revision: r.Revision,
			AcceptedEventID: r.HandoffID, AcceptedBy: r.AcceptedBy, AcceptedAt: r.AcceptedAt, Payload: r.Payload,
		}
	}
	return nil
}

func (r acceptance) event() models.AcceptedEvent {
	summary, _ := r.Payload["summary"].(string)
	note, _ := r.Decision["decision_note"].(string)
	return models.AcceptedEvent{
		Sequence: r.Sequence, EventID: r.DecisionID, ReviewedEventID: r.HandoffID, AssignmentID: r.AssignmentID, Title: r.Title,
		RunID: r.RunID, WorkerActorID: r.Actor, HeadCommit: r.HeadCommit, Summary: summary, AcceptedBy: r.AcceptedBy,
		AcceptedAt: r.AcceptedAt, DecisionNote: note,
	}
}

func (l *Ledger) openGovernance(ctx context.Context, f SnapshotFilter) (*models.OpenGovernance, error) {
	reviews, err := l.PendingReviews(ctx, ReviewFilter{WorkspaceID: f.WorkspaceID, TeamID: f.TeamID})
	if err != nil {
		return nil, err
	}
	open := &models.OpenGovernance{PendingReviews: make([]models.OpenReview, 0, len(reviews))}
	for _, r := range reviews {
		open.PendingReviews = append(open.PendingReviews, models.OpenReview{
			EventID: r.Event.ID, TeamID: r.Event.TeamID, AssignmentID: r.Event.AssignmentID, WorkerActorID: r.WorkerActorID,
			HeadCommit: r.HeadCommit, PendingSince: r.PendingSince, PendingSeconds: r.PendingSeconds, Nudges: r.Nudges, EscalationID: r.EscalationID,
		})
	}
	open.Interventions, err = l.Interventions(ctx, InterventionFilter{WorkspaceID: f.WorkspaceID, TeamID: f.TeamID, Status: interventionOpen})
	return open, err
}

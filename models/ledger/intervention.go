package ledger

import (
	"context"
	"errors"
	"slices"
	"strings"

	"coxswain/models"
)

// The statuses of an intervention.
const (
	interventionOpen     = "open"
	interventionAnswered = "answered"
	interventionClosed   = "closed" // its assignment or run ended without an answer
)

// InterventionFilter narrows a list of interventions; zero fields do not.
type InterventionFilter struct {
	WorkspaceID string
	TeamID      string
	RunID       string
	Status      string // open, answered or closed
}

// Interventions lists questions to people, the oldest first.
func (l *Ledger) Interventions(ctx context.Context, f InterventionFilter) ([]models.Intervention, error) {
	q := where(where(l.read(ctx), "workspace_id", f.WorkspaceID), "team_id", f.TeamID)
	q = where(where(q, "run_id", f.RunID), "status", f.Status)
	rows := []models.Intervention{}
	return rows, q.Order("created_at, id").Find(&rows).Error
}

// Intervention loads one question. NOT_FOUND when there is none.
func (l *Ledger) Intervention(ctx context.Context, id string) (models.Intervention, error) {
	return get[models.Intervention](l.read(ctx), "intervention", id)
}

// RequestIntervention asks a person something about a run, which waits until
// every question of it is answered; a reviewer's question about a handoff holds its
// nudges back as long. A bound worker's thread may have one open. The id of
// the event is the intervention's. Errors, in the order of their checks:
// FORBIDDEN, NOT_FOUND, INVALID_ARGUMENT; SECRET_DETECTED before all of them.
func (l *Ledger) RequestIntervention(ctx context.Context, c *Call, runID, prompt, kind string, packet map[string]any) (models.Event, error) {
	in := args{"run_id": runID, "prompt": prompt, "intervention_kind": kind, "decision_packet": packet}
	return write(ctx, l, c, "request_intervention", in, func(tx *Tx) (models.Event, error) {
		return tx.requestIntervention(runID, prompt, kind, packet)
	})
}

func (tx *Tx) requestIntervention(runID, prompt, kind string, packet map[string]any) (models.Event, error) {
	var none models.Event
	if err := tx.need("request intervention", models.RoleAgent, models.RoleIntegrator, models.RoleHuman); err != nil {
		return none, err
	}
	r, err := tx.askable(runID)
	if err != nil {
		return none, err
	}
	if err := required("prompt", prompt); err != nil {
		return none, err
	}
	if kind = first(strings.TrimSpace(kind), "question"); slices.Contains(models.ReservedInterventionKinds(), kind) {
		return none, models.Invalid("intervention_kind", "%q is asked by Coxswain itself only", kind).Hint("say decision, approval, access or another kind of your own")
	}
	if err := tx.oneOpen(r.ID); err != nil {
		return none, err
	}
	if packet, err = object("decision_packet", packet); err != nil {
		return none, err
	}
	return tx.question(models.Intervention{
		WorkspaceID: r.WorkspaceID, TeamID: r.TeamID, AssignmentID: r.AssignmentID, RunID: r.ID,
		Kind: kind, Prompt: prompt, Packet: packet,
	})
}

// askable loads a run that the caller may ask about: its own live one, for an
// integrator or a person any live one, and one whose handoff waits for a decision.
func (tx *Tx) askable(runID string) (models.Run, error) {
	r, err := get[models.Run](tx.db, "run", runID)
	if err != nil || tx.By.Role == models.RoleAgent {
		return tx.ownOrLed(runID)
	}
	a, reviewed, err := find[models.Assignment](tx.db, "id = ? AND status = 'awaiting_review' AND active_run_id = ?", r.AssignmentID, r.ID)
	if err != nil || !reviewed {
		return tx.ownOrLed(runID)
	}
	return r, tx.mayTouch(a)
}

// oneOpen refuses a second open question of a bound thread.
func (tx *Tx) oneOpen(runID string) error {
	if tx.By.BindingID == "" || tx.By.Role != models.RoleAgent {
		return nil
	}
	open, err := tx.openInterventions("run_id = ? AND requested_by = ?", runID, tx.By.ActorID)
	if err == nil && len(open) > 0 {
		err = models.Invalid("run_id", "question %s of this run is still open", open[0].ID).
			With("intervention_id", open[0].ID).Hint("end the turn and wait for the answer")
	}
	return err
}

func (tx *Tx) openInterventions(condition string, values ...any) ([]models.Intervention, error) {
	var rows []models.Intervention
	return rows, tx.db.Where("status = 'open'").Where(condition, values...).Order("created_at, id").Find(&rows).Error
}

// question records an open question by the caller; a live run of it waits.
func (tx *Tx) question(iv models.Intervention) (models.Event, error) {
	e := models.Event{
		WorkspaceID: iv.WorkspaceID, TeamID: iv.TeamID, AssignmentID: iv.AssignmentID, RunID: iv.RunID,
		Type:    models.EventInterventionRequested,
		Payload: map[string]any{"prompt": iv.Prompt, "intervention_kind": iv.Kind, "decision_packet": iv.Packet},
	}
	e, err := tx.append(e)
	if err != nil {
		return e, err
	}
	iv.ID, iv.RequestedBy, iv.Status, iv.CreatedAt = e.ID, tx.By.ActorID, interventionOpen, tx.Now
	if err := tx.insert(&iv); err != nil || iv.RunID == "" {
		return e, err
	}
	return e, tx.awaitHuman(iv.RunID, iv.AssignmentID)
}

// closeInterventions closes the open questions about an assignment that nobody
// has to answer any more.
func (tx *Tx) closeInterventions(assignmentID string) error {
	return tx.db.Model(&models.Intervention{}).Where("assignment_id = ? AND status = 'open'", assignmentID).UpdateColumn("status", interventionClosed).Error
}

// RespondIntervention answers a question. When it was the run's last open one,
// run and assignment go on with renewed deadlines and the resume is planned. The
// run's own actor may not answer. Errors, in the order of their checks: FORBIDDEN
// (role), NOT_FOUND, FORBIDDEN (own run, another team), INVALID_ARGUMENT (not
// open, blank response); SECRET_DETECTED before all of them.
func (l *Ledger) RespondIntervention(ctx context.Context, c *Call, interventionID, response string) (models.Event, error) {
	in := args{"intervention_id": interventionID, "response": response}
	return write(ctx, l, c, "respond_intervention", in, func(tx *Tx) (models.Event, error) { return tx.respond(interventionID, response) })
}

func (tx *Tx) respond(id, response string) (models.Event, error) {
	iv, err := tx.openQuestion(id)
	if err != nil {
		return models.Event{}, err
	}
	if iv.Kind == models.InterventionApproval {
		return models.Event{}, models.Invalid("intervention_id", "%q is a request, which is accepted or declined", id).
			Hint("cox intervention respond --accept %s; or with --decline", id)
	}
	if err := required("response", response); err != nil {
		return models.Event{}, err
	}
	verdict := models.Verdict("")
	if iv.Kind == models.InterventionInput {
		verdict = models.VerdictAnswer
	}
	return tx.settleQuestion(iv, response, verdict)
}

// pardon lets an answer end what identical failures led to: for the team when it was
// asked about, and for the assignment in any case.
func (tx *Tx) pardon(iv models.Intervention) error {
	if iv.AssignmentID != "" {
		return tx.forgive(assignmentBreaker(iv.AssignmentID), "answered")
	}
	if iv.Kind != models.AskBreaker {
		return nil
	}
	return tx.forgive(teamBreaker(iv.TeamID), "answered")
}

// mayAnswer refuses the run's own actor and integrators of other teams.
func (tx *Tx) mayAnswer(iv models.Intervention) error {
	b, err := tx.bound()
	if err != nil {
		return err
	}
	if b != nil && b.TeamID != iv.TeamID {
		return models.Forbidden("intervention %q belongs to team %q", iv.ID, iv.TeamID)
	}
	if iv.RunID == "" {
		return nil
	}
	r, err := get[models.Run](tx.db, "run", iv.RunID)
	if err == nil && r.ActorID == tx.By.ActorID {
		err = models.Forbidden("%q runs %s and cannot answer its own question", tx.By.ActorID, r.ID).Hint("another person, or the team's integrator, answers")
	}
	return err
}

// goOn lets a run continue once none of its questions is open.
func (tx *Tx) goOn(iv models.Intervention) error {
	if iv.AssignmentID == "" {
		return tx.wakeLoop(iv.WorkspaceID, iv.TeamID)
	}
	a, err := loadAssignment(tx.db, iv.AssignmentID)
	if err != nil {
		return err
	}
	if iv.RunID == "" {
		return tx.afterAnswer(a)
	}
	open, err := tx.openInterventions("run_id = ?", iv.RunID)
	if err != nil || len(open) > 0 {
		return err
	}
	r, err := get[models.Run](tx.db, "run", iv.RunID)
	if err != nil {
		return err
	}
	if r.Status.Waiting() {
		if err := tx.resumeWaiting(r, a); err != nil {
			return err
		}
	}
	return tx.afterAnswer(a)
}

// resumeWaiting moves a waiting run and its assignment back to running and
// restarts their deadlines.
func (tx *Tx) resumeWaiting(r models.Run, a models.Assignment) error {
	if _, err := tx.swap(&models.Run{}, map[string]any{"status": models.RunRunning, "updated_at": tx.ms()}, "id = ?", r.ID); err != nil {
		return err
	}
	if err := tx.restartClocks(r.ID); err != nil {
		return err
	}
	if a.ActiveRunID != r.ID {
		return nil
	}
	_, err := tx.swap(&models.Assignment{}, map[string]any{"status": models.AssignmentRunning, "updated_at": tx.ms()},
		"id = ? AND status IN ('awaiting_human','awaiting_approval')", a.ID)
	if err != nil {
		return err
	}
	if err := errors.Join(tx.renew(r, a), tx.wakeMessages("o.run_id = ?", r.ID)); err != nil {
		return err
	}
	return tx.wakeClock()
}

func (tx *Tx) afterAnswer(a models.Assignment) error {
	if err := tx.planAssignment(a.ID); err != nil {
		return err
	}
	return tx.wakeWork(a)
}

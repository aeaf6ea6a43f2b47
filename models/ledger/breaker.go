package ledger

import (
	"fmt"
	"time"

	"gorm.io/gorm"

	"coxswain/models"
)

// breaker counts identical failures of an assignment, or of a team across its
// assignments.
type breaker struct {
	ID             string
	WorkspaceID    string
	TeamID         string
	AssignmentID   string // "" for the team's
	models.Breaker `gorm:"embedded"`
	Reason         string // the last failure, as people read it
}

func (breaker) TableName() string { return "breakers" }

func assignmentBreaker(id string) string { return "assignment:" + id }
func teamBreaker(id string) string       { return "team:" + id }

// failed counts a failure of a run against its assignment and its team. Where one of
// the two breakers trips, what it guards is parked: one event, one question.
func (tx *Tx) failed(run models.Run, kind, message string) error {
	fingerprint := models.Fingerprint(kind, message)
	reason := fmt.Sprintf("%s: %s", kind, message)
	own := breaker{ID: assignmentBreaker(run.AssignmentID), WorkspaceID: run.WorkspaceID, TeamID: run.TeamID, AssignmentID: run.AssignmentID}
	parked, err := tx.count(own, run, fingerprint, reason)
	if err != nil {
		return err
	}
	team := breaker{ID: teamBreaker(run.TeamID), WorkspaceID: run.WorkspaceID, TeamID: run.TeamID}
	if parked { // a single assignment's failures are its own matter
		return nil
	}
	_, err = tx.count(team, run, fingerprint, reason)
	return err
}

func (tx *Tx) count(b breaker, run models.Run, fingerprint, reason string) (parked bool, err error) {
	stored, found, err := find[breaker](tx.db, "id = ?", b.ID)
	if err != nil {
		return false, err
	}
	if found {
		b.Breaker = stored.Breaker
	}
	next, trips := b.Failed(tx.Now, run.AssignmentID, fingerprint)
	if trips && b.AssignmentID == "" && !next.Spread {
		next.Tripped, trips = false, false // all of one assignment, whose own breaker looks after it
	}
	b.Breaker, b.Reason = next, short(reason)
	if err := tx.store(b); err != nil || !trips {
		return next.Tripped, err
	}
	return true, tx.park(b, run)
}

func (tx *Tx) store(b breaker) error {
	if err := tx.db.Exec("DELETE FROM breakers WHERE id = ?", b.ID).Error; err != nil {
		return err
	}
	return tx.insert(&b)
}

// short is one bounded line of a failure.
func short(text string) string {
	const limit = 300
	runes := []rune(storable(text))
	if len(runes) > limit {
		return string(runes[:limit]) + "…"
	}
	return string(runes)
}

// park says that a breaker tripped and asks a person; the run of a parked assignment
// waits for the answer.
func (tx *Tx) park(b breaker, run models.Run) error {
	e := models.Event{
		WorkspaceID: b.WorkspaceID, TeamID: b.TeamID, AssignmentID: b.AssignmentID, Type: models.EventBreakerTripped,
		Payload: map[string]any{"subject": b.ID, "failures": b.Count, "reason": b.Reason, "fingerprint": b.Fingerprint},
	}
	iv := models.Intervention{
		WorkspaceID: b.WorkspaceID, TeamID: b.TeamID, AssignmentID: b.AssignmentID, Kind: models.AskBreaker,
		Prompt: b.question(), Packet: map[string]any{"breaker": b.ID, "failures": b.Count, "reason": b.Reason},
	}
	if b.AssignmentID != "" {
		e.RunID, iv.RunID = run.ID, run.ID
	}
	if _, err := tx.append(e); err != nil {
		return err
	}
	if _, err := tx.question(iv); err != nil {
		return err
	}
	return tx.wakeClock()
}

func (b breaker) question() string {
	what := "Assignment " + b.AssignmentID
	if b.AssignmentID == "" {
		what = "Team " + b.TeamID
	}
	return fmt.Sprintf("%s is parked: it failed %d times in the same way (%s). Any answer lets it go on; without one it is tried again %s after the last failure.",
		what, b.Count, b.Reason, models.Span(models.BreakerWindow))
}

// text is what stands in a reason while the breaker is tripped.
func (b breaker) text() string {
	return fmt.Sprintf("%d identical failures (%s), until answered or %s", b.Count, b.Reason, b.LastAt.Add(models.BreakerWindow).UTC().Format("15:04Z"))
}

// parkedTexts are the reasons of the tripped breakers of a team by breaker id.
func parkedTexts(db *gorm.DB, teamID string, now time.Time) (map[string]string, error) {
	var rows []breaker
	err := db.Where("team_id = ? AND tripped = ?", teamID, true).Find(&rows).Error
	out := make(map[string]string, len(rows))
	for _, b := range rows {
		if !b.Healthy(now) {
			out[b.ID] = b.text()
		}
	}
	return out, err
}

// forgive resets a breaker because a person answered, or the assignment did well.
func (tx *Tx) forgive(id, why string) error {
	b, found, err := find[breaker](tx.db, "id = ?", id)
	if err != nil || !found {
		return err
	}
	if err := tx.db.Exec("DELETE FROM breakers WHERE id = ?", id).Error; err != nil || !b.Tripped {
		return err
	}
	_, err = tx.append(models.Event{
		WorkspaceID: b.WorkspaceID, TeamID: b.TeamID, AssignmentID: b.AssignmentID,
		Type: models.EventBreakerCleared, Payload: map[string]any{"subject": b.ID, "reason": why},
	})
	if err != nil {
		return err
	}
	return tx.wakeLoop(b.WorkspaceID, b.TeamID)
}

// forgiveHealthy clears the tripped breakers that had no failure for long enough,
// closes their questions and lets their runs go on.
func (tx *Tx) forgiveHealthy() error {
	var rows []breaker
	err := tx.db.Where("tripped = ? AND last_at <= ?", true, tx.Now.Add(-models.BreakerWindow).UnixMilli()).Order("id").Find(&rows).Error
	if err != nil {
		return err
	}
	for _, b := range rows {
		if err := tx.forgive(b.ID, "no failure for "+models.Span(models.BreakerWindow).String()); err != nil {
			return err
		}
		asked, err := tx.openInterventions("team_id = ? AND assignment_id = ? AND kind = ?", b.TeamID, b.AssignmentID, models.AskBreaker)
		if err != nil {
			return err
		}
		if err := tx.dismiss(asked); err != nil {
			return err
		}
	}
	return nil
}

// dismiss closes questions that nobody has to answer any more, and lets their runs
// go on as after an answer.
func (tx *Tx) dismiss(asked []models.Intervention) error {
	for _, iv := range asked {
		if _, err := tx.swap(&models.Intervention{}, map[string]any{"status": interventionClosed}, "id = ? AND status = 'open'", iv.ID); err != nil {
			return err
		}
		if err := tx.goOn(iv); err != nil {
			return err
		}
	}
	return nil
}

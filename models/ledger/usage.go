package ledger

import (
	"time"

	"gorm.io/gorm"

	"coxswain/models"
)

// usage is what the runs of a team's unfinished assignments used up since a person
// last let each go on, or that of one of them. An assignment that was never claimed
// is at revision 1 and has used nothing.
func usage(db *gorm.DB, teamID, assignmentID string) (map[string]models.Use, error) {
	scope, values := "a.team_id = ? AND a.revision > 1 AND a.status NOT IN ('accepted','rejected','cancelled','superseded')", []any{teamID}
	if assignmentID != "" {
		scope, values = "a.id = ?", []any{assignmentID}
	}
	out := map[string]models.Use{}
	if err := turnUse(db, scope, values, out); err != nil {
		return nil, err
	}
	var runs []struct {
		ID string
		N  int
	}
	err := db.Raw(`SELECT r.assignment_id AS id, count(*) AS n FROM assignments a JOIN runs r ON r.assignment_id = a.id
	  WHERE `+scope+` AND r.session_ref <> '' AND r.started_at > `+granted+` GROUP BY r.assignment_id`, values...).Scan(&runs).Error
	for _, r := range runs {
		u := out[r.ID]
		u.Runs = r.N
		out[r.ID] = u
	}
	return out, err
}

// granted is when a person last let an assignment "a" go on beyond a cap, 0 for never.
const granted = `coalesce((SELECT max(i.answered_at) FROM interventions i WHERE i.assignment_id = a.id AND i.kind = 'cap_reached'), 0)`

// turnUse adds up turns. Tokens are a thread's absolute totals, so that what it had
// used before counts off.
func turnUse(db *gorm.DB, scope string, values []any, out map[string]models.Use) error {
	var rows []struct {
		ID                           string
		Turns                        int
		Spent, Tokens, TokensEarlier int64
	}
	err := db.Raw(`SELECT u.id, sum(u.counts) AS turns, sum(u.counts * u.spent) AS spent, max(u.tokens) AS tokens,
	    max(CASE WHEN u.counts = 0 THEN u.tokens ELSE 0 END) AS tokens_earlier
	  FROM (SELECT a.id, t.binding_id, t.tokens_total AS tokens, coalesce(t.ended_at, t.started_at) - t.started_at AS spent,
	      CASE WHEN t.started_at > `+granted+` THEN 1 ELSE 0 END AS counts
	    FROM assignments a JOIN runs r ON r.assignment_id = a.id JOIN turns t ON t.run_id = r.id WHERE `+scope+`) u
	  GROUP BY u.id, u.binding_id`, values...).Scan(&rows).Error
	for _, r := range rows {
		u := out[r.ID]
		u.Turns += r.Turns
		u.Time += time.Duration(r.Spent) * time.Millisecond
		u.Tokens += r.Tokens - r.TokensEarlier
		out[r.ID] = u
	}
	return err
}

// releaseCaps withdraws the questions about caps of a workspace that its settings do
// not reach any more.
func (tx *Tx) releaseCaps(w models.Workspace) error {
	asked, err := tx.openInterventions("workspace_id = ? AND kind = ?", w.ID, models.AskCap)
	if err != nil {
		return err
	}
	var free []models.Intervention
	for _, iv := range asked {
		use, err := usage(tx.db, iv.TeamID, iv.AssignmentID)
		if err != nil {
			return err
		}
		if name, _ := w.Settings.CapReached(use[iv.AssignmentID], iv.RunID == ""); name == "" {
			free = append(free, iv)
		}
	}
	return tx.dismiss(free)
}

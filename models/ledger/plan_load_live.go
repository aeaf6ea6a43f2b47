package ledger

import (
	"encoding/json"
	"time"

	"coxswain/models"
)

// runs reads the managed runs without an end and what their threads last did.
func (s *planScope) runs(in *models.PlanInput) error {
	q := s.db.Where("team_id = ? AND ended_at IS NULL AND binding_id <> ''", s.team.ID)
	if s.one != "" {
		q = q.Where("assignment_id = ?", s.one)
	}
	var runs []models.Run
	if err := q.Order("started_at, id").Find(&runs).Error; err != nil {
		return err
	}
	for _, r := range runs {
		live, err := s.liveRun(r)
		if err != nil {
			return err
		}
		in.Runs = append(in.Runs, live)
	}
	return nil
}

func (s *planScope) liveRun(r models.Run) (models.LiveRun, error) {
	live := models.LiveRun{
		RunID: r.ID, AssignmentID: r.AssignmentID, ActorID: r.ActorID, Status: r.Status,
		HasThread: r.SessionRef != "", LeaseExpired: !r.LeaseExpiresAt.After(s.now),
	}
	a, err := get[models.Assignment](s.db, "assignment", r.AssignmentID)
	if err != nil {
		return live, err
	}
	live.Revision, live.Use, live.Parked = a.Revision, s.used[r.AssignmentID], s.parked[assignmentBreaker(r.AssignmentID)]
	if live.Busy, live.Steered, err = s.busy(r); err != nil {
		return live, err
	}
	answered, err := lastEvent(s.db, "run_id = ? AND type = ? AND "+untold("reviewed_event_id"), r.ID, models.EventInterventionResponded)
	if err != nil {
		return live, err
	}
	if err := s.turns(r, answered, &live); err != nil {
		return live, err
	}
	if r.Status.CalledOff() {
		live.CancelEventID, err = s.cancelEvent(r)
		return live, err
	}
	if live.StopEventID, err = pendingStop(s.db, r.ID); err != nil {
		return live, err
	}
	stale, err := s.lastEvent(r.ID, models.EventRunStale)
	if err != nil {
		return live, err
	}
	if live.LeaseExpired && stale.ID != "" && (r.HeartbeatAt == nil || !stale.CreatedAt.Before(*r.HeartbeatAt)) {
		live.StaleEventID = stale.ID
	}
	live.HandoffNudges, err = s.handoffNudges(r.ID, answered.CreatedAt)
	return live, err
}

// busy tells whether something of the run is under way already, and whether words
// were put into its turn that no one has seen there. What a stop holds is not.
func (s *planScope) busy(r models.Run) (busy, steered bool, err error) {
	var n struct{ Commands, Messages, Steered int }
	runID, under := r.ID, "('pending','sending')"
	if s.team.Pause.Stopped() && r.Status.Waiting() {
		under = "('sending')"
	}
	err = s.db.Raw(`SELECT (SELECT count(*) FROM commands WHERE run_id = ? AND state IN ('intended','unknown')) AS commands,
	  (SELECT count(*) FROM outbox WHERE run_id = ? AND state IN `+under+`) AS messages,
	  (SELECT count(*) FROM outbox WHERE run_id = ? AND state = 'sending' AND turn_id <> '') AS steered`, runID, runID, runID).Scan(&n).Error
	return n.Commands+n.Messages > n.Steered, n.Steered > 0, err
}

func (s *planScope) lastEvent(runID, eventType string) (models.Event, error) {
	return lastEvent(s.db, "run_id = ? AND type = ?", runID, eventType)
}

func (s *planScope) cancelEvent(r models.Run) (string, error) {
	var rows []models.Event
	err := s.db.Select("id").Where("assignment_id = ? AND type IN (?, ?)", r.AssignmentID, models.EventAssignmentCancelled, models.EventAssignmentSuperseded).
		Order("sequence DESC").Limit(1).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[0].ID, nil
}

// turns fills in the last turn and how many in a row were lost or failed since
// the last answer.
func (s *planScope) turns(r models.Run, answered models.Event, live *models.LiveRun) error {
	var rows []models.Turn
	if err := s.db.Where("run_id = ?", r.ID).Order("started_at DESC, id DESC").Limit(16).Find(&rows).Error; err != nil {
		return err
	}
	if len(rows) > 0 {
		live.LastTurn, live.TurnActive = &rows[0], !rows[0].Status.Ended()
		live.Stale = staleText(rows[0], s.ws.Settings)
	}
	if answered.ID != "" && (len(rows) == 0 || !rows[0].StartedAt.After(answered.CreatedAt)) {
		live.AnswerEventID = answered.ID
	}
	cleared, err := lastEvent(s.db, "assignment_id = ? AND type = ?", r.AssignmentID, models.EventBreakerCleared)
	if err != nil {
		return err
	}
	since := later(answered.CreatedAt, cleared.CreatedAt) // what failed before was forgiven
	cut := func(t models.Turn) bool { return t.Status == models.TurnLost || t.Status == models.TurnInterrupted }
	live.LostInRow = streak(rows, since, func(t models.Turn) bool { return cut(t) && t.Stale == "" })
	live.StalledInRow = streak(rows, since, func(t models.Turn) bool { return cut(t) && t.Stale != "" })
	live.FailedInRow = streak(rows, since, func(t models.Turn) bool { return t.Status == models.TurnFailed })
	return nil
}

// streak counts the newest turns that ended in one way, down to the time of the last
// answer.
func streak(newestFirst []models.Turn, since time.Time, so func(models.Turn) bool) int {
	n := 0
	for _, t := range newestFirst {
		if !so(t) || t.StartedAt.Before(since) {
			break
		}
		n++
	}
	return n
}

func (s *planScope) handoffNudges(runID string, since time.Time) (int, error) {
	var n int64
	err := s.db.Model(&models.Command{}).Where("run_id = ? AND type = 'resume_assignment' AND reason = 'no_handoff' AND state = 'done' AND created_at >= ?",
		runID, max(since.UnixMilli(), 0)).Count(&n).Error
	return int(n), err
}

// lastAnswer is the time of the last answer about a handoff "e", 0 without one: the
// nudges of a handoff count from there.
const lastAnswer = `coalesce((SELECT max(i.answered_at) FROM interventions i WHERE i.run_id = e.run_id AND i.answered_at >= e.created_at), 0)`

// reviews reads the undecided handoffs of the team, oldest first, with the nudges
// that named them.
func (s *planScope) reviews(in *models.PlanInput) error {
	var rows []dueReview
	err := s.db.Raw(`SELECT e.id AS event_id, a.id AS assignment_id, e.run_id, r.binding_id, r.ended_at AS run_ended, e.created_at, `+lastAnswer+` AS answered,
	    coalesce((SELECT max(i.created_at) FROM interventions i WHERE i.run_id = e.run_id AND i.kind = 'review_ignored'), 0) AS ignored,
	    EXISTS (SELECT 1 FROM interventions i WHERE i.run_id = e.run_id AND i.kind <> 'review_ignored' AND i.status = 'open') AS waiting
	  FROM assignments a JOIN events e ON e.id = a.handoff_event_id JOIN runs r ON r.id = e.run_id
	  WHERE a.team_id = ? AND a.status = 'awaiting_review' ORDER BY e.sequence`, s.team.ID).Scan(&rows).Error
	if err != nil || len(rows) == 0 {
		return err
	}
	nudges, err := s.nudges(rows)
	if err != nil {
		return err
	}
	for _, r := range rows {
		n := nudges[r.EventID]
		in.Reviews = append(in.Reviews, models.ReviewDue{
			EventID: r.EventID, AssignmentID: r.AssignmentID, RunID: r.RunID, Waiting: r.Waiting, Asked: r.Ignored > r.Answered,
			Managed: r.BindingID != "", TurnEnded: r.BindingID == "" || r.RunEnded != nil, Nudges: n.count, LastNudgeAt: n.last,
		})
	}
	in.OpenNudge = nudges[""].count > 0
	return s.integratorIdle(in)
}

// dueReview is an undecided handoff with what its nudges depend on.
type dueReview struct {
	EventID, AssignmentID, RunID, BindingID string
	RunEnded                                *int64
	CreatedAt, Answered, Ignored            int64 // times; 0 for none
	Waiting                                 bool
}

type nudged struct {
	count int
	last  time.Time
}

// nudges counts the nudges by event since the last answer about it; under "" those
// that are still open.
func (s *planScope) nudges(due []dueReview) (map[string]nudged, error) {
	since := make(map[string]int64, len(due))
	for _, r := range due {
		since[r.EventID] = r.Answered
	}
	var rows []models.Command
	err := s.db.Where("team_id = ? AND type = 'nudge_review' AND state <> 'failed' AND created_at >= ?", s.team.ID, due[0].CreatedAt).Order("created_at, id").Find(&rows).Error
	out := map[string]nudged{}
	for _, c := range rows {
		if c.State.Open() {
			out[""] = nudged{count: out[""].count + 1}
			continue
		}
		for _, id := range c.EventIDs {
			if c.CreatedAt.UnixMilli() >= since[id] {
				out[id] = nudged{count: out[id].count + 1, last: *c.EndedAt}
			}
		}
	}
	return out, err
}

func (s *planScope) integratorIdle(in *models.PlanInput) error {
	var n int64
	err := s.db.Raw(`SELECT (SELECT count(*) FROM turns t JOIN bindings b ON b.id = t.binding_id WHERE b.team_id = ? AND b.kind = 'integrator' AND t.status = 'active')
	  + (SELECT count(*) FROM outbox o JOIN bindings b ON b.id = o.binding_id WHERE b.team_id = ? AND b.kind = 'integrator' AND o.state IN ('pending','sending'))`,
		s.team.ID, s.team.ID).Scan(&n).Error
	in.ReviewIdle = n == 0
	return err
}

func decodeObject(text string) map[string]any {
	out := map[string]any{}
	if json.Unmarshal([]byte(text), &out) != nil {
		return nil // written by this package as an object; anything else names no worker
	}
	return out
}

package ledger

import (
	"context"

	"coxswain/models"
)

// untold is the condition that a question's answer, if any, is for the thread to be
// told: answers of requests go to their hosts, unless the request was gone.
func untold(column string) string {
	return column + " NOT IN (SELECT id FROM approvals WHERE state <> 'gone')"
}

// FreshAnswers lists the answered questions of a run that its thread has not been
// told of: those since its last turn began, oldest first.
func (l *Ledger) FreshAnswers(ctx context.Context, runID string) ([]models.Intervention, error) {
	var out []models.Intervention
	err := l.read(ctx).Where("run_id = ? AND status = 'answered' AND "+untold("id")+" AND answered_at >= coalesce((SELECT max(t.started_at) FROM turns t WHERE t.run_id = ?), 0)", runID, runID).
		Order("answered_at, id").Find(&out).Error
	return out, err
}

// Talk is what was said about an undecided handoff.
type Talk struct {
	Nudges  int                   // since the last answer, the one under way among them
	Answers []models.Intervention // of people, oldest first
}

// ReviewTalk reads what was said about a handoff since it was submitted.
func (l *Ledger) ReviewTalk(ctx context.Context, handoff models.Event) (Talk, error) {
	var out Talk
	err := l.read(ctx).Where("run_id = ? AND status = 'answered' AND answered_at >= ?", handoff.RunID, handoff.CreatedAt.UnixMilli()).
		Order("answered_at, id").Find(&out.Answers).Error
	if err != nil {
		return out, err
	}
	since := handoff.CreatedAt
	for _, a := range out.Answers {
		since = later(since, *a.AnsweredAt)
	}
	var nudges int64
	err = l.read(ctx).Model(&models.Command{}).Where("team_id = ? AND type = 'nudge_review' AND state <> 'failed' AND created_at >= ? AND "+namesEvent,
		handoff.TeamID, since.UnixMilli(), quoted(handoff.ID)).Count(&nudges).Error
	out.Nudges = int(nudges)
	return out, err
}

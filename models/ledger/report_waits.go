package ledger

import (
	"time"

	"coxswain/models"
)

// waitRow is a wait as the queries find it; times are milliseconds, 0 for none.
type waitRow struct {
	AssignmentID, TeamID, Detail string
	Began, Ended                 int64
}

// addWait keeps a wait as far as it lies in the span.
func (g *gathering) addWait(w models.Wait) {
	if w, inside := w.Within(g.f.Since, g.f.Until); inside {
		g.out.Waits = append(g.out.Waits, w)
	}
}

func (g *gathering) addRows(cause string, rows []waitRow) {
	for _, r := range rows {
		w := models.Wait{Cause: cause, Detail: r.Detail, AssignmentID: r.AssignmentID, TeamID: r.TeamID, From: time.UnixMilli(r.Began).UTC()}
		if r.Ended > 0 {
			w.To = time.UnixMilli(r.Ended).UTC()
		}
		g.addWait(w)
	}
}

// reviewWaits are from a handoff to its decision, or to the end of its assignment.
func (g *gathering) reviewWaits() error {
	var rows []waitRow
	err := g.scan(&rows, `SELECT e.assignment_id, e.team_id, 'handoff ' || e.id AS detail, e.created_at AS began,
	    coalesce((SELECT min(d.created_at) FROM events d WHERE d.assignment_id = e.assignment_id AND d.sequence > e.sequence
	      AND d.type IN ('integrator_review','assignment_cancelled','assignment_superseded')), 0) AS ended
	  FROM events e WHERE e.type = 'handoff_submitted' AND e.created_at < ?`, "e", g.f.Until.UnixMilli())
	g.addRows(models.WaitReview, rows)
	return err
}

// questionWaits are from a question to its answer, or to the end of its assignment.
func (g *gathering) questionWaits() error {
	var rows []waitRow
	err := g.scan(&rows, `SELECT i.assignment_id, i.team_id, i.kind || ': ' || i.prompt AS detail, i.created_at AS began,
	    coalesce(i.answered_at, (SELECT min(d.created_at) FROM events d WHERE i.status = 'closed' AND d.assignment_id = i.assignment_id AND d.created_at >= i.created_at
	      AND d.type IN ('integrator_review','assignment_cancelled','assignment_superseded','run_ended')), CASE WHEN i.status = 'closed' THEN i.created_at ELSE 0 END) AS ended
	  FROM interventions i WHERE i.created_at < ?`, "i", g.f.Until.UnixMilli())
	g.addRows(models.WaitPerson, rows)
	return err
}

// retryWaits are the back-offs of commands.
func (g *gathering) retryWaits() error {
	var rows []waitRow
	err := g.scan(&rows, `SELECT c.assignment_id, c.team_id, c.type || ' after ' || c.reason AS detail, c.created_at AS began,
	    CASE WHEN c.started_at IS NOT NULL AND c.started_at < c.not_before THEN c.started_at ELSE c.not_before END AS ended
	  FROM commands c WHERE c.not_before IS NOT NULL AND c.created_at < ?`, "c", g.f.Until.UnixMilli())
	g.addRows(models.WaitRetry, rows)
	return err
}

// pairedWaits are from an event that begins a wait to the next one that ends it, for
// the same team, or the same adapter of a node.
func (g *gathering) pairedWaits() error {
	began := map[string]models.Wait{}
	var keys []string
	f := EventFilter{Until: g.f.Until, Limit: eventsPage, Types: []string{
		models.EventLoopPaused, models.EventLoopResumed, models.EventAdapterUnavailable, models.EventAdapterAvailable,
	}}
	for {
		page, err := g.l.Events(g.ctx, f)
		if err != nil {
			return err
		}
		for _, e := range page {
			f.After = e.Sequence
			key, wait, begins := pairOf(e)
			if wait.TeamID != "" && !g.covers(e) {
				continue
			}
			open, under := began[key]
			switch {
			case begins && !under:
				began[key], keys = wait, append(keys, key)
			case !begins && under:
				open.To = e.CreatedAt
				g.addWait(open)
				delete(began, key)
			}
		}
		if len(page) < eventsPage {
			break
		}
	}
	for _, key := range keys {
		if w, open := began[key]; open {
			delete(began, key)
			g.addWait(w)
		}
	}
	return nil
}

// covers tells whether the report is about the event's team and workspace.
func (g *gathering) covers(e models.Event) bool {
	return (g.f.TeamID == "" || e.TeamID == g.f.TeamID) && (g.f.WorkspaceID == "" || e.WorkspaceID == g.f.WorkspaceID)
}

// pairOf is what a paired event is about, the wait that it begins, and whether it
// begins or ends one.
func pairOf(e models.Event) (key string, w models.Wait, begins bool) {
	get := func(name string) string { s, _ := e.Payload[name].(string); return s }
	w = models.Wait{From: e.CreatedAt}
	if e.Type == models.EventLoopPaused || e.Type == models.EventLoopResumed {
		w.Cause, w.TeamID, w.Detail = models.WaitPause, e.TeamID, get("kind")+" by "+e.ActorID
		if reason := get("reason"); reason != "" {
			w.Detail += ": " + reason
		}
		return "team " + e.TeamID, w, e.Type == models.EventLoopPaused
	}
	w.Cause, w.NodeID, w.Detail = models.WaitAdapter, get("node_id"), get("adapter_kind")+": "+get("reason")
	return "node " + w.NodeID + " " + get("adapter_kind"), w, e.Type == models.EventAdapterUnavailable
}

// failures counts the turns that failed in the span.
func (g *gathering) failures() error {
	var turns []struct {
		AssignmentID, Error, ErrorKind string
		EndedAt                        int64
	}
	err := g.scan(&turns, `SELECT b.assignment_id, t.error, t.error_kind, t.ended_at FROM turns t JOIN bindings b ON b.id = t.binding_id
	  WHERE t.status = 'failed' AND t.ended_at >= ? AND t.ended_at < ?`, "b", g.f.Since.UnixMilli(), g.f.Until.UnixMilli())
	at := map[string]int{}
	for _, t := range turns {
		i, known := at[t.AssignmentID]
		if !known {
			i = len(g.out.Failures)
			at[t.AssignmentID] = i
			g.out.Failures = append(g.out.Failures, models.ReportFault{AssignmentID: t.AssignmentID})
		}
		f := &g.out.Failures[i]
		f.Times++
		if ended := time.UnixMilli(t.EndedAt).UTC(); !ended.Before(f.LastAt) {
			f.Last, f.Kind, f.LastAt = t.Error, t.ErrorKind, ended
		}
	}
	return err
}

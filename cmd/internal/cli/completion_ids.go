package cli

import (
	"context"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
)

// usualCompletionWait is the longest that a person waits for ids at a key press.
const usualCompletionWait = 300 * time.Millisecond

// completionWait is what COX_COMPLETION_WAIT says, for a slow disk or a machine under
// load, else the usual wait. A wrong value is no reason to fail at a key press.
func completionWait(in *call) time.Duration {
	raw, set := in.env("COX_COMPLETION_WAIT")
	wait, err := parseSpan("completion-wait", raw)
	if !set || err != nil {
		return usualCompletionWait
	}
	return wait
}

// ids are those of a kind of entity that are in the ledger now, those of the workspace,
// team or assignment that the command line names. Where the ledger cannot tell at once
// there are none: a key press is no place for an error.
func (t *typing) ids(ctx context.Context, in *call, entity string) []candidate {
	ctx, cancel := context.WithTimeout(ctx, completionWait(in))
	defer cancel()
	l, err := t.openLedger(ctx, in)
	if err != nil {
		return nil
	}
	defer l.Close() //nolint:errcheck // only read from
	read, known := idReaders()[entity]
	if !known {
		return nil
	}
	found, err := read(ctx, l, t.given)
	if err != nil {
		return nil
	}
	return found
}

// openLedger opens the ledger that the command line names, else the usual one.
func (t *typing) openLedger(ctx context.Context, in *call) (*ledger.Ledger, error) {
	paths, err := ledger.ResolvePaths(first(t.given["state-dir"], in.text("state-dir")), first(t.given["db"], in.text("db")), in.env)
	if err != nil {
		return nil, err
	}
	return ledger.Open(ctx, ledger.Options{Path: paths.DB, MustExist: true, LockTimeout: completionWait(in)})
}

type idReader func(ctx context.Context, l *ledger.Ledger, given map[string]string) ([]candidate, error)

// idReaders list the ids of each kind of entity, each with what it is.
func idReaders() map[string]idReader {
	return map[string]idReader{
		"workspace": func(ctx context.Context, l *ledger.Ledger, _ map[string]string) ([]candidate, error) {
			all, err := l.Workspaces(ctx)
			return listed(all, err, func(w ledger.WorkspaceView) candidate { return candidate{w.ID, w.RepoRoot} })
		},
		"team": func(ctx context.Context, l *ledger.Ledger, given map[string]string) ([]candidate, error) {
			all, err := l.Teams(ctx, given["workspace"])
			return listed(all, err, func(t models.Team) candidate { return candidate{t.ID, t.Name + " of " + t.WorkspaceID} })
		},
		"actor": func(ctx context.Context, l *ledger.Ledger, _ map[string]string) ([]candidate, error) {
			all, err := l.Actors(ctx, "")
			return listed(all, err, func(x models.Actor) candidate { return candidate{x.ID, string(x.Role)} })
		},
		"node": func(ctx context.Context, l *ledger.Ledger, _ map[string]string) ([]candidate, error) {
			all, err := l.Nodes(ctx)
			return listed(all, err, func(n models.Node) candidate { return candidate{n.ID, n.Name} })
		},
		"assignment":   assignmentIDs,
		"run":          runIDs(false),
		"open run":     runIDs(true),
		"review":       reviewIDs,
		"intervention": interventionIDs,
	}
}

func listed[T any](all []T, err error, as func(T) candidate) ([]candidate, error) {
	out := make([]candidate, 0, len(all))
	for _, one := range all {
		out = append(out, as(one))
	}
	return out, err
}

func assignmentIDs(ctx context.Context, l *ledger.Ledger, given map[string]string) ([]candidate, error) {
	all, err := l.Assignments(ctx, ledger.AssignmentFilter{WorkspaceID: given["workspace"], TeamID: given["team"]})
	return listed(all, err, func(a models.Assignment) candidate { return candidate{a.ID, string(a.Status) + ": " + a.Title} })
}

func runIDs(open bool) idReader {
	return func(ctx context.Context, l *ledger.Ledger, given map[string]string) ([]candidate, error) {
		all, err := l.Runs(ctx, ledger.RunFilter{WorkspaceID: given["workspace"], TeamID: given["team"], AssignmentID: given["assignment"], OpenOnly: open})
		return listed(all, err, func(r models.Run) candidate { return candidate{r.ID, string(r.Status) + ": " + r.AssignmentID} })
	}
}

// reviewIDs names each handoff by its assignment and by its event.
func reviewIDs(ctx context.Context, l *ledger.Ledger, given map[string]string) ([]candidate, error) {
	all, err := l.PendingReviews(ctx, ledger.ReviewFilter{WorkspaceID: given["workspace"], TeamID: given["team"]})
	byAssignment, err := listed(all, err, func(r models.PendingReview) candidate { return candidate{r.Event.AssignmentID, r.Title} })
	byEvent, err := listed(all, err, func(r models.PendingReview) candidate { return candidate{r.Event.ID, "of " + r.Event.AssignmentID} })
	return append(byAssignment, byEvent...), err
}

func interventionIDs(ctx context.Context, l *ledger.Ledger, given map[string]string) ([]candidate, error) {
	all, err := l.Interventions(ctx, ledger.InterventionFilter{WorkspaceID: given["workspace"], TeamID: given["team"], RunID: given["run"], Status: "open"})
	return listed(all, err, func(i models.Intervention) candidate { return candidate{i.ID, i.AssignmentID + ": " + i.Prompt} })
}

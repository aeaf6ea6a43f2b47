package activities

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/semaphore"

	"coxswain/activities/codex"
	"coxswain/activities/gitscope"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/models/ledger/failpoint"
)

// Node are the effects of one node: threads, turns, Git.
type Node struct {
	Ledger *ledger.Ledger
	Hosts  Hosts
	Config NodeConfig
	Log    *slog.Logger

	draining atomic.Bool  // no new turn may begin
	starting sync.RWMutex // held for reading while a thread is started and recorded
	threads  keyed        // one effect at a time per thread
}

// Started is what StartThread readied.
type Started struct {
	Owner      string `json:"owner"`  // the attempt that owns the command
	Closed     bool   `json:"closed"` // the command was closed already; there is nothing to claim
	Failed     bool   `json:"failed"` // nothing was done; the failure is recorded
	ThreadID   string `json:"thread_id"`
	Branch     string `json:"branch"`
	BaseCommit string `json:"base_commit"`
}

// StartThread readies the thread of a start or nudge command: it takes the
// command over, and starts an empty thread unless the binding has one.
func (n *Node) StartThread(ctx context.Context, in CommandInput) (Started, error) {
	if n.draining.Load() {
		return Started{}, stopping()
	}
	own := owner(ctx)
	w, open, err := n.Ledger.BeginCommand(ctx, in.CommandID, own)
	if err != nil || !open {
		return Started{Closed: !open}, failure(err)
	}
	failpoint.Hit(failpoint.ThreadBegun)
	out := Started{Owner: own, ThreadID: w.Binding.ThreadID}
	if out.BaseCommit, out.Branch, err = startPoint(ctx, w); err != nil {
		return n.startFailed(ctx, in.CommandID, own, err)
	}
	if out.ThreadID != "" {
		return out, nil
	}
	host, err := n.Hosts.Host(ctx, w.Binding.AdapterKind)
	if err != nil {
		return n.startFailed(ctx, in.CommandID, own, err)
	}
	back, err := n.reclaim(ctx, host, w)
	if err != nil {
		return out, failure(err)
	}
	if back != "" {
		kept, err := n.Ledger.RecordThread(ctx, in.CommandID, own, back)
		out.ThreadID, out.Closed = back, !kept
		return out, failure(err)
	}
	if w.Again {
		if err := n.archiveOrphans(ctx, host, w.Binding.AdapterKind); err != nil {
			return out, failure(err)
		}
	}
	out.ThreadID, err = n.startAndRecord(ctx, host, w.Binding.ID, func(id string) (bool, error) {
		return n.Ledger.RecordThread(ctx, in.CommandID, own, id)
	})
	if err != nil {
		if codex.Happened(err) || codex.KindOf(err) == codex.ErrDraining {
			return out, failure(unavailable(err))
		}
		return n.startFailed(ctx, in.CommandID, own, err)
	}
	out.Closed = out.ThreadID == ""
	return out, nil
}

// startPoint is the commit that a run's changes are compared with and the branch it
// works on: where a worktree's branch began, however many runs it has had, or what is
// checked out in the workspace.
func startPoint(ctx context.Context, w ledger.Work) (commit, branch string, err error) {
	if w.Worktree.State.Exists() {
		return w.Worktree.BaseCommit, w.Worktree.Branch, nil
	}
	return Head(ctx, w.Workspace)
}

// Drain lets no new turn begin on the node from now on; those that run go on. It is a
// function, so that it is not registered as an activity.
func Drain(n *Node) { n.draining.Store(true) }

const stoppingText = "the worker stops and starts nothing new"

// stopping refuses an effect on a draining node. Its next worker gets it again.
func stopping() error {
	return temporal.NewApplicationErrorWithOptions(stoppingText, string(models.CodeAdapterUnavailable), temporal.ApplicationErrorOptions{NextRetryDelay: 10 * time.Second})
}

// startFailed records that an attempt did nothing in the world.
func (n *Node) startFailed(ctx context.Context, commandID, own string, cause error) (Started, error) {
	n.Log.Warn("start failed", "command", commandID, "error", cause)
	return Started{Owner: own, Failed: true}, failure(n.Ledger.FailCommand(ctx, commandID, own, reason(cause)))
}

// startAndRecord starts a thread for a binding and records it; a thread that the
// ledger refuses is archived, and the returned id is "".
func (n *Node) startAndRecord(ctx context.Context, host codex.Adapter, bindingID string, record func(string) (bool, error)) (string, error) {
	n.starting.RLock()
	defer n.starting.RUnlock()
	spec, err := n.spec(ctx, bindingID)
	if err != nil {
		return "", err
	}
	failpoint.Hit(failpoint.ThreadStarting)
	thread, err := host.StartThread(ctx, spec)
	if err != nil {
		return "", err
	}
	failpoint.Hit(failpoint.ThreadStarted)
	kept, err := record(thread.ID)
	if err != nil {
		return "", errors.Join(err, host.ArchiveThread(ctx, thread.ID))
	}
	if !kept {
		return "", host.ArchiveThread(ctx, thread.ID)
	}
	failpoint.Hit(failpoint.ThreadRecorded)
	return thread.ID, nil
}

func (n *Node) spec(ctx context.Context, bindingID string) (codex.ThreadSpec, error) {
	s, err := n.Ledger.ThreadSpec(ctx, bindingID)
	if err != nil {
		return codex.ThreadSpec{}, err
	}
	return n.Config.ThreadSpec(ctx, s, n.Ledger.Access())
}

// archiveOrphans archives threads of the host that have no turn and that the
// ledger does not know: an attempt died between starting and recording one.
func (n *Node) archiveOrphans(ctx context.Context, host codex.Adapter, kind string) error {
	n.starting.Lock()
	defer n.starting.Unlock()
	ids, err := host.LoadedThreads(ctx)
	if err != nil {
		return unavailable(err)
	}
	for _, id := range ids {
		known, err := n.Ledger.KnowsThread(ctx, id)
		if err != nil {
			return err
		}
		if known {
			continue
		}
		turns, err := host.ListTurns(ctx, id, 1)
		if err != nil || len(turns) > 0 {
			continue // somebody's thread with history is left alone
		}
		n.Log.Info("archive an empty thread that nothing owns", "thread", id, "adapter", kind)
		if err := host.ArchiveThread(ctx, id); err != nil {
			return unavailable(err)
		}
	}
	return nil
}

// ArchiveInput names a start command that is not wanted any more.
type ArchiveInput struct {
	CommandID string `json:"command_id"`
	Owner     string `json:"owner"`
	ThreadID  string `json:"thread_id"`
}

// AbandonStart archives the empty thread of a start whose claim was refused, and
// records the failed command; the run ends with it. A thread that did work
// before stays.
func (n *Node) AbandonStart(ctx context.Context, in ArchiveInput) error {
	w, open, err := n.Ledger.BeginCommand(ctx, in.CommandID, in.Owner)
	if err != nil || !open {
		return failure(err)
	}
	used, err := n.Ledger.ThreadHasTurns(ctx, in.ThreadID)
	if err != nil {
		return failure(err)
	}
	if !used {
		host, err := n.Hosts.Host(ctx, w.Binding.AdapterKind)
		if err != nil {
			return failure(err)
		}
		if err := host.ArchiveThread(ctx, in.ThreadID); err != nil {
			return failure(unavailable(err))
		}
		if err := n.Ledger.CloseBinding(ctx, w.Binding.ID); err != nil {
			return failure(err)
		}
	}
	return failure(n.Ledger.FailCommand(ctx, in.CommandID, in.Owner, "the assignment changed or ended before it was claimed"))
}

// Probe carries out a refresh command: it asks the adapter what it can do, proves
// the sandbox, and stores the answer. An adapter that is not to be had is a
// recorded answer, not an error.
func (n *Node) Probe(ctx context.Context, in CommandInput) error {
	own := owner(ctx)
	w, open, err := n.Ledger.BeginCommand(ctx, in.CommandID, own)
	if err != nil || !open {
		return failure(err)
	}
	p := models.Probe{AdapterKind: w.Command.AdapterKind, Status: models.StatusActive}
	host, err := n.Hosts.Host(ctx, w.Command.AdapterKind)
	if err == nil {
		var said codex.Probe
		said, err = host.Probe(ctx)
		p.Version, p.Transport, p.Fallback, p.Capabilities = said.Version, said.Transport, said.Fallback, said.Capabilities
		p.SandboxProved, p.SandboxDetail, p.ProofKey = said.SandboxProved, said.SandboxDetail, said.ProofKey
	}
	if err != nil {
		p.Status, p.Reason = models.StatusUnavailable, reason(err)
	}
	if err := n.Ledger.RecordProbe(ctx, w.Command.NodeID, p); err != nil {
		return failure(err)
	}
	return failure(n.Ledger.FinishCommand(ctx, in.CommandID, own, "probed_"+p.Status))
}

// ScopeInput names an ended assignment.
type ScopeInput struct {
	AssignmentID string `json:"assignment_id"`
}

// InspectScope records what an ended assignment left uncommitted: in its worktree, or
// in its allowed paths where it had none.
func (n *Node) InspectScope(ctx context.Context, in ScopeInput) error {
	failpoint.Hit(failpoint.ScopeInspecting)
	a, err := n.Ledger.Assignment(ctx, in.AssignmentID)
	if err != nil {
		return failure(err)
	}
	w, err := n.Ledger.Workspace(ctx, a.WorkspaceID)
	if err != nil {
		return failure(err)
	}
	files, more, err := n.uncommitted(ctx, w, a)
	if err != nil {
		return failure(err)
	}
	if err := n.Ledger.RecordDirt(ctx, a.ID, files, more); err != nil {
		return failure(err)
	}
	failpoint.Hit(failpoint.ScopeRecorded)
	return failure(n.removeTemp(ctx, a.ActiveRunID))
}

func (n *Node) uncommitted(ctx context.Context, w models.Workspace, a models.Assignment) (files []string, more int, err error) {
	if w.GitCommonDir == "" {
		return nil, 0, nil
	}
	tree, found, err := n.Ledger.Worktree(ctx, a.ID)
	if err != nil {
		return nil, 0, err
	}
	if found {
		if !tree.State.Exists() {
			return nil, 0, nil
		}
		left, err := n.inspectWorktree(ctx, w, tree)
		return left.Files, left.More, err
	}
	repo, err := gitscope.Open(w.RepoRoot, w.GitCommonDir)
	if err != nil {
		return nil, 0, err
	}
	return repo.Dirty(ctx, a.AllowedPaths)
}

// removeTemp removes the temporary folder of an ended assignment's thread.
func (n *Node) removeTemp(ctx context.Context, runID string) error {
	if runID == "" {
		return nil
	}
	run, err := n.Ledger.Run(ctx, runID)
	if err != nil || run.BindingID == "" {
		return err
	}
	if err := os.RemoveAll(n.Config.tempDir(run.BindingID)); err != nil {
		n.Log.Warn("the temporary folder of an ended run was not removed", "run", runID, "error", err)
	}
	return nil
}

func unavailable(err error) error {
	return models.Errorf(models.CodeAdapterUnavailable, "the Codex host did not answer").Because(err)
}

// reason is what a record says of a failure: one bounded line.
func reason(err error) string {
	const limit = 500
	text := err.Error()
	if len(text) > limit {
		text = text[:limit] + "…"
	}
	return text
}

// keyed is a set of locks by name. The locks are few, one per thread ever used
// by this process, and small.
//
// Opening a host attaches threads, each under its lock. So a holder never asks for
// a host: it has it before.
type keyed struct{ m sync.Map }

// lock waits for the name's lock until ctx ends.
func (k *keyed) lock(ctx context.Context, name string) (unlock func(), err error) {
	v, _ := k.m.LoadOrStore(name, semaphore.NewWeighted(1))
	held, _ := v.(*semaphore.Weighted)
	if err := held.Acquire(ctx, 1); err != nil {
		return nil, models.Errorf(models.CodeAdapterUnavailable, "another effect on %s goes on", name).Because(err)
	}
	return func() { held.Release(1) }, nil
}

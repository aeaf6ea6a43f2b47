package worker

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	sdk "go.temporal.io/sdk/worker"
	"golang.org/x/sync/errgroup"

	"coxswain/activities"
	"coxswain/activities/policyfile"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/models/ledger/failpoint"
	"coxswain/workflows"
)

// Options configure a worker.
type Options struct {
	Ledger    *ledger.Ledger
	StateDir  string
	NodeID    string // "" is made from the host and the state directory
	Engine    workflows.Engine
	Cox       string        // absolute path of the cox executable
	CodexBin  string        // "" is found on the PATH
	CodexHome string        // "" is the user's own
	Transport string        // appserver.Auto, Unix or Stdio; "" is Auto
	FakePace  time.Duration // how long the fake's agents wait before each step
	MaxRuns   int           // runs of the node at a time; 0 is no cap
	Policy    string        // the policy file; "" asks nobody
	Log       *slog.Logger
	// Notify tells people of alerts from the start on.
	NotifyCommand string
	NotifyTimeout time.Duration
	// Changes brings other settings while the worker runs; nil for none.
	Changes <-chan Settings
	// Env reads a variable of the environment, for the notify command.
	Env func(string) (string, bool)
	// Drain tells, once it is closed, that no new turn may begin; nil never does.
	Drain <-chan struct{}
	// Ready is called once when the worker serves its queues.
	Ready func(Info)

	source *policyfile.Source
}

// Info is what a started worker says of itself.
type Info struct {
	NodeID      string `json:"node_id"`
	Incarnation int    `json:"incarnation"`
	Queue       string `json:"queue"`
	PID         int    `json:"pid"`
}

// stopTimeout is how long running activities may go on when the worker stops.
const stopTimeout = 5 * time.Second

// Run serves a node until ctx ends or something fatal happens. A second worker of
// the same state directory is refused with LEASE_CONFLICT naming the first; an
// engine that does not answer is ENGINE_UNAVAILABLE.
func Run(ctx context.Context, o Options) (err error) {
	lock, err := lockNode(o.StateDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	c, err := workflows.Dial(ctx, o.Engine, o.Log)
	if err != nil {
		return err
	}
	defer c.Close()
	if o.NodeID == "" {
		if o.NodeID, err = ledger.KeepNodeID(o.StateDir); err != nil {
			return err
		}
	}
	if o.source, err = policyfile.Open(ctx, o.Policy, o.Ledger.Roots, o.Log); err != nil {
		return err
	}
	if err := noticeRestore(ctx, o); err != nil {
		return err
	}
	attributes, err := prepareFirst(ctx, c, o)
	if err != nil {
		return err
	}
	if err := releaseLoops(ctx, o.Ledger, o.StateDir, o.Log); err != nil { // before anything is planned
		return err
	}
	failpoint.Hit(failpoint.NodeStarting)
	node, err := o.Ledger.StartNode(ctx, o.NodeID, hostname(), o.MaxRuns)
	if err != nil {
		return err
	}
	failpoint.Hit(failpoint.NodeStarted)
	if err := o.Ledger.ConfigureNode(ctx, node.ID, o.MaxRuns, models.ConfigNote{}); err != nil { // it has just read its file
		return err
	}
	return serve(ctx, o, c, node, attributes)
}

// serve runs every part until one fails or ctx ends, then stops them in order.
func serve(ctx context.Context, o Options, c client.Client, node models.Node, attributes bool) error {
	n := &activities.Node{Ledger: o.Ledger, Config: nodeConfig(o, node.ID), Log: o.Log}
	watch := newObserver(o.Ledger, o.Log)
	hosts := newHosts(o, n, watch)
	n.Hosts = hosts
	fatal := make(chan error, 2)
	queues := newQueues(c, o.Ledger, n, fatal)
	if err := queues.start(); err != nil {
		return errors.Join(models.Errorf(models.CodeEngineUnavailable, "the worker could not serve its queues").Because(err), hosts.close())
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return relay{ledger: o.Ledger, client: c, reach: newReach(c, o, node.ID, attributes), log: o.Log}.run(ctx)
	})
	g.Go(func() error { return newReviver(o.Ledger, c, o.Log).run(ctx) })
	g.Go(func() error { return poll(ctx, o) })
	g.Go(func() error { return beat(ctx, o, node.ID) })
	g.Go(func() error { return watch.run(ctx) })
	g.Go(func() error { return hosts.adopt(ctx) })
	g.Go(func() error { return newHalter(o, n).run(ctx) })
	settings := &live{}
	settings.now.Store(&Settings{MaxRuns: o.MaxRuns, NotifyCommand: o.NotifyCommand, NotifyTimeout: o.NotifyTimeout})
	g.Go(func() error { return settings.follow(ctx, o, node.ID) })
	g.Go(func() error { return newNotices(o, settings, node.ID).run(ctx) })
	g.Go(func() error { return answers{ledger: o.Ledger, node: node.ID, hosts: hosts, log: o.Log}.run(ctx) })
	g.Go(func() error {
		select {
		case <-o.Drain:
			activities.Drain(n)
		case <-ctx.Done():
		}
		return nil
	})
	g.Go(func() error {
		select {
		case err := <-fatal:
			return models.Errorf(models.CodeEngineUnavailable, "the engine refused this worker").Because(err)
		case <-ctx.Done():
			return nil
		}
	})
	if o.Ready != nil {
		o.Ready(Info{NodeID: node.ID, Incarnation: node.Incarnation, Queue: workflows.ControlQueue(o.Ledger.Prefix()), PID: os.Getpid()})
	}
	err := g.Wait()
	queues.stop()
	return errors.Join(err, hosts.close())
}

func nodeConfig(o Options, nodeID string) activities.NodeConfig {
	return activities.NodeConfig{
		NodeID: nodeID, StateDir: o.StateDir, Cox: o.Cox,
		TempRoot:   filepath.Join(os.TempDir(), "cox-"+o.Ledger.Prefix()),
		AsksPeople: func(ctx context.Context) bool { return o.rules(ctx).Asks() },
	}
}

// rules is the policy in force; a worker without a file asks nobody.
func (o Options) rules(ctx context.Context) models.Policy {
	if o.source == nil {
		return models.Policy{}
	}
	return o.source.Current(ctx)
}

// policy decides the requests of hosts by the policy in force.
func (o Options) policy(ctx context.Context, r models.ApprovalRequest) (models.Ruled, time.Duration) {
	p := o.rules(ctx)
	return p.Decide(r), p.WaitFor()
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost" // the name is for people; the node's id does not depend on it
	}
	return name
}

// stickyTimeout is how long a task waits for the worker that has its workflow in
// memory. After a kill nobody takes it there, and every run waits that long before it is
// looked at again; a busy worker that is late only replays the history.
const stickyTimeout = 2 * time.Second

// queues are the two Temporal workers of the process.
type queues struct{ control, node sdk.Worker }

func newQueues(c client.Client, l *ledger.Ledger, n *activities.Node, fatal chan<- error) queues {
	report := func(err error) {
		select {
		case fatal <- err:
		default: // one is enough to stop
		}
	}
	controlQueue := workflows.ControlQueue(l.Prefix())
	q := queues{
		control: sdk.New(c, controlQueue, sdk.Options{
			WorkerStopTimeout: stopTimeout, OnFatalError: report, StickyScheduleToStartTimeout: stickyTimeout,
		}),
		node: sdk.New(c, workflows.NodeQueue(controlQueue, n.Config.NodeID), sdk.Options{
			WorkerStopTimeout: stopTimeout, OnFatalError: report, DisableWorkflowWorker: true, MaxConcurrentActivityExecutionSize: 64,
			Interceptors: []interceptor.WorkerInterceptor{&beats{}},
		}),
	}
	workflows.Register(q.control)
	q.control.RegisterActivity(&activities.Control{Ledger: l})
	q.node.RegisterActivity(n)
	return q
}

func (q queues) start() error {
	if err := q.control.Start(); err != nil {
		return err
	}
	if err := q.node.Start(); err != nil {
		q.control.Stop()
		return err
	}
	return nil
}

func (q queues) stop() {
	q.control.Stop()
	q.node.Stop()
}

// beat renews the node's own heartbeat, and the mark of the ledger.
func beat(ctx context.Context, o Options, nodeID string) error {
	return every(ctx, 20*time.Second, func() {
		if err := errors.Join(o.Ledger.BeatNode(ctx, nodeID), noticeRestore(ctx, o)); err != nil && ctx.Err() == nil {
			o.Log.Warn("the node's heartbeat failed", "error", err)
		}
	})
}

// noticeRestore keeps the mark of how far the ledger has come, and tells the ledger
// when an older copy of it was put back.
func noticeRestore(ctx context.Context, o Options) error {
	restored, err := o.Ledger.WatchForRestore(ctx, filepath.Join(o.StateDir, "ledger.seen"))
	if err == nil && restored != nil {
		o.Log.Warn("the ledger was set back to an earlier state; what was open is looked for before it is done again",
			"epoch", restored.Epoch, "commands", restored.Commands, "messages", restored.Messages)
	}
	return err
}

// every calls fn at an interval until ctx ends.
func every(ctx context.Context, interval time.Duration, fn func()) error {
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			fn()
		case <-ctx.Done():
			return nil
		}
	}
}

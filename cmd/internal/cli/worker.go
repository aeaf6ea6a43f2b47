package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"coxswain/activities/codex/appserver"
	"coxswain/activities/codex/fake"
	"coxswain/activities/hook"
	"coxswain/worker"
)

func workerLeaf() leaf {
	return leaf{
		name: "worker", usage: "serve this host's node: carry out commands and watch turns",
		about: "Runs until it is interrupted. It needs a Temporal that answers: cox up starts one. The SDK's own\n" +
			"environment configuration (TEMPORAL_ADDRESS, TLS, API key, profiles) works too.",
		example: "cox worker --address 127.0.0.1:7233",
		options: append(append(append(engineOptions(), workerOptions()...), notifyOptions()...), nodeOption(), workerLevel()),
		run:     runWorker,
	}
}

// workerLevel lets a worker's log say what it does, unless asked otherwise.
func workerLevel() *option {
	for _, o := range settings() {
		if o.name == "log-level" {
			o.fallback, o.common = "info", true
			return o
		}
	}
	panic("cli: there is no option --log-level")
}

// notifyOptions say how people are told of what happens.
func notifyOptions() []*option {
	return []*option{
		{name: "notify-command", key: "notify.command", env: []string{"COX_NOTIFY_COMMAND"}, usage: "shell `LINE` that the worker runs once per change: needs_you, all_done, limit_hit, parked; it reads one JSON document from stdin"},
		{name: "notify-timeout", kind: spanKind, key: "notify.timeout", fallback: "10", env: []string{"COX_NOTIFY_TIMEOUT"}, usage: "`DURATION` after which that command is ended"},
	}
}

// workerOptions are those of a worker, whoever starts it.
func workerOptions() []*option {
	return []*option{
		{name: "codex-bin", key: "codex_bin", env: []string{"COX_CODEX_BIN"}, usage: "the Codex `PROGRAM`; default: found on the PATH"},
		{name: "codex-home", key: "codex_home", env: []string{"COX_CODEX_HOME"}, usage: "Codex's state `DIR`; default: CODEX_HOME, else ~/.codex"},
		{name: "transport", key: "transport", fallback: "auto", env: []string{"COX_TRANSPORT"}, oneOf: []string{appserver.Auto, appserver.Unix, appserver.Stdio}, usage: "`TRANSPORT` to Codex: unix (its turns outlive the worker), stdio, or auto, which is unix, and stdio where the socket is not to be had"},
		policyOption(),
		{name: "max-runs", kind: wholeKind, fallback: "0", key: "max_runs", env: []string{"COX_MAX_RUNS"}, usage: "at most `N` runs on this node at a time; 0 is no limit"},
		{name: "fake-pace", kind: spanKind, fallback: "0", env: []string{"COX_FAKE_PACE"}, usage: "`DURATION` before each step of a fake agent, so that a person can watch"},
	}
}

func runWorker(ctx context.Context, in *call) error {
	paths, err := in.paths()
	if err != nil {
		return err
	}
	l, err := in.newLedger(ctx)
	if err != nil {
		return err
	}
	engine, err := in.engine(paths.StateDir)
	if err != nil {
		return err
	}
	cox, err := executable()
	if err != nil {
		return err
	}
	node, err := in.node()
	if err != nil {
		return err
	}
	changes, err := in.watchConfig(ctx)
	if err != nil {
		return err
	}
	policy, err := in.policyPath()
	if err != nil {
		return err
	}
	drain, stop := drainSignal()
	defer stop()
	return worker.Run(ctx, worker.Options{
		Drain:  drain,
		Ledger: l, StateDir: paths.StateDir, NodeID: node, Engine: engine, Cox: cox,
		CodexBin: in.text("codex-bin"), CodexHome: in.text("codex-home"), Transport: in.text("transport"),
		FakePace: in.span("fake-pace"), MaxRuns: in.whole("max-runs"), Policy: policy, Log: in.log(),
		NotifyCommand: in.text("notify-command"), NotifyTimeout: in.span("notify-timeout"), Changes: changes, Env: in.env,
		Ready: func(i worker.Info) { in.ready(i) },
	})
}

// drainSignal is closed when the process is told (SIGUSR1) to begin no new turn.
func drainSignal() (told <-chan struct{}, stop func()) {
	signals, drain, ended := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	signal.Notify(signals, syscall.SIGUSR1)
	go func() {
		select {
		case <-signals:
			close(drain)
		case <-ended:
		}
	}()
	return drain, func() { signal.Stop(signals); close(ended) }
}

// ready prints the line that tells the worker serves its queues. It is the only
// thing a running worker prints on stdout; an error there is met again at the end.
func (in *call) ready(i worker.Info) {
	if !in.json {
		_, _ = fmt.Fprintf(in.io.Out, "worker of node %s is ready (incarnation %d, process %d); stop it with Ctrl-C\n", i.NodeID, i.Incarnation, i.PID)
		return
	}
	in.wrote = true
	_ = json.NewEncoder(in.io.Out).Encode(struct {
		OK bool `json:"ok"`
		worker.Info
		ReadyAt time.Time `json:"ready_at"`
	}{true, i, time.Now().UTC()})
}

func fakeAgentLeaf() leaf {
	return leaf{
		name: "fake-agent", usage: "play one turn of the fake adapter", hidden: true,
		about:   "Started by a worker for the fake adapter; it reads one request from stdin.",
		example: "cox fake-agent", file: noFile,
		run: func(ctx context.Context, in *call) error {
			return fake.RunAgent(ctx, in.io.In, in.io.Out, in.io.Err)
		},
	}
}

func hookGuardLeaf() leaf {
	return leaf{
		name: "hook-guard", usage: "run a workspace's hook until its worker ends", hidden: true, argument: "COMMAND",
		about:   "Started by a worker for one hook; it kills the hook when its standard input ends.",
		example: "cox hook-guard true", file: noFile,
		run: func(_ context.Context, in *call) error {
			if code := hook.Guard(in.io.In, in.io.Out, in.argument); code != 0 {
				return exitError(code)
			}
			in.wrote = true // the hook's output stands for it
			return nil
		},
	}
}

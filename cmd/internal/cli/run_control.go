package cli

import (
	"context"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/prompts"
	"coxswain/worker"
)

func runSteerLeaf() leaf {
	return leaf{
		name: "steer", usage: "say something to a run while it works", argument: "ID",
		about: "ID is the run or its assignment, whose latest run it is then. The words go into the turn that is active when they are sent, at most once; a run between two turns gets\n" +
			"its next one by them. They wait behind a running command. cox run logs ID shows their receipt. A run that\n" +
			"waits for a person is answered instead: cox intervention respond.",
		example: "cox run steer --message \"leave the parser alone\" run_0f3c",
		options: []*option{{name: "message", required: true, usage: "what to say, in `WORDS`"}},
		run:     runSteer,
	}
}

func runSteer(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	run, err := in.runNamed(ctx, l)
	if err != nil {
		return err
	}
	s := ledger.Steering{RunID: run, Message: in.text("message")}
	if s.Text, err = steerText(ctx, l, in.by().ActorID, s); err != nil {
		return err
	}
	c := in.request()
	item, err := l.SteerRun(ctx, c, s)
	if err != nil {
		return err
	}
	if run, err := l.Run(ctx, item.RunID); err == nil { // it was steered, and the answer only says more
		in.queues(run.AssignmentID)
	}
	return in.answer(fields{"message": item, "replayed": c.Replayed}, func(p *printer) {
		p.line("Message %s is queued for thread %s", item.ID, item.ThreadID)
		p.line("receipt: cox %srun logs %s", in.elsewhere(), item.RunID)
	})
}

// steerText frames the words for the worker. For an id that is no run the ledger
// knows best what to say, so that nothing is framed.
func steerText(ctx context.Context, l *ledger.Ledger, from string, s ledger.Steering) (string, error) {
	run, err := l.Run(ctx, s.RunID)
	if models.IsCode(err, models.CodeNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return prompts.Steer(prompts.SteerInput{ActorID: run.ActorID, AssignmentID: run.AssignmentID, RunID: run.ID, From: from, Message: s.Message})
}

func runInterruptLeaf() leaf {
	return leaf{
		name: "interrupt", usage: "stop a run's turn and let the run wait for an answer", argument: "ID",
		about: "ID is the run or its assignment, whose latest run it is then. The turn ends with its commands; the files stay as they are. The run keeps its claim and waits for a\n" +
			"person: the answer resumes the same thread. To end the work for good: cox assignment cancel.",
		example: "cox run interrupt --reason \"it rewrites the wrong module\" run_0f3c",
		options: []*option{{name: "reason", usage: "why, in `WORDS`; the worker reads it"}},
		run:     runInterrupt, file: brakes,
	}
}

func runInterrupt(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	run, err := in.runNamed(ctx, l)
	if err != nil {
		return err
	}
	c := in.request()
	question, err := l.InterruptRun(ctx, c, run, in.text("reason"))
	if err != nil {
		return err
	}
	return in.answer(fields{"intervention": question, "replayed": c.Replayed}, func(p *printer) {
		p.line("Run %s is being stopped; %s waits for a person", question.RunID, question.AssignmentID)
		p.line("go on: cox %sintervention respond --response \"…\" %s", in.elsewhere(), question.ID)
		in.noWorker(p, "its turn ends")
	})
}

// noWorker says when what was asked for cannot happen yet.
func (in *call) noWorker(p *printer, what string) {
	paths, err := in.paths()
	if err != nil {
		return // the ledger was opened by them
	}
	if _, running := worker.Running(paths.StateDir); !running {
		p.line("no worker runs here: %s when one does (cox %sup)", what, in.elsewhere())
	}
}

func stopLeaf() leaf {
	return leaf{
		name: "stop", usage: "stop what agents do now: every run of a team, a workspace, or all",
		about: "Nothing starts and no review is nudged; every turn is interrupted, runs wait for a person as after\n" +
			"cox run interrupt, and what was about to be sent or started is held. Nothing is cancelled, and the worker goes\n" +
			"on: cox down ends that. Without a worker it takes effect when one comes. To go on: cox resume.",
		example: "cox stop --team web --reason \"the disk is full\"",
		options: []*option{
			workspaceFilter(), teamFilter(),
			{name: "all", kind: truthKind, usage: "every team of the ledger"},
			{name: "reason", usage: "why, in `WORDS`; the workers read it"},
		},
		run: stop, file: brakes,
	}
}

func stop(ctx context.Context, in *call) error {
	filter := ledger.StopFilter{WorkspaceID: in.text("workspace"), TeamID: in.text("team")}
	named := filter != ledger.StopFilter{}
	if named == in.on("all") {
		return models.Invalid("all", "say what to stop: --team, --workspace or --all").Hint("cox stop --all --reason \"…\"")
	}
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	c := in.request()
	done, err := l.Stop(ctx, c, filter, in.text("reason"))
	if err != nil {
		return err
	}
	return in.answer(fields{"stopped": done, "replayed": c.Replayed}, func(p *printer) { in.stopped(p, done, filter) })
}

func (in *call) stopped(p *printer, done ledger.Stopped, filter ledger.StopFilter) {
	for _, team := range done.Loops {
		p.line("team %s is stopped", team)
	}
	for _, q := range done.Questions {
		p.line("run %s of %s is being stopped; go on: cox %sintervention respond --response \"…\" %s", q.RunID, q.AssignmentID, in.elsewhere(), q.ID)
	}
	for _, r := range done.Held {
		p.line("run %s of %s was only starting and is held", r.ID, r.AssignmentID)
	}
	for _, r := range done.Left {
		p.line("left: %s", r.Reason)
		if r.Next != "" {
			p.line("  next: %s", r.Next)
		}
	}
	if len(done.Loops)+len(done.Questions)+len(done.Held)+len(done.Left) == 0 {
		p.line("Everything was stopped already.")
	}
	if len(done.Questions) > 0 {
		in.noWorker(p, "their turns end")
	}
	p.line("go on: cox %sresume %s", in.elsewhere(), flagsOfScope(filter))
}

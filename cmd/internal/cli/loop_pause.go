package cli

import (
	"context"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models"
	"coxswain/models/ledger"
)

// loopCommand is cox loop, which does something by itself, with the commands that
// hold loops and let them go on.
func (a *app) loopCommand() *urfave.Command {
	c := a.command(loopLeaf())
	for _, l := range []leaf{loopPauseLeaf(), loopResumeLeaf(), loopDrainLeaf()} {
		c.Subcommands = append(c.Subcommands, a.command(l))
	}
	return c
}

func reasonOption(whom string) *option {
	return &option{name: "reason", usage: "why, in `WORDS`; " + whom}
}

// scopeOptions name teams: some, or all of them.
func scopeOptions() []*option {
	return []*option{
		workspaceFilter(), teamFilter(),
		{name: "all", kind: truthKind, usage: "every team of the ledger"},
	}
}

// scope is what scopeOptions name. Without any it is the only team of the workspace
// that contains the current folder.
func (in *call) scope(ctx context.Context, l *ledger.Ledger) (ledger.StopFilter, error) {
	f := ledger.StopFilter{WorkspaceID: in.text("workspace"), TeamID: in.text("team")}
	named := f != ledger.StopFilter{}
	if named && in.on("all") {
		return f, models.Invalid("all", "--all goes without --team and --workspace").Hint("leave one of them out")
	}
	if named || in.on("all") {
		return f, nil
	}
	w, err := in.workspace(ctx, l)
	if err != nil {
		return f, err
	}
	t, err := in.onlyTeam(ctx, l, w.ID)
	return ledger.StopFilter{TeamID: t.ID}, err
}

// scoped opens the ledger with what scopeOptions name in it.
func (in *call) scoped(ctx context.Context) (*ledger.Ledger, ledger.StopFilter, error) {
	l, err := in.ledger(ctx)
	if err != nil {
		return nil, ledger.StopFilter{}, err
	}
	f, err := in.scope(ctx, l)
	return l, f, err
}

// flagsOfScope are the scope as it is typed.
func flagsOfScope(f ledger.StopFilter) string {
	var out []string
	if f.WorkspaceID != "" {
		out = append(out, "--workspace "+f.WorkspaceID)
	}
	if f.TeamID != "" {
		out = append(out, "--team "+f.TeamID)
	}
	if len(out) == 0 {
		return "--all"
	}
	return strings.Join(out, " ")
}

func loopPauseLeaf() leaf {
	return leaf{
		name: "pause", usage: "start nothing new; live work goes on",
		about: "Holds whatever turns the loop on, restarts of cox up and cox loop included, until cox loop resume. Without\n" +
			"--team, --workspace or --all it is the only team of the current folder's workspace.",
		example: "cox loop pause --team web --reason \"the release is being cut\"",
		options: append(scopeOptions(), reasonOption("shown wherever the pause is")),
		file:    brakes,
		run: func(ctx context.Context, in *call) error {
			paused, f, err := in.pause(ctx)
			if err != nil {
				return err
			}
			return in.answer(fields{"teams": paused.Teams, "live": paused.Live}, func(p *printer) {
				p.paused(paused)
				if paused.Live > 0 {
					p.line("%s: cox %sloop drain %s waits for them", counted(paused.Live, "run goes on", "runs go on"), in.elsewhere(), flagsOfScope(f))
				}
				p.line("go on: cox %sloop resume %s", in.elsewhere(), flagsOfScope(f))
			})
		},
	}
}

// pause pauses the loops that the command line names.
func (in *call) pause(ctx context.Context) (ledger.Paused, ledger.StopFilter, error) {
	l, f, err := in.scoped(ctx)
	if err != nil {
		return ledger.Paused{}, f, err
	}
	c := in.request()
	paused, err := l.PauseLoops(ctx, c, f, in.text("reason"))
	return paused, f, err
}

func (p *printer) paused(done ledger.Paused) {
	for _, t := range done.Teams {
		p.line("loop of %s: %s", t.ID, t.Pause.Why())
	}
	if len(done.Teams) == 0 {
		p.line("There is no team to pause.")
	}
}

func loopResumeLeaf() leaf {
	return leaf{
		name: "resume", usage: "let paused loops start work again",
		about: "Runs that cox stop had stopped go on waiting for their answers; cox resume answers them too. A loop that is\n" +
			"off stays off: cox up and cox loop turn it on.",
		example: "cox loop resume --team web",
		options: scopeOptions(),
		run: func(ctx context.Context, in *call) error {
			return in.resumes(ctx, func(l *ledger.Ledger, c *ledger.Call, f ledger.StopFilter) (ledger.Resumed, error) {
				return l.ResumeLoops(ctx, c, f)
			})
		},
	}
}

// resumes lifts what holds the teams of the command line and says what goes on.
func (in *call) resumes(ctx context.Context, lift func(*ledger.Ledger, *ledger.Call, ledger.StopFilter) (ledger.Resumed, error)) error {
	l, f, err := in.scoped(ctx)
	if err != nil {
		return err
	}
	c := in.request()
	done, err := lift(l, c, f)
	if err != nil {
		return err
	}
	in.queuesResumed(done)
	return in.answer(fields{"resumed": done, "replayed": c.Replayed}, func(p *printer) { in.resumed(p, done, f) })
}

func (in *call) queuesResumed(done ledger.Resumed) {
	in.queuesTeams(done.Loops...)
	in.queuesTeams(done.Off...)
	for _, q := range done.Runs {
		in.queues(q.AssignmentID)
	}
}

// resumed says what goes on, and what does not yet.
func (in *call) resumed(p *printer, done ledger.Resumed, f ledger.StopFilter) {
	for _, id := range done.Loops {
		p.line("loop of %s is not held any more", id)
	}
	for _, q := range done.Runs {
		p.line("run %s of %s goes on", q.RunID, q.AssignmentID)
	}
	if len(done.Waiting) > 0 {
		p.line("%s: cox %sresume %s", counted(len(done.Waiting), "stopped run waits for its answer", "stopped runs wait for their answers"), in.elsewhere(), flagsOfScope(f))
	}
	for _, id := range done.Off {
		p.line("loop of %s is off: cox %sup or cox %sloop --team %s turns it on", id, in.elsewhere(), in.elsewhere(), id)
	}
	if len(done.Loops)+len(done.Runs)+len(done.Waiting) == 0 {
		p.line("Nothing was paused or stopped.")
	}
}

func resumeLeaf() leaf {
	return leaf{
		name: "resume", usage: "go on after cox stop: loops, and the runs that were stopped",
		about: "Lifts the pauses of the loops and answers the question of every run that a person stopped, so that it goes on\n" +
			"on its own thread. Other questions stay open: cox inbox.",
		example: "cox resume --all",
		options: append(scopeOptions(), &option{name: "message", fallback: "Go on where you stopped.", usage: "the answer to each stopped run, in `WORDS`"}),
		run: func(ctx context.Context, in *call) error {
			return in.resumes(ctx, func(l *ledger.Ledger, c *ledger.Call, f ledger.StopFilter) (ledger.Resumed, error) {
				return l.GoOn(ctx, c, f, in.text("message"))
			})
		},
	}
}

func loopDrainLeaf() leaf {
	return leaf{
		name: "drain", usage: "pause, then follow until the live runs have ended",
		about: "Shows what happens until every run has ended or waits for a person. Ctrl-C stops the watching; the loop\n" +
			"stays paused.",
		example: "cox loop drain --team web --reason \"upgrade\"",
		options: append(scopeOptions(), reasonOption("shown wherever the pause is")),
		run:     loopDrain, file: brakes,
	}
}

func loopDrain(ctx context.Context, in *call) error {
	paused, f, err := in.pause(ctx)
	if err != nil {
		return err
	}
	ids := []string{}
	for _, t := range paused.Teams {
		ids = append(ids, t.ID)
	}
	since, err := newestEvent(ctx, in.opened)
	if err != nil {
		return err
	}
	d := &draining{call: in, filter: f, left: -1}
	follow := newFollower(in, in.opened, ids, since)
	if err := follow.run(ctx, func() (bool, error) { return d.look(ctx) }); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return models.Errorf(models.CodeInterrupted, "interrupted while %s; the loop stays paused", counted(d.left, "run goes on", "runs go on")).
			Hint("cox loop resume %s", flagsOfScope(f))
	}
	return in.answer(fields{"teams": paused.Teams, "waiting": d.waiting}, func(p *printer) {
		p.line("No run goes on; the loop stays paused.")
		for _, r := range d.waiting {
			p.line("run %s of %s waits for a person: cox %sinbox", r.ID, r.AssignmentID, in.elsewhere())
		}
		p.line("go on: cox %sloop resume %s", in.elsewhere(), flagsOfScope(f))
	})
}

// draining watches the live runs of paused teams.
type draining struct {
	*call
	filter  ledger.StopFilter
	left    int          // runs that go on, as they were last told
	waiting []models.Run // live runs that wait for a person
}

// look counts the runs that go on and tells each change.
func (d *draining) look(ctx context.Context) (done bool, err error) {
	runs, err := d.opened.Runs(ctx, ledger.RunFilter{WorkspaceID: d.filter.WorkspaceID, TeamID: d.filter.TeamID, OpenOnly: true})
	if err != nil {
		return false, err
	}
	left := 0
	d.waiting = []models.Run{}
	for _, r := range runs {
		switch {
		case r.BindingID == "": // nobody's here, so that nothing is known of its end
		case r.Status.Waiting():
			d.waiting = append(d.waiting, r)
		default:
			left++
		}
	}
	if left > 0 && left != d.left {
		d.note("paused; %s", counted(left, "run goes on", "runs go on"))
	}
	d.left = left
	return left == 0, nil
}

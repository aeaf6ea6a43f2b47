package cli

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"coxswain/activities/codex/appserver/managed"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/worker"
	"coxswain/workflows"
)

func loopLeaf() leaf {
	return leaf{
		name: "loop", usage: "plan and start the ready work of teams until interrupted",
		about: "Turns the loops of the chosen teams on, shows what happens, and turns off on Ctrl-C what it turned on.\n" +
			"A worker carries the plan out; where none runs on this node, the command starts one for as long as it\n" +
			"lives. Without --team it covers every team, without --workspace every workspace, without --adapter it\n" +
			"uses that of the cox up that runs here.",
		example: "cox loop --workspace example-workspace --max-concurrent-runs 2",
		options: slices.Concat(loopOptions(), adapterOptions(), engineOptions(), workerOptions(), logOptions()),
		run:     loop,
	}
}

func loopOptions() []*option {
	return []*option{
		workspaceFilter(), teamFilter(),
		{name: "poll-interval", kind: spanKind, fallback: "10", env: []string{"COX_POLL_INTERVAL"}, usage: "`DURATION` between evaluations of the plan; a plain number is seconds"},
		{name: "max-concurrent-runs", kind: countKind, fallback: "1", env: []string{"COX_MAX_CONCURRENT_RUNS"}, usage: "at most `N` runs of a team at a time"},
		{name: "review-nudge-interval", kind: spanKind, fallback: "60", env: []string{"COX_REVIEW_NUDGE_INTERVAL"}, usage: "`DURATION` between two nudges of an undecided handoff"},
		{name: "dry-run", kind: truthKind, usage: "print the plan and change nothing"},
		{name: "once", kind: truthKind, usage: "one pass: plan, wait until its commands are carried out, end"},
	}
}

func loop(ctx context.Context, in *call) error {
	paths, err := in.paths()
	if err != nil {
		return err
	}
	in.likeUp(paths.StateDir)
	if in.on("dry-run") {
		return dryRun(ctx, in)
	}
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	teams, err := in.loopTeams(ctx, l)
	if err != nil {
		return err
	}
	if err := in.checkCodex(paths.StateDir); err != nil {
		return err
	}
	if _, running := worker.Running(paths.StateDir); running {
		in.noteIgnored()
	}
	r := &loops{call: in, ledger: l, teams: teams}
	defer r.stopWorker()
	if err := r.needWorker(ctx); err != nil {
		return err
	}
	err = r.prepare(ctx)
	switch {
	case err != nil:
	case in.on("once"):
		err = r.once(ctx)
	default:
		return r.follow(ctx)
	}
	return errors.Join(err, r.giveBack(ctx))
}

// loopTeams are the active teams that the filters leave.
func (in *call) loopTeams(ctx context.Context, l *ledger.Ledger) ([]models.Team, error) {
	if id := in.text("workspace"); id != "" {
		if _, err := l.Workspace(ctx, id); err != nil {
			return nil, err
		}
	}
	all, err := l.Teams(ctx, in.text("workspace"))
	if err != nil {
		return nil, err
	}
	var out []models.Team
	for _, t := range all {
		if t.Status == models.StatusActive && (in.text("team") == "" || t.ID == in.text("team")) {
			out = append(out, t)
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	if id := in.text("team"); id != "" {
		return nil, models.NotFound("team", id).Hint("cox team list")
	}
	return nil, models.Errorf(models.CodeNotFound, "there is no team to run a loop for").Hint("cox team create --workspace ID TEAM")
}

// needWorker starts a worker for the life of this command where the node has none,
// also when the one that it used has gone with the command that had started it.
func (r *loops) needWorker(ctx context.Context) error {
	if r.release != nil {
		return nil // kept running by its supervisor
	}
	paths, err := r.paths()
	if err != nil {
		return err
	}
	if _, running := worker.Running(paths.StateDir); running {
		return nil
	}
	if err := r.engineAnswers(ctx, paths.StateDir); err != nil {
		return err
	}
	release, err := r.startWorker(ctx, paths.StateDir, false)
	if _, running := worker.Running(paths.StateDir); err != nil && running {
		return nil // another command was faster with the node's one worker
	}
	r.release = release
	return err
}

// engineAnswers asks the engine before a worker does, whose log would tell.
func (r *loops) engineAnswers(ctx context.Context, stateDir string) error {
	engine, err := r.engine(stateDir)
	if err != nil {
		return err
	}
	c, err := workflows.Dial(ctx, engine, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	c.Close()
	return nil
}

func (r *loops) stopWorker() {
	if r.release == nil {
		return
	}
	h := hearHurry()
	defer h.stop()
	r.release()
	if paths, err := r.paths(); err == nil { // they were found when the worker was started
		r.endServer(h, paths.StateDir, managed.DrainTime)
	}
}

// settings are the loop's settings of this command line on top of a team's.
func (in *call) loopSettings(base models.LoopSettings) models.LoopSettings {
	base.AdapterKind = adapterKind(in.text("adapter"))
	base.PollIntervalSeconds = seconds(in.span("poll-interval"))
	base.MaxConcurrentRuns = in.whole("max-concurrent-runs")
	base.ReviewNudgeSeconds = seconds(in.span("review-nudge-interval"))
	base.Model = in.text("model")
	return base
}

// adapterKind is how records spell the adapter's flag.
func adapterKind(flag string) string {
	if flag == "fake" {
		return models.AdapterKindFake
	}
	return models.AdapterKindCodex
}

// seconds rounds a duration up to whole seconds, at least one.
func seconds(d time.Duration) int { return max(int((d+time.Second-1)/time.Second), 1) }

func dryRun(ctx context.Context, in *call) error {
	paths, err := in.paths()
	if err != nil {
		return err
	}
	teams := func(ctx context.Context, l *ledger.Ledger) ([]string, error) {
		found, err := in.loopTeams(ctx, l)
		var ids []string
		for _, t := range found {
			ids = append(ids, t.ID)
		}
		return ids, err
	}
	plans, err := ledger.DryRun(ctx, paths.DB, nil, teams, func(s models.LoopSettings) models.LoopSettings {
		s = in.loopSettings(s)
		s.Enabled = true
		return s
	})
	if err != nil {
		return err
	}
	return in.answer(fields{"dry_run": true, "teams": plans}, func(p *printer) {
		for _, plan := range plans {
			p.plan(plan)
		}
	})
}

// plan prints what a pass would do; a command is one line, as the seed has it.
func (p *printer) plan(plan ledger.DryPlan) {
	p.line("team %s", plan.TeamID)
	if plan.Probe != nil {
		p.line("  probe: %s, %s, %s ago", strings.TrimSpace(plan.Probe.AdapterKind+" "+plan.Probe.Version), plan.Probe.Status, plan.ProbeAge)
	} else {
		p.line("  probe: none on this node yet; the plan holds if the adapter answers")
	}
	for _, c := range plan.Commands {
		p.line("  %s %s %s", c.ID, c.Type, orNone(c.AssignmentID))
	}
	for _, a := range plan.Asks {
		p.line("  ask a person about %s: %s", a.AssignmentID, a.Kind)
	}
	for _, lo := range plan.LeftOut {
		p.line("  left out %s: %s", lo.AssignmentID, lo.Reason)
	}
	if len(plan.Commands)+len(plan.Asks)+len(plan.LeftOut) == 0 {
		p.line("  nothing to do")
	}
}

func orNone(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// loops are the loops that this command turns on.
type loops struct {
	*call
	ledger *ledger.Ledger
	teams  []models.Team                  // as this command wrote them last
	before map[string]models.LoopSettings // by team, what was there before it
	told   map[string]int                 // by team, the version of which it was said that the loop is off
	since  int64                          // the newest event before any loop was on
	owner  *worker.LoopOwner              // as which this command turned loops on; nil before
	config *reloading                     // follows the configuration file; nil while no loop is on

	lookedAt time.Time // at the configuration file
	release  func()    // stops the worker that this command started; nil while another's is used
}

// probeWait is how long a worker may take to probe an adapter, its sandbox proof
// included.
const probeWait = 60 * time.Second

// prepare writes the settings and waits until the worker has probed the adapter.
// It refuses to go on without a capability, naming which.
func (r *loops) prepare(ctx context.Context) error {
	for i, t := range r.teams {
		s := r.loopSettings(r.current(t.Loop))
		team, previous, err := r.ledger.ConfigureLoop(ctx, r.system(), t.ID, s)
		if err != nil {
			return err
		}
		previous = r.current(previous)
		r.remember(i, team, previous)
		if previous.Enabled && previous.SetBy != team.Loop.SetBy {
			r.note("team %s: settings of %s were replaced", t.ID, previous.SetBy)
		}
		if err := r.capable(ctx, team); err != nil {
			return err
		}
	}
	return nil
}

// current are loop settings with what a command that was killed left on taken as
// off.
func (r *loops) current(s models.LoopSettings) models.LoopSettings {
	// The state directory has been used before, so that its paths are known.
	if paths, err := r.paths(); err == nil && worker.OwnerGone(paths.StateDir, s) {
		s.Enabled, s.Owner = false, ""
	}
	return s
}

func (r *loops) system() *ledger.Call { return ledger.As(r.by()) }

// capable waits for the probe of the team's node and checks what it found.
func (r *loops) capable(ctx context.Context, t models.Team) error {
	w, err := r.ledger.Workspace(ctx, t.WorkspaceID)
	if err != nil {
		return err
	}
	var probe *models.Probe
	err = await(ctx, probeWait, func() (bool, error) {
		n, err := r.ledger.Node(ctx, w.NodeID)
		if p, ok := n.Probes[t.Loop.AdapterKind]; ok && p.Incarnation == n.Incarnation {
			probe = &p
		}
		return probe != nil || err != nil && !models.IsCode(err, models.CodeNotFound), err
	})
	if probe == nil {
		return models.Errorf(models.CodeAdapterUnavailable, "no worker has probed %s on node %s", t.Loop.AdapterKind, w.NodeID).
			Hint("cox worker; its log says what is wrong").Because(err)
	}
	if probe.Status != models.StatusActive {
		reason := "the adapter " + t.Loop.AdapterKind + " is unavailable: " + probe.Reason
		if strings.HasPrefix(probe.Reason, "the adapter ") {
			reason = probe.Reason // says so itself
		}
		return models.Errorf(models.CodeAdapterUnavailable, "%s", reason).
			Hint("--adapter fake works without Codex")
	}
	if missing := probe.Missing(); len(missing) > 0 {
		return models.Errorf(models.CodeAdapterUnavailable, "the adapter %s lacks %s", t.Loop.AdapterKind, strings.Join(missing, ", ")).
			With("missing", missing).Hint("install a Codex that has them")
	}
	return nil
}

// once runs one pass for each team and waits until its commands are carried out.
func (r *loops) once(ctx context.Context) error {
	var planned []models.Command
	var left []models.LeftOut
	for _, t := range r.teams {
		result, err := r.ledger.PlanOnce(ctx, t.ID)
		if err != nil {
			return err
		}
		planned, left = append(planned, result.Commands...), append(left, result.LeftOut...)
	}
	for i := range planned {
		err := await(ctx, 5*time.Minute, func() (bool, error) {
			c, err := r.ledger.Command(ctx, planned[i].ID)
			planned[i] = c
			if err == nil && c.State.Open() {
				err = r.needWorker(ctx)
			}
			return err != nil || !c.State.Open(), err
		})
		if err != nil {
			return err
		}
	}
	return r.answer(fields{"commands": planned, "left_out": left}, func(p *printer) {
		for _, c := range planned {
			p.line("%s %s %s %s", c.ID, c.Type, orNone(c.AssignmentID), c.State)
		}
		for _, lo := range left {
			p.line("left out %s: %s", lo.AssignmentID, lo.Reason)
		}
		if len(planned)+len(left) == 0 {
			p.line("nothing to do")
		}
	})
}

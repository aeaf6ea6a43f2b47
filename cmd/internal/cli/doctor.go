package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"coxswain/cmd/internal/doctor"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/worker"
)

func doctorLeaf() leaf {
	return leaf{
		name: "doctor", usage: "look at everything that cox needs, and name the remedy of what is missing",
		about: "Codex (found, version, methods, login, sandbox, transport), Temporal, the ledger, the worker, Git, disk and clock. It\n" +
			"needs no network and prints nothing private. A sandbox that this node's worker has proved for the same Codex\n" +
			"is believed; else it is tried now. Ends with 7 when something that is required fails.",
		example: "cox doctor --adapter fake",
		options: append(slices.Concat(engineOptions(), pick(adapterOptions(), "adapter"), pick(workerOptions(), "codex-bin", "codex-home", "transport")), nodeOption()),
		run:     runDoctor,
	}
}

// pick are the options with some of the names.
func pick(options []*option, names ...string) []*option {
	return slices.DeleteFunc(options, func(o *option) bool { return !slices.Contains(names, o.name) })
}

func runDoctor(ctx context.Context, in *call) error {
	o, err := in.examination()
	if err != nil {
		return err
	}
	p := &printer{out: in.io.Out, colour: in.colour()}
	checks := doctor.Run(ctx, o, func(c doctor.Check) {
		if !in.json {
			p.check(c)
		}
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	failed := doctor.FirstFailure(checks)
	if failed == nil {
		return in.answer(fields{"checks": checks}, func(p *printer) {
			p.write("\n")
			p.line("Nothing that is required is missing.")
		})
	}
	e := models.Errorf(failed.Code, "%s: %s", failed.Name, failed.Detail).Hint("%s", failed.Remedy).With("failed", failures(checks))
	if in.json {
		doc := failure(e)
		doc["checks"] = checks
		if err := in.document(doc); err != nil {
			return err
		}
	}
	return e
}

func failures(checks []doctor.Check) []string {
	var out []string
	for _, c := range checks {
		if c.Required && c.Status == doctor.Failed {
			out = append(out, c.Name)
		}
	}
	return out
}

// examination says what to look at, by the same rules as the commands that use it.
func (in *call) examination() (doctor.Options, error) {
	paths, err := in.paths()
	if err != nil {
		return doctor.Options{}, err
	}
	engine, err := in.engine(paths.StateDir)
	if err != nil {
		return doctor.Options{}, err
	}
	temporal, err := in.temporalServer()
	if err != nil {
		return doctor.Options{}, err
	}
	o := doctor.Options{
		Environ: in.childEnv(nil), Paths: paths, NodeID: in.text("node"), Codex: in.text("adapter") != "fake",
		CodexBin: in.text("codex-bin"), CodexHome: in.text("codex-home"), Transport: in.text("transport"),
		Engine: engine, EngineNamed: engine.Address != "" || in.environmentNamesEngine(), Temporal: temporal, Now: time.Now,
	}
	if o.NodeID == "" {
		o.NodeID = ledger.LocalNodeID(paths.StateDir)
	}
	o.WorkerPID, _ = worker.Running(paths.StateDir)
	if up, runs := readUp(paths.StateDir); runs && up.Address == engine.AddressName() {
		o.UpPID = up.PID
	}
	return o, nil
}

func (p *printer) check(c doctor.Check) {
	p.line("%s  %s  %s", pad(string(c.Status), 7), pad(c.Name, 16), strings.TrimSpace(c.Detail))
	if c.Remedy != "" {
		p.line("%s  remedy: %s", pad("", 25), c.Remedy)
	}
}

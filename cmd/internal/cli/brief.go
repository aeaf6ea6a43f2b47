package cli

import (
	"context"
	"crypto/rand"
	"io"
	"os"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models"
	"coxswain/models/ledger"
)

func (a *app) briefCommand() *urfave.Command {
	return a.group("brief", "read and write what runs tell people",
		leaf{
			name: "show", usage: "show where a run stands, in its own words", argument: "RUN", example: "cox brief show run_0f3c",
			about: "A brief is stale when the run went on since and it is older than the team's window.", run: briefShow,
		},
		leaf{
			name: "checkpoint", usage: "write a run's brief", argument: "RUN", example: "cox brief checkpoint --file brief.json run_0f3c",
			about: "The brief is a JSON object with schema_version, current_goal, current_stage, recent_progress,\n" +
				"decisions_and_risks, human_intervention, next_steps and context_refs. It changes no status.",
			options: []*option{
				{name: "brief", kind: objectKind, usage: "the brief as a `JSON` object"},
				{name: "file", usage: "the `FILE` that holds the brief; - is standard input"},
				{name: "source-sequence", kind: countKind, usage: "sequence `N` of the newest event it takes into account; default: the run's newest, briefs left out"},
				updateOption(),
			},
			run: briefCheckpoint,
		},
	)
}

// updateOption is the client's own id of an update of a run.
func updateOption() *option {
	return &option{name: "client-update-id", kind: identKind, usage: "your own `ID` of this update, so that a repeated one changes nothing; default: --request-id, or a new one"}
}

func (in *call) updateID() string {
	for _, name := range []string{"client-update-id", "request-id"} {
		if id := in.text(name); id != "" {
			return id
		}
	}
	return "upd_" + rand.Text()
}

func briefShow(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	b, err := l.HumanBrief(ctx, in.argument)
	if err != nil {
		return err
	}
	return in.answer(fields{"brief": b}, func(p *printer) { p.brief(b) })
}

func (p *printer) brief(b models.HumanBrief) {
	p.facts("run", b.RunID, "assignment", b.AssignmentID, "freshness", b.Freshness, "updated", b.UpdatedAt,
		"goes up to event", b.SourceEventSequence, "newest event", b.LatestEventSequence)
	if b.Freshness == models.BriefMissing {
		p.line("The run has written no brief yet.")
		return
	}
	p.facts("goal", b.Brief["current_goal"], "stage", b.Brief["current_stage"])
	if asks, _ := b.Brief["human_intervention"].(map[string]any); asks["needed"] == true {
		p.facts("needs a person", compact(asks))
	}
	for _, section := range []struct{ title, field string }{
		{"Progress", "recent_progress"}, {"Decisions and risks", "decisions_and_risks"}, {"Next", "next_steps"}, {"Context", "context_refs"},
	} {
		list, _ := b.Brief[section.field].([]any)
		if len(list) == 0 {
			continue
		}
		p.heading(section.title)
		for _, entry := range list {
			p.line("- %s", entryText(entry))
		}
	}
}

// entryText shows one entry of a brief's list on one line.
func entryText(v any) string {
	if object, ok := v.(map[string]any); ok {
		return compact(object)
	}
	return show(v)
}

func briefCheckpoint(ctx context.Context, in *call) error {
	text, err := in.briefText()
	if err != nil {
		return err
	}
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	source := int64(in.whole("source-sequence"))
	if source == 0 {
		last, err := l.HumanBrief(ctx, in.argument)
		if err != nil {
			return err
		}
		source = last.LatestEventSequence
	}
	c := in.request()
	e, err := l.CheckpointRun(ctx, c, ledger.BriefUpdate{RunID: in.argument, ClientUpdateID: in.updateID(), SourceSequence: source, Brief: text})
	if err != nil {
		return err
	}
	return in.answer(fields{"event": e, "replayed": c.Replayed}, func(p *printer) {
		p.line("Run %s has a new brief, up to event %d: %s", in.argument, source, e.ID)
	})
}

// briefText is the brief that --brief or --file gives.
func (in *call) briefText() (map[string]any, error) {
	if in.given("brief") == in.given("file") {
		return nil, models.Invalid("brief", "one of --brief and --file is required").Hint("cox brief checkpoint --help")
	}
	if in.given("brief") {
		return in.object("brief"), nil
	}
	text, err := in.read(in.text("file"))
	if err != nil {
		return nil, models.Invalid("file", "cannot be read").Because(err)
	}
	if len(text) > ledger.MaxObject {
		return nil, models.Invalid("file", "is larger than %d bytes", ledger.MaxObject)
	}
	return parseObject("file", string(text))
}

// read reads a file, or standard input for "-", up to a byte beyond what the
// ledger stores.
func (in *call) read(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(in.io.In, ledger.MaxObject+1))
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return io.ReadAll(io.LimitReader(f, ledger.MaxObject+1))
}

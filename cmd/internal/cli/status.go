package cli

import (
	"context"
	"fmt"
	"strings"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/worker"
)

func statusLeaf() leaf {
	return leaf{
		name: "status", usage: "show what runs, what waits, and for whom",
		example: "cox status",
		options: engineOptions(),
		run:     status, file: showsFile,
	}
}

func status(ctx context.Context, in *call) error {
	paths, err := in.paths()
	if err != nil {
		return err
	}
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	pid, running := worker.Running(paths.StateDir)
	s, err := l.Status(ctx, ledger.Sight{NodeID: ledger.LocalNodeID(paths.StateDir), Working: running})
	if err != nil {
		return err
	}
	people, err := l.Inbox(ctx, ledger.InboxFilter{})
	if err != nil {
		return err
	}
	engine, found, err := readEngine(paths.StateDir)
	if err != nil {
		return err
	}
	g, err := in.lag(ctx, l)
	if err != nil {
		return err
	}
	note, notice, err := in.workerNotes(ctx, l, running)
	if err != nil {
		return err
	}
	doc := fields{"config": note, "notice": notice, "status": s, "lag": g, "worker": fields{"running": running, "pid": pid}, "inbox": len(people)}
	in.configProblem(doc)
	if found {
		doc["engine"] = engine
	}
	return in.answer(doc, func(p *printer) {
		if running {
			p.line("worker: process %d", pid)
		} else {
			p.line("worker: none runs here; what is planned waits. Start one: %s", in.next("up"))
		}
		in.toldProblem(p)
		p.notes(note, notice)
		p.lag(g)
		if found {
			p.engine(engine, g)
		}
		p.status(s, running)
		if len(people) > 0 {
			p.heading("For a person")
			p.line("%s a person: cox %sinbox", counted(len(people), "thing needs", "things need"), in.elsewhere())
		}
	})
}

// workerNotes are what the worker of this host says of its configuration file, and of
// the last time that it told people something.
func (in *call) workerNotes(ctx context.Context, l *ledger.Ledger, running bool) (note models.ConfigNote, last *models.Notice, err error) {
	paths, err := in.paths()
	if err != nil {
		return note, nil, err
	}
	node := ledger.LocalNodeID(paths.StateDir)
	if running {
		if note, err = l.ConfigNote(ctx, node); err != nil {
			return note, nil, err
		}
	}
	notice, found, err := l.LastNotice(ctx, node)
	if found {
		last = &notice
	}
	return note, last, err
}

func (p *printer) notes(note models.ConfigNote, last *models.Notice) {
	if note.Problem != "" {
		p.line("worker: keeps its last good settings since %s: %s", when(note.Since), note.Problem)
	}
	if len(note.Restart) > 0 {
		p.line("worker: takes %s over when it is started again", strings.Join(note.Restart, ", "))
	}
	if last != nil && last.State == "failed" {
		p.line("notify: the command failed at %s (%s %s): %s. Try it: cox notify test", when(last.CreatedAt), last.Kind, last.Change, last.Error)
	}
}

// engine says where Temporal is, unless lag has said that it does not answer.
func (p *printer) engine(r engineRecord, g lag) {
	if g.Engine != lagAway {
		p.line("Temporal: %s   Web UI: %s", r.Address, r.UI)
	}
}

// lag says what has not reached the workflows, where it should have.
func (p *printer) lag(g lag) {
	switch {
	case g.Engine == lagAway:
		p.line("Temporal: does not answer the worker; %s. Next: %s", g, g.Next)
	case g.behind() || g.Seconds >= 5: // a wake-up that is on its way takes less
		p.line("relay: %s", g)
	}
	for _, j := range g.Jammed {
		p.line("jammed: the %s of %s: %s", j.Kind, orThe(j.Subject, "ledger"), j.Reason)
	}
}

func (p *printer) status(s ledger.Status, working bool) {
	rows := [][]any{}
	for _, t := range s.Teams {
		loop := "off"
		switch {
		case t.Pause != nil:
			loop = string(t.Pause.Kind)
		case t.LoopOn:
			loop = "on"
		}
		rows = append(rows, []any{
			t.TeamID, t.WorkspaceID, loop, t.Lanes["ready"], t.Lanes["running"], t.Lanes["awaiting_human"], t.Lanes["awaiting_review"],
			t.Lanes["needs_fix"], t.Lanes["accepted"], t.Lanes["rejected"],
		})
	}
	p.heading("Teams")
	p.table("No team yet: cox team create --workspace ID TEAM", []string{"TEAM", "WORKSPACE", "LOOP", "READY", "RUNNING", "HUMAN", "REVIEW", "FIX", "ACCEPTED", "REJECTED"}, rows)
	rows = rows[:0]
	for _, r := range s.Runs {
		rows = append(rows, []any{r.ID, r.AssignmentID, r.ActorID, r.Status, r.SessionRef, r.Tokens.Total, r.StartedAt})
	}
	p.heading("Runs")
	p.table("Nothing runs.", []string{"RUN", "ASSIGNMENT", "ACTOR", "STATUS", "THREAD", "TOKENS", "STARTED"}, rows)
	p.waiting(s, working)
}

// waiting lists what waits, each with the command that settles it. Wake-ups alone
// wait for nothing while no worker is there to be woken.
func (p *printer) waiting(s ledger.Status, working bool) {
	if s.Reviews > 0 {
		p.heading("Reviews")
		p.line("%s undecided: cox review list", counted(s.Reviews, "handoff is", "handoffs are"))
	}
	if len(s.Interventions) > 0 {
		p.heading("Questions")
		for _, i := range s.Interventions {
			p.line("%s  %s  %s", i.AssignmentID, i.Kind, i.Prompt)
			p.line("  answer: cox %s", models.HowToAnswer(i.Kind, i.ID))
		}
	}
	p.still(s.Still, false)
	if len(s.Dirty) > 0 {
		p.heading("Uncommitted work of ended assignments")
		for _, d := range s.Dirty {
			p.line("%s  %s: cox assignment show %s", d.AssignmentID, counted(d.Files, "file", "files"), d.AssignmentID)
		}
	}
	if w := s.Pending; w.Commands+w.Messages > 0 || w.Wakeups > 0 && working {
		p.heading("Waiting for the engine")
		p.line("%s, %s, %s", counted(w.Commands, "command", "commands"), counted(w.Messages, "message", "messages"), counted(w.Wakeups, "wake-up", "wake-ups"))
	}
}

// maxStill is how many of the things that do not move are listed for people.
const maxStill = 40

// answering begins the command that answers a question.
const answering = "cox intervention respond"

// still lists what does not move, each with its one reason. How questions are
// answered is left out where they stand above.
func (p *printer) still(all []models.Still, answers bool) {
	if len(all) == 0 {
		return
	}
	p.heading("Not moving")
	for i, s := range all {
		if i == maxStill {
			p.line("and %d more: cox status --json", len(all)-i)
			return
		}
		p.line("%s  %s", s.AssignmentID, s.Reason)
		if s.Next != "" && (answers || !strings.HasPrefix(s.Next, answering)) {
			p.line("  next: %s", s.Next)
		}
	}
}

func orThe(text, otherwise string) string {
	if text == "" {
		return "the " + otherwise
	}
	return text
}

// counted is a number with its noun.
func counted[N int | int64](n N, one, many string) string {
	if n == 1 {
		many = one
	}
	return fmt.Sprintf("%d %s", n, many)
}

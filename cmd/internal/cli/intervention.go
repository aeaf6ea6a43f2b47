package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models"
	"coxswain/models/ledger"
)

func (a *app) interventionCommand() *urfave.Command {
	return a.group("intervention", "answer what agents ask a person",
		leaf{
			name: "list", usage: "list questions to people", example: "cox intervention list",
			options: interventionListing().options(workspaceFilter(), teamFilter(),
				&option{name: "assignment", ids: "assignment", kind: identKind, usage: "only about this assignment `ID`"},
				&option{name: "run", ids: "run", usage: "only about this run `ID`"},
				&option{name: "status", fallback: "open", oneOf: []string{"open", "answered", "closed", "all"}, usage: "`STATUS`: open, answered, closed or all"}),
			run: interventionList,
		},
		leaf{
			name: "show", usage: "show one question whole", argument: "ID", example: "cox intervention show evt_0f3c",
			about: "Of a request: the command or the files as they are, its class, and what accepting it does.",
			run:   interventionShow,
		},
		leaf{
			name: "respond", usage: "answer a question, or a request", argument: "ID", example: "cox intervention respond --response \"use the staging key\" evt_0f3c",
			about: "A question is answered in words. A request of an agent is accepted or declined: an accepted command runs\n" +
				"once, outside the sandbox. The run goes on when none of its questions is open any more.",
			options: []*option{
				{name: "response", usage: "the answer in `WORDS`, of a question"},
				{name: "accept", kind: truthKind, usage: "accept a request"},
				{name: "decline", kind: truthKind, usage: "decline a request"},
				{name: "note", usage: "`WORDS` for the record, with --accept or --decline"},
			},
			run: interventionRespond,
		},
	)
}

func interventionList(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	if err := in.known(ctx, l, "workspace", "team", "assignment", "run"); err != nil {
		return err
	}
	filter := ledger.InterventionFilter{WorkspaceID: in.text("workspace"), TeamID: in.text("team"), RunID: in.text("run"), Status: in.text("status")}
	if filter.Status == "all" {
		filter.Status = ""
	}
	found, err := l.Interventions(ctx, filter)
	if err != nil {
		return err
	}
	if id := in.text("assignment"); id != "" {
		found = slices.DeleteFunc(found, func(i models.Intervention) bool { return i.AssignmentID != id })
	}
	return interventionListing().answer(ctx, in, l, found)
}

func interventionListing() listing[models.Intervention] {
	return listing[models.Intervention]{
		key: "interventions", when: "asked", who: "asked or answered",
		id:    func(i models.Intervention) string { return i.ID },
		at:    func(i models.Intervention) time.Time { return i.CreatedAt },
		by:    func(i models.Intervention) []string { return []string{i.RequestedBy, i.RespondedBy} },
		text:  func(i models.Intervention) []string { return []string{i.AssignmentID, i.Kind, i.Prompt, i.Response} },
		table: (*printer).interventions,
	}
}

func (p *printer) interventions(found []models.Intervention) {
	rows := make([][]any, 0, len(found))
	for _, i := range found {
		rows = append(rows, []any{i.ID, i.Status, i.Kind, orDash(i.AssignmentID), i.RequestedBy, i.CreatedAt, i.Prompt})
	}
	p.table("Nobody waits for an answer.", []string{"ID", "STATUS", "KIND", "ASSIGNMENT", "ASKED BY", "SINCE", "QUESTION"}, rows)
}

func interventionShow(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	i, err := l.Intervention(ctx, in.argument)
	if err != nil {
		return err
	}
	answer := fields{"intervention": i}
	if i.IsRequest() {
		if answer["approval"], err = l.Approval(ctx, i.ID); err != nil {
			return err
		}
	}
	return in.answer(answer, func(p *printer) { p.question(i) })
}

func (p *printer) question(i models.Intervention) {
	p.line("%s %s about %s, asked by %s", i.Status, i.Kind, orDash(i.AssignmentID), i.RequestedBy)
	p.line("")
	p.line("%s", i.Prompt)
	for _, key := range []string{"accept_does", "decline_does", "declined_after"} {
		if text, _ := i.Packet[key].(string); text != "" {
			p.line("%s: %s", strings.ReplaceAll(key, "_", " "), text)
		}
	}
	if request, _ := i.Packet["request"].(map[string]any); request != nil {
		files, _ := request["files"].([]any)
		for _, f := range files {
			file, _ := f.(map[string]any)
			p.line("")
			p.line("%v %v", file["change"], file["path"])
			if diff, _ := file["diff"].(string); diff != "" {
				p.line("%s", diff)
			}
		}
	}
	switch {
	case i.Response != "":
		p.line("")
		p.line("answered by %s: %s", i.RespondedBy, i.Response)
	case i.Kind == models.InterventionApproval && i.Status == "open":
		p.line("")
		p.line("cox %s", models.HowToAnswer(i.Kind, i.ID))
	}
}

func interventionRespond(ctx context.Context, in *call) error {
	verdict, err := in.verdict()
	if err != nil {
		return err
	}
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	c := in.request()
	if verdict == "" {
		event, err := l.RespondIntervention(ctx, c, in.argument, in.text("response"))
		if err != nil {
			return err
		}
		in.queuesAbout(event)
		return in.answer(fields{"event": event, "replayed": c.Replayed}, func(p *printer) {
			p.line("Intervention %s is answered by %s", in.argument, event.ActorID)
		})
	}
	decided, err := l.AnswerRequest(ctx, c, in.argument, verdict, in.text("note"))
	if err != nil {
		return err
	}
	in.queuesAbout(decided.Event)
	return in.answer(fields{"event": decided.Event, "approval": decided.Approval, "replayed": c.Replayed}, func(p *printer) {
		if decided.Approval.State == models.ApprovalGone {
			p.line("Request %s had ended before: nothing is run or changed by this answer; the run is resumed and told so", in.argument)
			return
		}
		p.line("Request %s: %s by %s; the agent's host is told", in.argument, verdict, decided.Event.ActorID)
	})
}

// queuesAbout notes what an answer lets go on: an assignment, or all that the team of a
// tripped breaker could start.
func (in *call) queuesAbout(answered models.Event) {
	if answered.AssignmentID != "" {
		in.queues(answered.AssignmentID)
	} else if answered.TeamID != "" {
		in.queuesTeams(answered.TeamID)
	}
}

// verdict is what --accept and --decline say, "" for an answer in words.
func (in *call) verdict() (models.Verdict, error) {
	accept, decline, words := in.on("accept"), in.on("decline"), in.given("response")
	switch {
	case accept && decline || words && (accept || decline):
		return "", models.Invalid("verdict", "give one of --response, --accept and --decline")
	case accept:
		return models.VerdictAccept, nil
	case decline:
		return models.VerdictDecline, nil
	case in.given("note"):
		return "", models.Invalid("note", "goes with --accept or --decline")
	case !words:
		return "", models.Invalid("response", "is required, or --accept or --decline for a request").Hint("cox intervention show %s", in.argument)
	}
	return "", nil
}

package cli

import (
	"context"
	"crypto/rand"
	"maps"
	"strings"

	"coxswain/cmd/internal/planfile"
	"coxswain/models"
	"coxswain/models/ledger"
)

func assignmentCreateLeaf() leaf {
	return leaf{
		name: "create", usage: "create an assignment",
		about:   "The loop of the team starts it when its dependencies are accepted and its paths are free.\nWithout --path it may touch the whole workspace.",
		example: "cox assignment create --team web --title \"Add search\" --path 'src/search/**' --criterion \"tests pass\" --context-ref 'docs/search.md#Purpose,Scope'",
		options: append([]*option{
			workspaceOption(), teamOption(),
			{name: "title", required: true, usage: "`TITLE` of the work"},
			{name: "id", kind: identKind, usage: "the assignment's `ID`; generated when left out"},
			{name: "priority", kind: signedKind, fallback: "0", usage: "`N`; higher starts first"},
			{name: "path", kind: listKind, usage: "a `PATTERN` of paths, relative to the workspace, that the work may touch; may be repeated"},
			{name: "criterion", kind: listKind, usage: "an acceptance criterion in `WORDS`; may be repeated"},
			{name: "depends-on", ids: "assignment", kind: listKind, usage: "`ID` of an assignment that has to be accepted first; may be repeated"},
			{name: "context-ref", kind: listKind, usage: "`REF` to a document that is read first, PATH[#HEADING,HEADING]; may be repeated"},
			{name: "target-actor", ids: "actor", kind: identKind, usage: "`ID` of the worker that is meant to do it"},
			{name: "metadata", kind: objectKind, usage: "free metadata as a `JSON` object"},
			{name: "base-revision", kind: wholeKind, usage: "accepted as `0` alone: there is no earlier revision"},
		}, worktreeOptions()...),
		run: assignmentCreate,
	}
}

func assignmentCreate(ctx context.Context, in *call) error {
	request, err := in.newAssignment()
	if err != nil {
		return err
	}
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	t, err := in.team(ctx, l)
	if err != nil {
		return err
	}
	request.TeamID, request.WorkspaceID = t.ID, t.WorkspaceID
	if id := in.text("workspace"); id != "" {
		request.WorkspaceID = id // the ledger refuses a team of another workspace
	}
	c := in.request()
	s, err := l.CreateAssignment(ctx, c, request, in.base())
	if err != nil {
		return err
	}
	return in.created(c, s)
}

func (in *call) created(c *ledger.Call, s models.Assignment) error {
	in.queues(s.ID)
	return in.answer(fields{"assignment": s, "replayed": c.Replayed}, func(p *printer) {
		p.line("Assignment %s is %s in team %s", s.ID, s.Status, s.TeamID)
		p.line("next: cox assignment show %s", s.ID)
	})
}

// newAssignment builds the request from the options, before the ledger is asked.
func (in *call) newAssignment() (models.NewAssignment, error) {
	metadata, err := in.metadata()
	if err != nil {
		return models.NewAssignment{}, err
	}
	worktree, err := in.worktreeChoice()
	if err != nil {
		return models.NewAssignment{}, err
	}
	id := in.text("id")
	if id == "" {
		id = in.generatedID()
	}
	return models.NewAssignment{
		ID: id, Title: in.text("title"), Priority: in.whole("priority"), AllowedPaths: in.list("path"),
		AcceptanceCriteria: in.list("criterion"), DependsOn: in.list("depends-on"), Worktree: worktree, Metadata: metadata,
	}, nil
}

// generatedID is derived from the request id where there is one, so that a
// repeated call has the same arguments.
func (in *call) generatedID() string {
	if id := in.text("request-id"); id != "" {
		return "task_" + models.ShortHash(in.by().ActorID+"\x00"+id, 12)
	}
	return "task_" + strings.ToLower(rand.Text())[:12]
}

// metadata joins --metadata with the options that have their place in it
// (seed 000, assignment contract).
func (in *call) metadata() (map[string]any, error) {
	out := maps.Clone(in.object("metadata"))
	refs, err := contextRefs(out["context_refs"], in.list("context-ref"))
	if err != nil {
		return nil, err
	}
	if refs != nil {
		out["context_refs"] = refs
	}
	target := in.text("target-actor")
	if target == "" {
		return out, nil
	}
	bind := map[string]any{}
	if given, ok := out["session_bind"]; ok && given != nil {
		if bind, ok = given.(map[string]any); !ok {
			return nil, models.Invalid("metadata.session_bind", "must be an object or null")
		}
	}
	bind["target_actor_id"] = target
	out["session_bind"] = bind
	return out, nil
}

// contextRefs appends PATH[#HEADING,HEADING] entries to those of the metadata.
func contextRefs(given any, entries []string) ([]any, error) {
	list, ok := given.([]any)
	if given != nil && !ok {
		return nil, models.Invalid("metadata.context_refs", "must be a list of objects such as {\"path\":\"docs/a.md\"}")
	}
	for _, entry := range entries {
		ref := planfile.ContextRef(entry)
		if ref == nil {
			return nil, models.Invalid("context-ref", "%q names no path", entry)
		}
		list = append(list, ref)
	}
	return list, nil
}

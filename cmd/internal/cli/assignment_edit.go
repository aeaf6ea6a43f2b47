package cli

import (
	"context"
	"maps"
	"slices"
	"strings"

	"coxswain/models"
	"coxswain/models/ledger"
)

const editAbout = `Without a flag, and with a terminal, the contract is opened in $VISUAL or $EDITOR.

A contract may change as long as nobody works by it: before its first start, while it is
blocked, and after a review that asks for a fix. While an agent works on it or its handoff
waits for a decision only the priority may change; an ended assignment keeps its record.`

func assignmentEditLeaf() leaf {
	return leaf{
		name: "edit", usage: "change an assignment's contract", argument: "ID", about: editAbout,
		example: "cox assignment edit --priority 5 --add-depends-on schema add-search",
		options: append(editOptions(),
			&option{name: "expected-revision", kind: wholeKind, usage: "refuse when the assignment's revision is not `N`; the same as --base-revision"},
			baseOption()),
		run: assignmentEdit,
	}
}

func editOptions() []*option {
	return append([]*option{
		{name: "title", usage: "`TITLE` of the work"},
		{name: "description", usage: "what the worker has to know, in `WORDS`"},
		{name: "priority", kind: signedKind, usage: "`N`; higher starts first"},
		{name: "path", kind: listKind, usage: "a `PATTERN` of paths in place of the present ones; may be repeated"},
		{name: "criterion", kind: listKind, usage: "an acceptance criterion in `WORDS` in place of the present ones; may be repeated"},
		{name: "add-depends-on", ids: "assignment", kind: listKind, usage: "`ID` of one more assignment that has to be accepted first; may be repeated"},
		{name: "remove-depends-on", ids: "assignment", kind: listKind, usage: "`ID` of an assignment that need not be waited for any more; may be repeated"},
		{name: "context-ref", kind: listKind, usage: "`REF` to a document in place of the present ones, PATH[#HEADING,HEADING]; may be repeated"},
		{name: "target-actor", ids: "actor", kind: identKind, usage: "`ID` of the worker that is meant to do it"},
		{name: "metadata", kind: objectKind, usage: "metadata as a `JSON` object, merged by key; null removes a key"},
		{name: "clear", kind: listKind, usage: "empty a `FIELD`: paths, criteria, depends-on, context-refs, description, target-actor, worktree; may be repeated"},
	}, worktreeOptions()...)
}

func assignmentEdit(ctx context.Context, in *call) error {
	base, err := in.expected()
	if err != nil {
		return err
	}
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(editOptions(), func(o *option) bool { return in.named(o) }) {
		return in.editByHand(ctx, l, base)
	}
	patch, err := in.patch(ctx, l)
	if err != nil {
		return err
	}
	c := in.request()
	done, err := l.EditAssignment(ctx, c, in.argument, base, patch)
	if err != nil {
		return err
	}
	return in.edited(c, done)
}

func (in *call) edited(c *ledger.Call, done ledger.Edited) error {
	in.queues(done.Assignment.ID)
	return in.answer(fields{"assignment": done.Assignment, "changed": done.Changed, "replayed": c.Replayed}, func(p *printer) {
		if len(done.Changed) == 0 {
			p.line("Assignment %s stays as it is, revision %d", done.Assignment.ID, done.Assignment.Revision)
			return
		}
		p.line("Assignment %s has another %s, revision %d", done.Assignment.ID, strings.Join(done.Changed, ", "), done.Assignment.Revision)
	})
}

// expected is the revision that the caller saw, under either of its names.
func (in *call) expected() (*int, error) {
	if !in.given("expected-revision") {
		return in.base(), nil
	}
	if in.given("base-revision") {
		return nil, models.Invalid("expected-revision", "is the same as --base-revision; name one of them")
	}
	n := in.whole("expected-revision")
	return &n, nil
}

// named tells whether an option was used on this command line.
func (in *call) named(o *option) bool {
	if o.kind == listKind {
		return len(in.list(o.name)) > 0
	}
	return in.given(o.name)
}

// patch builds the change from the flags.
func (in *call) patch(ctx context.Context, l *ledger.Ledger) (models.AssignmentPatch, error) {
	p := models.AssignmentPatch{
		AddDependsOn: in.list("add-depends-on"), RemoveDependsOn: in.list("remove-depends-on"), Metadata: map[string]any{},
	}
	if in.given("title") {
		p.Title = new(in.text("title"))
	}
	if in.given("priority") {
		p.Priority = new(in.whole("priority"))
	}
	if paths := in.list("path"); len(paths) > 0 {
		p.AllowedPaths = &paths
	}
	if criteria := in.list("criterion"); len(criteria) > 0 {
		p.AcceptanceCriteria = &criteria
	}
	var err error
	if p.Worktree, err = in.worktreeChoice(); err != nil {
		return p, err
	}
	if err := in.patchMetadata(ctx, l, p.Metadata); err != nil {
		return p, err
	}
	err = in.clear(&p)
	return p, err
}

// patchMetadata collects the keys of the metadata that change.
func (in *call) patchMetadata(ctx context.Context, l *ledger.Ledger, into map[string]any) error {
	given, err := in.metadata()
	if err != nil {
		return err
	}
	maps.Copy(into, given)
	if in.given("description") {
		into["description"] = in.text("description")
	}
	if in.text("target-actor") == "" || in.object("metadata")["session_bind"] != nil {
		return nil
	}
	stored, err := l.Assignment(ctx, in.argument)
	if err != nil {
		return err
	}
	if bind, ok := stored.Metadata["session_bind"].(map[string]any); ok { // keeps what else it says
		bind["target_actor_id"] = in.text("target-actor")
		into["session_bind"] = bind
	}
	return nil
}

// clear empties the fields of --clear.
func (in *call) clear(p *models.AssignmentPatch) error {
	for _, field := range in.list("clear") {
		switch field {
		case "paths":
			p.AllowedPaths = &[]string{}
		case "criteria":
			p.AcceptanceCriteria = &[]string{}
		case "depends-on":
			p.DependsOn = &[]string{}
		case "context-refs":
			p.Metadata["context_refs"] = nil
		case "description":
			p.Metadata["description"] = nil
		case "worktree":
			p.ReplaceWorktree = true
		case "target-actor":
			p.Metadata["session_bind"], p.Metadata["assigned_actor_hint"] = nil, nil
		default:
			return models.Invalid("clear", "%q is none of paths, criteria, depends-on, context-refs, description, target-actor, worktree", field)
		}
	}
	return nil
}

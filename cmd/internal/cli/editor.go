package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/term"

	"coxswain/cmd/internal/planfile"
	"coxswain/models"
	"coxswain/models/ledger"
)

// editHead stands at the top of a contract that is edited by hand.
const editHead = `# The contract of assignment %s at revision %d. Save and close to change it;
# leave it as it is to change nothing.
`

// editByHand opens the contract in the person's editor. The text is kept where it
// cannot be stored, so that nothing typed is lost.
func (in *call) editByHand(ctx context.Context, l *ledger.Ledger, base *int) error {
	a, err := l.Assignment(ctx, in.argument)
	if err != nil {
		return err
	}
	if base == nil {
		base = &a.Revision
	}
	if !in.typed() {
		return models.Invalid("flags", "name what to change, or run the command on a terminal").Hint("cox assignment edit --help")
	}
	text, err := planfile.Render(a)
	if err != nil {
		return err
	}
	text = append(fmt.Appendf(nil, editHead, a.ID, a.Revision), text...)
	file, edited, err := in.edit(ctx, a.ID, text)
	if err != nil {
		return err
	}
	c := in.request()
	if bytes.Equal(text, edited) {
		return errors.Join(os.Remove(file), in.edited(c, ledger.Edited{Assignment: a, Changed: []string{}}))
	}
	patch, err := in.handPatch(file, edited, a)
	if err != nil {
		return err
	}
	done, err := l.EditAssignment(ctx, c, a.ID, base, patch)
	if err != nil {
		return keptText(err, file)
	}
	return errors.Join(os.Remove(file), in.edited(c, done))
}

// typed tells whether a person sits at the terminal.
func (a *app) typed() bool {
	f, ok := a.io.In.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// edit runs the editor on a file with the text and returns both.
func (in *call) edit(ctx context.Context, id string, text []byte) (name string, edited []byte, err error) {
	file, err := os.CreateTemp("", "cox-"+id+"-*.yaml")
	if err != nil {
		return "", nil, models.Invalid("editor", "no temporary file can be made").Because(err)
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return "", nil, models.Invalid("editor", "%s cannot be written", file.Name()).Because(err)
	}
	editor := "vi"
	for _, variable := range []string{"EDITOR", "VISUAL"} {
		if v, _ := in.env(variable); v != "" {
			editor = v
		}
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", file.Name())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in.io.In, in.io.Out, in.io.Err
	if in.json {
		cmd.Stdout = in.io.Err
	}
	if err := cmd.Run(); err != nil {
		return "", nil, models.Invalid("editor", "%s failed; nothing was changed", editor).Because(errors.Join(err, os.Remove(file.Name()))).
			Hint("set EDITOR to an editor that exists")
	}
	if edited, err = os.ReadFile(file.Name()); err != nil {
		return "", nil, models.Invalid("editor", "%s cannot be read back", file.Name()).Because(err)
	}
	return file.Name(), edited, nil
}

// handPatch reads the edited contract.
func (in *call) handPatch(file string, edited []byte, a models.Assignment) (models.AssignmentPatch, error) {
	plan := planfile.Parse(file, edited)
	if len(plan.Problems) > 0 {
		for _, p := range plan.Problems {
			fmt.Fprintln(in.io.Err, clean(placed(p)))
		}
		return models.AssignmentPatch{}, keptText(models.Invalid("contract", "has %s", counted(len(plan.Problems), "problem", "problems")).With("problems", plan.Problems), file)
	}
	if len(plan.Entries) != 1 || plan.Entries[0].ID != a.ID || plan.Entries[0].TeamID != a.TeamID {
		return models.AssignmentPatch{}, keptText(models.Invalid("contract", "must stay one assignment with the id %s in team %s", a.ID, a.TeamID), file)
	}
	return models.PatchTo(plan.Entries[0].NewAssignment), nil
}

// keptText adds where the edited text is and how to store it after all.
func keptText(err error, file string) error {
	e, ok := errors.AsType[*models.Error](err)
	if !ok {
		return err
	}
	return e.With("file", file).Hint("mend your text, which is kept, then: cox assignment import --update %s", shellWord(file))
}

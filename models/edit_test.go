package models_test

import (
	"slices"
	"testing"

	"coxswain/models"
)

// An agent's contract does not change under it, and a record stays what it was.
func TestWhatMayStillBeEdited(t *testing.T) {
	free := []models.AssignmentStatus{models.AssignmentProposed, models.AssignmentReady, models.AssignmentNeedsFix, models.AssignmentBlocked}
	live := []models.AssignmentStatus{
		models.AssignmentClaimed, models.AssignmentRunning, models.AssignmentAwaitingHuman,
		models.AssignmentAwaitingApproval, models.AssignmentAwaitingReview,
	}
	ended := []models.AssignmentStatus{models.AssignmentAccepted, models.AssignmentRejected, models.AssignmentCancelled, models.AssignmentSuperseded}
	for _, c := range []struct {
		statuses []models.AssignmentStatus
		changed  []string
		refused  bool
	}{
		{free, []string{"title", "priority", "allowed_paths", "depends_on", "metadata"}, false},
		{live, []string{"priority"}, false},
		{live, []string{"priority", "acceptance_criteria"}, true},
		{live, []string{"depends_on"}, true},
		{ended, []string{"priority"}, true},
		{append(live, ended...), nil, false},
	} {
		for _, status := range c.statuses {
			err := models.CheckEdit(models.Assignment{ID: "a", Status: status}, c.changed)
			if c.refused != models.IsCode(err, models.CodeInvalidArgument) || !c.refused && err != nil {
				t.Errorf("%s, %v: %v", status, c.changed, err)
			}
		}
	}
}

func TestPatchesLieOverWhatIsStored(t *testing.T) {
	stored := models.Assignment{
		ID: "a", TeamID: "t", WorkspaceID: "w", Title: "old", Priority: 2, AllowedPaths: []string{"src"},
		DependsOn: []string{"b", "c"}, Metadata: map[string]any{"keep": "k", "drop": "d"},
	}
	n, err := models.AssignmentPatch{
		Title: new("new"), RemoveDependsOn: []string{"b"}, AddDependsOn: []string{"d"}, Metadata: map[string]any{"drop": nil, "add": "a"},
	}.Over(stored)
	if err != nil || n.Title != "new" || n.Priority != 2 || !slices.Equal(n.DependsOn, []string{"c", "d"}) || n.Metadata["keep"] != "k" || n.Metadata["add"] != "a" || len(n.Metadata) != 2 {
		t.Errorf("%+v, %v", n, err)
	}
	if len(stored.Metadata) != 2 || len(stored.DependsOn) != 2 {
		t.Errorf("the stored one changed: %+v", stored)
	}
	if _, err := (models.AssignmentPatch{RemoveDependsOn: []string{"x"}}).Over(stored); !models.IsCode(err, models.CodeInvalidArgument) {
		t.Errorf("removed what was none: %v", err)
	}
	whole := models.NewAssignment{ID: "a", Title: "whole"}
	if n, err := models.PatchTo(whole).Over(stored); err != nil || n.Title != "whole" || n.Priority != 0 || n.AllowedPaths != nil || n.DependsOn != nil || len(n.Metadata) != 0 {
		t.Errorf("%+v, %v", n, err)
	}
}

func TestFindCyclesNamesEachOnce(t *testing.T) {
	edges := map[string][]string{
		"a": {"b"}, "b": {"c"}, "c": {"a", "z"}, "d": {"a"}, "e": {"e"}, "f": {"g"}, "g": {"h"},
		"x": {"y"}, "y": {"x"}, // not asked for
	}
	got := models.FindCycles(edges, []string{"d", "c", "b", "a", "e", "f"})
	if len(got) != 2 || !slices.Equal(got[0], []string{"c", "a", "b", "c"}) || !slices.Equal(got[1], []string{"e", "e"}) {
		t.Errorf("got %v", got)
	}
	if got := models.FindCycles(map[string][]string{"a": {"b", "c"}, "b": {"c"}}, []string{"a", "b", "c"}); got != nil {
		t.Errorf("found %v where none is", got)
	}
}

func TestNearestWord(t *testing.T) {
	words := []string{"title", "priority", "allowed_paths", "depends_on"}
	for word, want := range map[string]string{
		"titel": "title", "prio": "", "priorty": "priority", "depends-on": "depends_on", "allowed_path": "allowed_paths", "colour": "", "": "", "bogus": "",
		"ttile": "title", "tilt": "",
	} {
		if got := models.Nearest(word, words); got != want {
			t.Errorf("%q is taken for %q, want %q", word, got, want)
		}
	}
}

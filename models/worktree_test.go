package models_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"coxswain/models"
)

var safeName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

// Names never leave their folder, never collide, and Git takes them.
func TestSafeNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[.\-_/a-cA-C]{0,6}(\.lock)?`)).Draw(t, "text")
		name := models.SafeName(text)
		if !safeName.MatchString(name) || strings.Contains(name, "..") || strings.HasSuffix(name, ".") || strings.HasSuffix(name, ".lock") || len(name) > 130 {
			t.Fatalf("%q became %q", text, name)
		}
		if again := models.SafeName(name); name == text && again != name {
			t.Fatalf("%q became %q", name, again)
		}
		path, branch := models.WorktreePlace("/root/trees", "cox/", text, text)
		if rel, err := filepath.Rel("/root/trees", path); err != nil || strings.Count(rel, "/") != 1 || !filepath.IsLocal(rel) || branch != "cox/"+name {
			t.Fatalf("%q lies at %s on %s", text, path, branch)
		}
	})
}

func TestSafeNamesThatLookAlikeDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{"a.b", "a/b", "a b", "a_b", "a:b", "..", ".", "", "-a", "a", ".a", "a..b", "a__b", "a.lock", "A.LOCK", strings.Repeat("x", 200), strings.Repeat("x", 201)} {
		name := models.SafeName(text)
		if other, twice := seen[name]; twice {
			t.Errorf("%q and %q are both %q", text, other, name)
		}
		seen[name] = text
	}
	if models.SafeName("add-search_2.0") != "add-search_2.0" {
		t.Error("a plain name was changed")
	}
}

func TestBranchPrefixes(t *testing.T) {
	for prefix, good := range map[string]bool{
		"cox/": true, "cox-": true, "team/cox/": true, "c": true,
		"": false, "/": false, "/cox/": false, "-cox/": false, "cox//": false, "co x/": false, "cox../": false, "a.lock/": false, ".cox/": false, "cox/.": false, "x~": false,
	} {
		if err := models.CheckBranchPrefix(prefix); (err == nil) != good {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}

func TestIsolationSettingsAreChecked(t *testing.T) {
	usual := models.DefaultWorkspaceSettings()
	for _, c := range []struct {
		key, text string
		good      bool
	}{
		{"worktree", "on", true},
		{"worktree", "yes", false},
		{"worktree_root", "/srv/trees", true},
		{"worktree_root", "trees", false},
		{"worktree_root", "/", false},
		{"worktree_root", "/a/../b", false},
		{"worktree_keep", "0", true},
		{"branch_prefix", "x/", true},
		{"branch_prefix", "x y/", false},
		{"project_config", "trusted", true},
		{"project_config", "on", false},
		{"hook_before_run", "make prepare", true},
		{"hook_after_run", strings.Repeat("x", models.MaxHookCommand+1), false},
		{"hook_timeout", "10m", true},
		{"hook_timeout", "0", false},
		{"hook_timeout", "11m", false},
	} {
		changed, err := usual.With(map[string]string{c.key: c.text})
		if (err == nil) != c.good {
			t.Errorf("%s=%s: %v", c.key, c.text, err)
		}
		if err == nil && len(models.ChangedSettings(usual, changed)) != 1 {
			t.Errorf("%s=%s changed %v", c.key, c.text, models.ChangedSettings(usual, changed))
		}
	}
}

func TestWhereItWorksMayNotChangeOnceItBegan(t *testing.T) {
	for status, may := range map[models.AssignmentStatus]bool{
		models.AssignmentReady: true, models.AssignmentBlocked: true, models.AssignmentNeedsFix: false, models.AssignmentRunning: false, models.AssignmentAccepted: false,
	} {
		err := models.CheckEdit(models.Assignment{ID: "a", Status: status}, []string{"worktree"})
		if (err == nil) != may {
			t.Errorf("%s: %v", status, err)
		}
	}
	before, choice := models.Assignment{ID: "a"}, true
	n, err := models.AssignmentPatch{Worktree: &choice}.Over(before)
	if err != nil || n.Worktree == nil || !*n.Worktree {
		t.Errorf("patched to %+v, %v", n, err)
	}
	after := before
	after.Worktree = &choice
	if got := models.ChangedFields(before, after); len(got) != 1 || got[0] != "worktree" {
		t.Errorf("changed %v", got)
	}
	if n, err := (models.AssignmentPatch{ReplaceWorktree: true}).Over(after); err != nil || n.Worktree != nil {
		t.Errorf("cleared to %+v, %v", n, err)
	}
}

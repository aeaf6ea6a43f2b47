package models_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"coxswain/models"
)

func TestCommandIDExamples(t *testing.T) {
	for _, c := range []struct {
		kind          models.CommandType
		target, cause string
		attempt       int
		want          string
	}{
		{models.CommandStart, "task_alpha", "rev7", 1, "cmd_start_assignment_task_alpha_rev7_attempt1"},
		{models.CommandStart, "task.alpha", "rev7", 1, "cmd_start_assignment_task_alpha_" + models.ShortHash("task.alpha", 8) + "_rev7_attempt1"},
		{models.CommandResume, "_run_", "tu", 12, "cmd_resume_assignment_run_" + models.ShortHash("_run_", 8) + "_tu_attempt12"},
		{models.CommandRefresh, "node", "Ωmega", 2, "cmd_refresh_capabilities_node_mega_" + models.ShortHash("Ωmega", 8) + "_attempt2"},
	} {
		if got := models.CommandID(c.kind, c.target, c.cause, c.attempt); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

var commandPattern = regexp.MustCompile(`^cmd_[A-Za-z0-9_]+_attempt[0-9]+$`)

func TestIDsThatSanitiseAlikeStayApart(t *testing.T) {
	alike := rapid.StringMatching(`[ab]{1,3}([._-][ab]{0,2}){0,2}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := alike.Draw(t, "a"), alike.Draw(t, "b")
		ida, idb := models.CommandID(models.CommandStart, a, "rev1", 1), models.CommandID(models.CommandStart, b, "rev1", 1)
		if (a == b) != (ida == idb) {
			t.Fatalf("%q and %q: %s and %s", a, b, ida, idb)
		}
		if models.CommandID(models.CommandResume, "r", a, 1) == models.CommandID(models.CommandResume, "r", b, 1) && a != b {
			t.Fatalf("causes %q and %q give one id", a, b)
		}
	})
}

func TestCommandAndMessageIDsAreStableAndClean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		target, cause, n := rapid.String().Draw(t, "target"), rapid.String().Draw(t, "cause"), rapid.IntRange(1, 99).Draw(t, "attempt")
		id := models.CommandID(models.CommandResume, target, cause, n)
		if !commandPattern.MatchString(id) || id != models.CommandID(models.CommandResume, target, cause, n) {
			t.Fatalf("id %q", id)
		}
		if id == models.CommandID(models.CommandResume, target, cause, n+1) || id == models.CommandID(models.CommandInterrupt, target, cause, n) {
			t.Fatal("attempt or type is not in the id")
		}
		m := models.MessageID(id)
		if m != models.MessageID(id) || m == models.MessageID(id+"x") || models.CheckID("message", m) != nil {
			t.Fatalf("message id %q", m)
		}
	})
	if got, want := models.MessageID("cmd_x"), "msg_"+models.ShortHash("cmd_x", 24); got != want {
		t.Errorf("message id %s, want %s: a retry after an upgrade would send twice", got, want)
	}
}

func TestCheckID(t *testing.T) {
	for _, id := range []string{"a", "7", "A-z_0.9", strings.Repeat("x", 64)} {
		if err := models.CheckID("team", id); err != nil {
			t.Errorf("%q refused: %v", id, err)
		}
	}
	for _, id := range []string{"", "a b", "a/b", "a:b", "ä", "a\n", ".", "..", "-x", "_x", ".a", strings.Repeat("x", 65)} {
		err := models.CheckID("team", id)
		if !models.IsCode(err, models.CodeInvalidArgument) || !strings.HasPrefix(err.Error(), "team: ") {
			t.Errorf("%q: %v", id, err)
		}
	}
	if err := models.CheckID("team", ""); err.Error() != "team: is required" {
		t.Errorf("an empty id: %v", err)
	}
}

func TestIDPartFitsAndStaysApart(t *testing.T) {
	if long := strings.Repeat("x", 64); models.IDPart(long) != long {
		t.Error("a part that fits was changed")
	}
	if got, want := models.IDPart(strings.Repeat("x", 65)), strings.Repeat("x", 55)+"_"+models.ShortHash(strings.Repeat("x", 65), 8); got != want || len(got) != models.MaxIDPart {
		t.Errorf("cut to %q, want %q", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		head := rapid.StringMatching(`[a-z]{60,64}`).Draw(t, "head")
		a, b := head+rapid.StringMatching(`[a-z]{0,9}`).Draw(t, "a"), head+rapid.StringMatching(`[a-z]{0,9}`).Draw(t, "b")
		pa, pb := models.IDPart(a), models.IDPart(b)
		if len(pa) > models.MaxIDPart || (a == b) != (pa == pb) {
			t.Fatalf("%q and %q: %q and %q", a, b, pa, pb)
		}
	})
}

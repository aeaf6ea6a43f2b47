package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"coxswain/models"
)

// stage is a ledger with a workspace and two teams in a folder of its own.
func stage(t *testing.T) map[string]string {
	t.Helper()
	env := map[string]string{"HOME": t.TempDir(), "COX_STATE_DIR": t.TempDir(), "COX_NODE": "n", "PATH": "/usr/bin:/bin"}
	runs(t, env, "workspace", "add", "--id", "site", t.TempDir())
	runs(t, env, "team", "create", "--workspace", "site", "web")
	runs(t, env, "team", "create", "--workspace", "site", "other")
	return env
}

func runs(t *testing.T, env map[string]string, args ...string) string {
	t.Helper()
	got := cox(t, env, args...)
	if got.code != 0 {
		t.Fatalf("%v: exit %d: %s", args, got.code, got.err)
	}
	return got.out
}

// followed is a follower under way: its lines, and how it ended.
type followed struct {
	lines chan string
	stop  context.CancelFunc
	code  chan int
	errs  *bytes.Buffer
}

// follow starts a follower. The library that parses command lines keeps state of its
// own meanwhile: run no other one here until the follower's first line was read.
func follow(t *testing.T, env map[string]string, args ...string) *followed {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	out, in := io.Pipe()
	f := &followed{lines: make(chan string, 1000), stop: stop, code: make(chan int, 1), errs: &bytes.Buffer{}}
	lookup := func(k string) (string, bool) { v, ok := env[k]; return v, ok }
	var done sync.WaitGroup
	done.Go(func() {
		f.code <- Main(ctx, append([]string{"cox", "events", "--follow"}, args...), lookup, IO{In: strings.NewReader(""), Out: in, Err: f.errs})
		_ = in.Close()
	})
	done.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			f.lines <- lines.Text()
		}
		close(f.lines)
	})
	t.Cleanup(func() { stop(); done.Wait() })
	return f
}

func (f *followed) next(t *testing.T) string {
	t.Helper()
	select {
	case line, open := <-f.lines:
		if !open {
			t.Fatalf("the follower ended: %s", f.errs)
		}
		return line
	case <-time.After(time.Minute):
		t.Fatal("no line within a minute")
		return ""
	}
}

func (f *followed) ends(t *testing.T) {
	t.Helper()
	f.stop()
	select {
	case code := <-f.code:
		if code != 0 || f.errs.Len() > 0 {
			t.Errorf("exit %d: %s", code, f.errs)
		}
	case <-time.After(time.Minute):
		t.Fatal("the follower does not end")
	}
}

// A follower shows what others write to the ledger, each event once and in order, and
// nothing else than was asked for; an interrupt is its normal end.
func TestEventsFollow(t *testing.T) {
	env := stage(t)
	runs(t, env, "assignment", "create", "--team", "web", "--title", "Before", "--id", "before")
	f := follow(t, env, "--json", "--team", "web", "--type", models.EventAssignmentCreated, "--after", "0")
	if line := f.next(t); !strings.Contains(line, `"before"`) {
		t.Errorf("the first line is %s", line)
	}
	for i, team := range []string{"web", "other", "web"} {
		for j := range 5 {
			id := "a" + strconv.Itoa(i) + "-" + strconv.Itoa(j)
			runs(t, env, "assignment", "create", "--team", team, "--title", "x", "--id", id)
		}
	}
	seen, last := map[string]bool{}, int64(0)
	for range 10 {
		var e models.Event
		if err := json.Unmarshal([]byte(f.next(t)), &e); err != nil {
			t.Fatal(err)
		}
		if seen[e.AssignmentID] || e.Sequence <= last || e.TeamID != "web" || e.Type != models.EventAssignmentCreated {
			t.Errorf("unexpected: %+v", e)
		}
		seen[e.AssignmentID], last = true, e.Sequence
	}
	f.ends(t)
}

// A person reads who ended an assignment, and why.
func TestFollowersTellWhoEndedAnAssignment(t *testing.T) {
	env := stage(t)
	for _, id := range []string{"one", "two", "three"} {
		runs(t, env, "assignment", "create", "--team", "web", "--title", "x", "--id", id)
	}
	runs(t, env, "assignment", "cancel", "--reason", "no use", "one")
	runs(t, env, "assignment", "supersede", "--by", "three", "--reason", "too big", "two")
	f := follow(t, env, "--after", "0", "--type", models.EventAssignmentCancelled, "--type", models.EventAssignmentSuperseded)
	for _, end := range []string{"no use", "too big"} {
		line := f.next(t)
		who, why, found := strings.Cut(line, ": "+end)
		if !found || why != "" || !strings.Contains(who, " by human:") || strings.Contains(line, "assignment_") {
			t.Errorf("it says %q", line)
		}
	}
	f.ends(t)
}

// Without a cursor a follower begins with what comes; with a limit it shows the last
// events first.
func TestEventsFollowBeginsNow(t *testing.T) {
	env := stage(t)
	for _, id := range []string{"one", "two"} {
		runs(t, env, "assignment", "create", "--team", "web", "--title", "x", "--id", id)
	}
	recent := follow(t, env, "--limit", "1", "--format", "{{.assignment_id}}")
	if line := recent.next(t); line != "two" {
		t.Errorf("the last event is of %q", line)
	}
	runs(t, env, "assignment", "cancel", "--reason", "no", "one")
	if line := recent.next(t); line != "one" {
		t.Errorf("the new event is of %q", line)
	}
	recent.ends(t)
	if line, more := <-recent.lines; more {
		t.Errorf("a line too many: %s", line)
	}
}

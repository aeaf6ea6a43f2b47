package e2e_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/models/ledger/pgtest"
)

// TestAcceptedOnPostgres runs a team from nothing to accepted work on a database
// server: up, loop, worker, bound servers of the threads, status and dry run. The
// password of the address is in no output, log, file or command line.
func TestAcceptedOnPostgres(t *testing.T) {
	t.Parallel()
	needTemporal(t)
	h := newHome(t)
	h.env["COX_DB"] = pgtest.Address(t)
	h.fails(4, "NOT_FOUND", "assignment", "list")
	if _, r := h.fails(2, "INVALID_ARGUMENT", "status", "--db", h.env["COX_DB"]); strings.Contains(r.stdout+r.stderr, pgtest.Password) {
		t.Errorf("the refusal of a password shows it:\n%s%s", r.stdout, r.stderr)
	}
	h.site()
	h.assign("first", "")
	h.assign("second", "", "--depends-on", "first")
	h.assign("fixed", "needs_fix_once")
	var plan planDoc
	h.ok(&plan, "loop", "--dry-run", "--adapter", "fake", "--team", theTeam)
	if len(plan.Teams) != 1 || len(plan.Teams[0].Commands) != 1 {
		t.Errorf("planned %+v", plan)
	}
	up := h.start("up", "--adapter", "fake", "--exit-when-done", "--port", "0", "--ui-port", "0", "--review-nudge-interval", "1s")
	h.claimed()
	noCommandLineHas(t, pgtest.Password)
	up.ends(0, 5*time.Minute)
	for _, id := range []string{"first", "second", "fixed"} {
		if a := h.shown(id); a.Status != models.AssignmentAccepted {
			t.Errorf("%s is %s", id, a.Status)
		}
	}
	l, err := ledger.Open(t.Context(), ledger.Options{Path: h.env["COX_DB"], StateDir: h.state(), MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if n := len(events(t, l, ledger.EventFilter{Types: []string{models.EventHandoffSubmitted}})); n != 4 {
		t.Errorf("%d handoffs", n)
	}
	if _, err := os.Stat(filepath.Join(h.state(), "ledger.db")); err == nil {
		t.Error("there is a ledger's file, too")
	}
	for _, command := range [][]string{{"status"}, {"report"}, {"doctor"}, {"config", "show"}, {"status", "--json"}, {"config", "show", "--json"}} {
		r := h.cox(command...)
		if strings.Contains(r.stdout+r.stderr, pgtest.Password) {
			t.Errorf("cox %s shows the password:\n%s%s", strings.Join(command, " "), r.stdout, r.stderr)
		}
	}
	if strings.Contains(up.out.String()+up.err.String(), pgtest.Password) {
		t.Errorf("cox up shows the password:\n%s%s", up.out.String(), up.err.String())
	}
	h.free(pgtest.Password)
}

// claimed waits until a thread holds work, so that worker, host and agent run.
func (h *home) claimed() {
	h.t.Helper()
	within(h.t, 2*time.Minute, "a run was claimed", func() bool {
		var doc struct{ Events []models.Event }
		h.ok(&doc, "events")
		return slices.ContainsFunc(doc.Events, func(e models.Event) bool { return e.Type == models.EventRunClaimed })
	})
}

// noCommandLineHas looks at the arguments of every process of the machine, as its
// users can.
func noCommandLineHas(t *testing.T, text string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		if line, err := os.ReadFile(path); err == nil && strings.Contains(string(line), text) {
			t.Errorf("a command line shows the password: %q", line)
		}
	}
}

// free demands that no file of the home holds a text.
func (h *home) free(text string) {
	h.t.Helper()
	err := filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(content), text) {
			h.t.Errorf("%s holds the password", path)
		}
		return err
	})
	if err != nil {
		h.t.Error(err)
	}
}

// TestCutConnectionsLoseNothing ends every connection of cox again and again while a
// team works: a server that is restarted costs time and no work is done twice.
func TestCutConnectionsLoseNothing(t *testing.T) {
	t.Parallel()
	needTemporal(t)
	h := newHome(t)
	// The name of its own keeps the connections of other tests from being cut.
	h.env["COX_DB"] = pgtest.Address(t) + "&application_name=cut"
	h.site()
	ids := []string{"one", "two", "three"}
	for _, id := range ids {
		h.assign(id, "")
	}
	up := h.start("up", "--adapter", "fake", "--exit-when-done", "--port", "0", "--ui-port", "0", "--max-concurrent-runs", "2", "--review-nudge-interval", "1s")
	up.says(2*time.Minute, "worker is ready") // a ledger that cannot be opened at all is refused at once
	conn := pgtest.Connect(t, h.env["COX_DB"])
	cut := 0
	within(t, 5*time.Minute, "the work has ended", func() bool {
		if up.hasEnded() {
			return true
		}
		var n int
		query := conn.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		  WHERE application_name = 'cut' AND pid <> pg_backend_pid() AND random() < 0.02`)
		if err := query.Scan(&n); err != nil {
			t.Fatal(err)
		}
		cut += n
		return false
	})
	up.ends(0, time.Minute)
	if cut == 0 {
		t.Error("no connection was cut")
	}
	l, err := ledger.Open(t.Context(), ledger.Options{Path: h.env["COX_DB"], StateDir: h.state(), MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, id := range ids {
		if a := h.shown(id); a.Status != models.AssignmentAccepted {
			t.Errorf("%s is %s", id, a.Status)
		}
		if n := len(events(t, l, ledger.EventFilter{AssignmentID: id, Types: []string{models.EventHandoffSubmitted}})); n != 1 {
			t.Errorf("%s has %d handoffs", id, n)
		}
	}
}

// TestTwoNodesShareALedger lets two workers with repositories and state directories of
// their own, as on two machines, serve one ledger and one Temporal.
func TestTwoNodesShareALedger(t *testing.T) {
	t.Parallel()
	e := shared.get(t)
	one, two := newHome(t), newHome(t)
	address := pgtest.Address(t)
	one.env["COX_DB"], two.env["COX_DB"] = address, address
	one.site()
	doc, _ := two.fails(7, "LEDGER_UNAVAILABLE", "assignment", "list")
	if !strings.Contains(doc.Error.Next, "ledger.key") {
		t.Errorf("what helps is %q", doc.Error.Next)
	}
	key, err := os.ReadFile(filepath.Join(one.state(), "ledger.key"))
	if err == nil {
		err = errors.Join(os.MkdirAll(two.state(), 0o700), os.WriteFile(filepath.Join(two.state(), "ledger.key"), key, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	two.cwd = two.repository()
	two.ok(&struct{}{}, "workspace", "add", "--id", "other", two.cwd)
	two.ok(&struct{}{}, "team", "create", "--workspace", "other", "others")
	one.assign("here", "")
	one.ok(&struct{}{}, "assignment", "create", "--team", "others", "--id", "there", "--title", "Do it there", "--path", "there.txt")

	first, second := one.start(upFor(e, theTeam)...), two.start(upFor(e, "others")...)
	first.ends(0, 5*time.Minute)
	second.ends(0, 5*time.Minute)
	nodes := map[string]string{}
	var list struct{ Runs []models.Run }
	two.ok(&list, "run", "list")
	for _, r := range list.Runs {
		nodes[r.AssignmentID] = r.NodeID
	}
	if len(nodes) != 2 || nodes["here"] == nodes["there"] || nodes["there"] != ledger.LocalNodeID(two.state()) {
		t.Errorf("the runs were at %v", nodes)
	}
	for _, id := range []string{"here", "there"} {
		if a := two.shown(id); a.Status != models.AssignmentAccepted {
			t.Errorf("%s is %s", id, a.Status)
		}
	}
}

// upFor covers one team on the shared Temporal until its work has ended.
func upFor(e engine, team string) []string {
	return []string{"up", "--adapter", "fake", "--exit-when-done", "--address", e.Address, "--team", team, "--review-nudge-interval", "1s"}
}

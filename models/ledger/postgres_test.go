package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/models/ledger/pgtest"
)

// refused demands an error of a code that helps on and shows no password.
func refused(t *testing.T, code models.Code, err error) *models.Error {
	t.Helper()
	e, ok := errors.AsType[*models.Error](err)
	if !ok || e.Code != code {
		t.Fatalf("want %s, have %v (%s)", code, err, models.CodeOf(err))
	}
	details, _ := json.Marshal(e.Details) // plain values
	for _, text := range []string{err.Error(), e.Next, string(details)} {
		if strings.Contains(text, pgtest.Password) {
			t.Errorf("the password is told: %s", text)
		}
	}
	if e.Next == "" {
		t.Errorf("no next step: %v", err)
	}
	return e
}

func site(t *testing.T, l *ledger.Ledger) {
	t.Helper()
	if _, err := l.RegisterWorkspace(t.Context(), ledger.As(person), ledger.NewWorkspace{ID: "w", RepoRoot: "/srv/w", NodeID: "n"}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.CreateTeam(t.Context(), ledger.As(person), ledger.NewTeam{ID: "t", WorkspaceID: "w"}); err != nil {
		t.Fatal(err)
	}
}

func assign(t *testing.T, l *ledger.Ledger, id string) error {
	t.Helper()
	_, err := l.CreateAssignment(t.Context(), ledger.As(person), models.NewAssignment{ID: id, TeamID: "t", Title: "Do " + id}, nil)
	return err
}

func with(t *testing.T, address, parameter, value string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(parameter, value)
	u.RawQuery = q.Encode()
	return u.String()
}

func TestAnAddressIsCheckedAndItsPasswordNeverTold(t *testing.T) {
	address := pgtest.Address(t)
	gone := with(t, address, "host", t.TempDir())
	home := t.TempDir()
	for name, c := range map[string]struct {
		path string
		code models.Code
	}{
		"no server":          {gone, models.CodeLedgerUnavailable},
		"no such schema":     {with(t, address, "search_path", "nowhere"), models.CodeLedgerUnavailable},
		"no such database":   {strings.Replace(address, "/postgres?", "/nowhere?", 1), models.CodeLedgerUnavailable},
		"another database":   {"mysql://cox:" + pgtest.Password + "@localhost/x", models.CodeInvalidArgument},
		"broken text":        {"postgres://cox:" + pgtest.Password + "@local host:x/%zz", models.CodeInvalidArgument},
		"unknown ssl mode":   {with(t, with(t, address, "host", "127.0.0.1"), "sslmode", "loud"), models.CodeInvalidArgument},
		"password parameter": {with(t, gone, "password", pgtest.Password), models.CodeLedgerUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ledger.Open(t.Context(), ledger.Options{Path: c.path, StateDir: home})
			refused(t, c.code, err)
		})
	}
	l := open(t, ledger.Options{Path: address, StateDir: home})
	status, err := l.Status(t.Context(), ledger.Sight{})
	if err != nil || !strings.HasPrefix(l.Path(), "postgres://cox@/postgres?") || status.Ledger != l.Path() {
		t.Errorf("shown as %s, %s, %v", l.Path(), status.Ledger, err)
	}
	if access := l.Access(); access.Env["COX_DB"] != address {
		t.Errorf("another process gets %v", access.Env)
	}
}

func TestOtherProcessesGetWhatTheServersClientsRead(t *testing.T) {
	address, home := pgtest.Address(t), t.TempDir()
	pass := filepath.Join(home, ".pgpass")
	if err := os.WriteFile(pass, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("PGPASSWORD", "also-"+pgtest.Password)
	l := open(t, ledger.Options{Path: address, StateDir: t.TempDir()})
	access := l.Access()
	if access.Env["PGPASSWORD"] != "also-"+pgtest.Password || access.Env["COX_DB"] != address {
		t.Errorf("other processes get %v", access.Env)
	}
	if !slices.Contains(access.Private, pass) {
		t.Errorf("agents may read the file of passwords: %v", access.Private)
	}
}

func TestALedgerThatMustExistIsNotMade(t *testing.T) {
	address := pgtest.Address(t)
	_, err := ledger.Open(t.Context(), ledger.Options{Path: address, StateDir: t.TempDir(), MustExist: true})
	refused(t, models.CodeNotFound, err)
	_, err = ledger.DryRun(t.Context(), address, nil, nil, nil)
	refused(t, models.CodeNotFound, err)
	var tables int
	row := pgtest.Connect(t, address).QueryRow(t.Context(), "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()")
	if err := row.Scan(&tables); err != nil || tables != 0 {
		t.Errorf("%d tables were made, %v", tables, err)
	}
}

func TestANewerSchemaStopsOpeningAndWriting(t *testing.T) {
	address := pgtest.Address(t)
	o := ledger.Options{Path: address, StateDir: t.TempDir()}
	l := open(t, o)
	site(t, l)
	pgtest.Execute(t, address, fmt.Sprintf("UPDATE meta SET value = '%d' WHERE key = 'schema'", ledger.SchemaVersion+1))
	refused(t, models.CodeSchemaVersionUnsupported, assign(t, l, "a"))
	_, err := ledger.Open(t.Context(), o)
	refused(t, models.CodeSchemaVersionUnsupported, err)
	_, err = ledger.DryRun(t.Context(), address, nil, nil, nil)
	refused(t, models.CodeSchemaVersionUnsupported, err)
	if all, err := l.Assignments(t.Context(), ledger.AssignmentFilter{}); err != nil || len(all) != 0 {
		t.Errorf("written all the same: %v, %v", all, err)
	}
}

func TestAnotherMachinesKeyIsRefused(t *testing.T) {
	address, home := pgtest.Address(t), t.TempDir()
	l := open(t, ledger.Options{Path: address, StateDir: home})
	token := l.BindingToken("b", 1)
	key, err := os.ReadFile(filepath.Join(home, "ledger.key"))
	if err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	_, err = ledger.Open(t.Context(), ledger.Options{Path: address, StateDir: other})
	refused(t, models.CodeLedgerUnavailable, err)
	if _, err := os.Stat(filepath.Join(other, "ledger.key")); err == nil {
		t.Error("a key was made that nobody can use")
	}
	if err := os.WriteFile(filepath.Join(other, "ledger.key"), slices.Repeat([]byte("0"), 64), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = ledger.Open(t.Context(), ledger.Options{Path: address, StateDir: other})
	refused(t, models.CodeLedgerUnavailable, err)
	if err := os.WriteFile(filepath.Join(other, "ledger.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	if again := open(t, ledger.Options{Path: address, StateDir: other}); again.BindingToken("b", 1) != token {
		t.Error("with the copied key the tokens differ")
	}
}

func TestTheServerKeepsEventsAppendOnlyAndDecisionsSingle(t *testing.T) {
	address := pgtest.Address(t)
	l := open(t, ledger.Options{Path: address, StateDir: t.TempDir()})
	site(t, l)
	before, err := l.Events(t.Context(), ledger.EventFilter{})
	if err != nil || len(before) == 0 {
		t.Fatalf("%d events, %v", len(before), err)
	}
	conn := pgtest.Connect(t, address)
	const decision = `INSERT INTO events (id, workspace_id, team_id, assignment_id, run_id, type, status, actor_id, actor_role, payload, reviewed_event_id, assignment_revision, created_at)
	  VALUES ('%s','w','t','','','integrator_review','integrator_accepted','x','human','{}','evt_1',0,0)`
	if _, err := conn.Exec(t.Context(), fmt.Sprintf(decision, "evt_a")); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"UPDATE events SET payload = '{}'", "DELETE FROM events", "TRUNCATE events", fmt.Sprintf(decision, "evt_b"),
		"INSERT INTO assignments SELECT 'x', workspace_id FROM teams", "UPDATE teams SET status = 'odd'",
	} {
		if _, err := conn.Exec(t.Context(), statement); err == nil {
			t.Errorf("allowed: %s", statement)
		}
	}
	after, err := l.Events(t.Context(), ledger.EventFilter{})
	if err != nil || len(after) != len(before)+1 || after[len(before)].Sequence != before[len(before)-1].Sequence+1 {
		t.Errorf("%d events became %d, %v", len(before), len(after), err)
	}
}

func TestAWriterThatWaitsTooLongIsTold(t *testing.T) {
	address := pgtest.Address(t)
	l := open(t, ledger.Options{Path: address, StateDir: t.TempDir(), LockTimeout: 50 * time.Millisecond})
	site(t, l)
	holder := pgtest.Connect(t, with(t, address, "application_name", "a-writer"))
	tx, err := holder.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock(hashtextextended('cox ledger ' || current_schema(), 0))"); err != nil {
		t.Fatal(err)
	}
	if e := refused(t, models.CodeLedgerBusy, assign(t, l, "a")); e.Details["holder"] != "a-writer" || !strings.Contains(e.Next, "a-writer") {
		t.Errorf("who holds it: %v, %s", e.Details, e.Next)
	}
	if _, err := l.Assignments(t.Context(), ledger.AssignmentFilter{}); err != nil {
		t.Errorf("a reader waits for a writer: %v", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := assign(t, l, "a"); err != nil {
		t.Errorf("after the lock is free: %v", err)
	}
}

func TestATransactionThatTheServerGaveUpIsRunAgain(t *testing.T) {
	address := pgtest.Address(t)
	l := open(t, ledger.Options{Path: address, StateDir: t.TempDir()})
	site(t, l)
	pgtest.Execute(t, address, `CREATE SEQUENCE tries;
	  CREATE FUNCTION fail_twice() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	    IF nextval('tries') < 3 THEN RAISE EXCEPTION 'deadlock' USING ERRCODE = 'deadlock_detected'; END IF;
	    RETURN NEW; END $$;
	  CREATE TRIGGER fail_twice BEFORE INSERT ON assignments FOR EACH ROW EXECUTE FUNCTION fail_twice();`)
	if err := assign(t, l, "a"); err != nil {
		t.Fatal(err)
	}
	if events, err := l.Events(t.Context(), ledger.EventFilter{AssignmentID: "a"}); err != nil || len(events) != 1 {
		t.Errorf("%d events, %v", len(events), err)
	}
	pgtest.Execute(t, address, "ALTER SEQUENCE tries RESTART MINVALUE -1000 START -1000; ALTER SEQUENCE tries RESTART")
	refused(t, models.CodeLedgerBusy, assign(t, l, "b"))
}

func TestALostConnectionHurtsOneCallAtMost(t *testing.T) {
	address := pgtest.Address(t)
	l := open(t, ledger.Options{Path: address, StateDir: t.TempDir()})
	site(t, l)
	watch, err := l.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := watch.Close(); err != nil {
			t.Error(err)
		}
	}()
	if changed, err := watch.Changed(t.Context()); changed || err != nil {
		t.Errorf("changed %t, %v before any commit", changed, err)
	}
	pgtest.Execute(t, address, fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'cox %d on %%' AND pid <> pg_backend_pid()", os.Getpid()))
	for tries := 0; ; tries++ {
		if err := assign(t, l, "a"); err == nil {
			break
		} else if tries > 0 {
			t.Fatalf("the second call after the loss: %v", err)
		} else {
			refused(t, models.CodeLedgerUnavailable, err)
		}
	}
	seen(t, watch, "the reconnection", nil)
	seen(t, watch, "a commit after it", func() error { return l.WakeTeam(context.Background(), "w", "t") })
}

// seen waits until the watch notices something; act, where given, is repeated, since
// the connection may not be back yet.
func seen(t *testing.T, w *ledger.Watch, what string, act func() error) {
	t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if changed, err := w.Changed(t.Context()); changed && err == nil {
			return
		}
		if act != nil {
			if err := act(); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("the watch does not notice %s", what)
		}
	}
}

func TestIDsSortByTheirBytes(t *testing.T) {
	onBoth(t, func(t *testing.T, at place) {
		l := open(t, at(t))
		site(t, l)
		ids := []string{"b", "a", "B", "A-1", "A.1", "a_1", "A", "10", "9"}
		for _, id := range ids {
			if _, err := l.RegisterActor(t.Context(), ledger.As(person), models.Actor{ID: id}); err != nil {
				t.Fatal(err)
			}
		}
		actors, err := l.Actors(t.Context(), models.RoleAgent)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(ids)
		for i, a := range actors {
			if a.ID != ids[i] {
				t.Fatalf("place %d is %s, want %s", i, a.ID, ids[i])
			}
		}
	})
}

func TestADryRunOnAServerChangesNothing(t *testing.T) {
	address := pgtest.Address(t)
	l := open(t, ledger.Options{Path: address, StateDir: t.TempDir()})
	site(t, l)
	if err := assign(t, l, "a"); err != nil {
		t.Fatal(err)
	}
	before := dump(t, address)
	plans, err := ledger.DryRun(t.Context(), address, nil,
		func(ctx context.Context, l *ledger.Ledger) ([]string, error) {
			if err := l.WakeTeam(ctx, "w", "t"); err == nil {
				t.Error("a dry run can write")
			}
			return []string{"t"}, nil
		},
		func(s models.LoopSettings) models.LoopSettings {
			s.Enabled, s.AdapterKind, s.MaxConcurrentRuns = true, models.AdapterKindFake, 1
			return s
		})
	if err != nil || len(plans) != 1 || len(plans[0].Commands) != 1 || plans[0].Commands[0].AssignmentID != "a" {
		t.Errorf("planned %+v, %v", plans, err)
	}
	if after := dump(t, address); !slices.Equal(before, after) {
		t.Errorf("changed from\n%v\nto\n%v", before, after)
	}
}

// dump reads every row of every table as text.
func dump(t *testing.T, address string) []string {
	t.Helper()
	conn := pgtest.Connect(t, address)
	tables := texts(t, conn, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1")
	var out []string
	for _, name := range tables {
		for _, row := range texts(t, conn, "SELECT t::text FROM "+pgx.Identifier{name}.Sanitize()+" t ORDER BY 1") {
			out = append(out, name+" "+row)
		}
	}
	return out
}

func texts(t *testing.T, conn *pgx.Conn, query string) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return out
}

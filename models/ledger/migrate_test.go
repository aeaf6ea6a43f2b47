package ledger_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pressly/goose/v3"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/models/ledger/pgtest"
)

// firstSchema makes a ledger file as the first version left it, with a team.
func firstSchema(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, os.DirFS(filepath.Join("migrations", "sqlite")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.UpTo(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"PRAGMA user_version = 1",
		"INSERT INTO meta (key, value) VALUES ('instance', '0123456789abcdef0123456789abcdef'), ('epoch', '1')",
		"INSERT INTO actors VALUES ('boss','integrator','integrator','boss','local','active','{}',0,0,0)",
		"INSERT INTO workspaces VALUES ('site','site','/repo/site','','main','node-1','active',0,'{}',1,0,0)",
		"INSERT INTO teams (id, workspace_id, name, owner_actor_id, status, loop, settings, version, created_at, updated_at) VALUES ('web','site','web','boss','active','{}','{}',1,0,0)",
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return path
}

// An older ledger is backed up, brought up to date with everything in it, and
// used at once.
func TestAnOlderLedgerIsMigrated(t *testing.T) {
	path := firstSchema(t)
	l, err := ledger.Open(t.Context(), ledger.Options{Path: path, MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if l.Instance() != "0123456789abcdef0123456789abcdef" {
		t.Errorf("the instance became %s", l.Instance())
	}
	ann := models.Principal{ActorID: "human:ann", Role: models.RoleHuman}
	team, err := l.CreateTeam(t.Context(), ledger.As(ann), ledger.NewTeam{ID: "web", WorkspaceID: "site", PhaseKey: "phase-2"})
	if err != nil || team.PhaseKey != "phase-2" || team.OwnerActorID != "boss" {
		t.Errorf("%+v, %v", team, err)
	}
	names, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	backups := 0
	for _, n := range names {
		if strings.HasSuffix(n.Name(), ".backup") && strings.Contains(n.Name(), ".v1-") {
			backups++
		}
	}
	if backups != 1 {
		t.Errorf("%d backups among %v", backups, names)
	}
}

// On a server an older ledger is brought up to date by whoever comes first, with
// everything in it, and the others use it.
func TestAnOlderLedgerOnAServerIsMigrated(t *testing.T) {
	address := pgtest.Address(t)
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, os.DirFS(filepath.Join("migrations", "postgres")))
	if err == nil {
		_, err = provider.UpTo(t.Context(), 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Execute(t, address, `INSERT INTO meta (key, value) VALUES ('instance', '0123456789abcdef0123456789abcdef'), ('epoch', '1'), ('schema', '1');
	  INSERT INTO actors VALUES ('boss','integrator','integrator','boss','local','active','{}',0,0,0);
	  INSERT INTO workspaces VALUES ('site','site','/repo/site','','main','node-1','active',0,'{}',1,0,0);
	  INSERT INTO teams (id, workspace_id, name, owner_actor_id, status, loop, settings, version, created_at, updated_at) VALUES ('web','site','web','boss','active','{}','{}',1,0,0)`)
	o := ledger.Options{Path: address, StateDir: t.TempDir(), MustExist: true}
	var group sync.WaitGroup
	for range rivals {
		group.Go(func() {
			l, err := ledger.Open(context.Background(), o)
			if err != nil {
				t.Errorf("one of many who open at once: %v", err)
				return
			}
			if l.Instance() != "0123456789abcdef0123456789abcdef" {
				t.Errorf("the instance became %s", l.Instance())
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	team, err := open(t, o).CreateTeam(t.Context(), ledger.As(person), ledger.NewTeam{ID: "web", WorkspaceID: "site", PhaseKey: "phase-2"})
	if err != nil || team.PhaseKey != "phase-2" || team.OwnerActorID != "boss" {
		t.Errorf("%+v, %v", team, err)
	}
}

package ledger_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"

	"coxswain/models"
	"coxswain/models/ledger"
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

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coxswain/models/ledger/pgtest"
)

// TestMain lets the test's own executable be the writers that the bench starts.
func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		os.Exit(run(context.Background(), nil, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(pgtest.Main(m))
}

// On a server, too, every row has a figure, no call fails and none is lost; and the
// server is left as it was.
func TestATinyRunOnPostgres(t *testing.T) {
	address := pgtest.Address(t)
	t.Setenv(serverEnv, address)
	var out bytes.Buffer
	if code := run(t.Context(), []string{"--tiny", "--dir", t.TempDir(), "--only", "postgres"}, nil, &out, io.Discard); code != 0 {
		t.Fatalf("exit code %d: %s", code, out.String())
	}
	doc := strict(t, out.Bytes())
	if len(doc.Rows) != 6 {
		t.Errorf("there are %d rows", len(doc.Rows))
	}
	for _, r := range doc.Rows {
		if r.Figure == nil || r.Unit == "calls" && *r.Figure != 0 {
			t.Errorf("%+v", r)
		}
	}
	var left int
	query := pgtest.Connect(t, address).QueryRow(t.Context(), "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'cox_bench%'")
	if err := query.Scan(&left); err != nil || left != 0 {
		t.Errorf("%d schemas are left over, %v", left, err)
	}
}

// A tiny run prints one valid document with a figure in every row. Whether targets
// are met is never asked here.
func TestATinyRunPrintsAValidDocument(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	code := run(t.Context(), []string{"--tiny", "--dir", dir, "--only", "ledger,contention,queries"}, nil, &out, io.Discard)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, out.String())
	}
	doc := strict(t, out.Bytes())
	if doc.At.IsZero() || doc.Machine.Cores == 0 || doc.Machine.Go == "" {
		t.Fatalf("the document does not say when and where: %+v", doc)
	}
	seen := map[string]bool{}
	for _, r := range doc.Rows {
		switch {
		case r.Name == "" || r.Unit == "" || seen[r.Name]:
			t.Errorf("a row without a name or unit of its own: %+v", r)
		case r.Figure == nil:
			t.Errorf("%s has no figure: %v", r.Name, r.Detail)
		case (r.Target == nil) != (r.Met == nil):
			t.Errorf("%s: target and verdict do not go together", r.Name)
		}
		seen[r.Name] = true
	}
	if len(doc.Rows) != 4+4+5 {
		t.Errorf("there are %d rows: %v", len(doc.Rows), seen)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("files are left over: %v %v", left, err)
	}
}

// The counts that need no clock are true also of a tiny run.
func TestManyWritersLoseNothing(t *testing.T) {
	b := &bench{scale: tinyScale(), dir: t.TempDir(), progress: io.Discard}
	for _, kind := range []string{childLedger, childBare} {
		c, err := b.crowd(t.Context(), kind, 3)
		if err != nil {
			t.Fatal(err)
		}
		if c.Done == 0 || c.Errors != 0 || c.found != c.Done {
			t.Errorf("%s: %+v, %d rows found", kind, c.tally, c.found)
		}
	}
}

// The bare statements are the product's own, those that write included.
func TestTheBareStatementsAreRecorded(t *testing.T) {
	decision, beat, err := recordCalls(t.Context(), filepath.Join(t.TempDir(), "recorded.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"INSERT INTO `assignments`", "INSERT INTO `events`", "INTO wakeups", "INSERT INTO `requests`"} {
		if !contains(decision, want) {
			t.Errorf("a decision misses %s: %v", want, decision)
		}
	}
	for _, want := range []string{"PRAGMA user_version", "INSERT INTO `events`", `UPDATE "runs"`, `UPDATE "assignments"`, `UPDATE "tasks"`} {
		if !contains(beat, want) {
			t.Errorf("a heartbeat misses %s: %v", want, beat)
		}
	}
}

func TestAFailedMeasureIsARowAndAnExitCode(t *testing.T) {
	t.Setenv("COX_BIN", "")
	var out bytes.Buffer
	if code := run(t.Context(), []string{"--tiny", "--dir", t.TempDir(), "--only", "process"}, nil, &out, io.Discard); code != 1 {
		t.Fatalf("exit code %d", code)
	}
	doc := strict(t, out.Bytes())
	if len(doc.Rows) != 1 || doc.Rows[0].Figure != nil || *doc.Rows[0].Met || !strings.Contains(doc.Rows[0].Detail["error"].(string), "COX_BIN") {
		t.Fatalf("the row does not say what failed: %+v", doc.Rows)
	}
}

func TestAnUnknownMeasureIsRefused(t *testing.T) {
	var out, progress bytes.Buffer
	if code := run(t.Context(), []string{"--only", "speed"}, nil, &out, &progress); code != 2 || out.Len() != 0 {
		t.Fatalf("exit code %d, output %q", code, out.String())
	}
	if !strings.Contains(progress.String(), "contention") {
		t.Errorf("the refusal does not name the measures: %s", progress.String())
	}
}

// strict decodes exactly one document of the known fields.
func strict(t *testing.T, text []byte) document {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var doc document
	if err := d.Decode(&doc); err != nil {
		t.Fatalf("no document: %v\n%s", err, text)
	}
	if d.More() {
		t.Fatalf("more than one document:\n%s", text)
	}
	return doc
}

func contains(list []statement, part string) bool {
	for _, s := range list {
		if strings.Contains(s.sql, part) {
			return true
		}
	}
	return false
}

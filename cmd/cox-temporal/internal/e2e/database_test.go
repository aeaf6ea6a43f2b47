package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/durationpb"
)

const month = 720 * time.Hour

func TestSecondServerOnOneFileIsRefused(t *testing.T) {
	db := filepath.Join(t.TempDir(), "state", "temporal.db")
	first := start(t, "-f", db, "--headless")
	got := run(t, "--json", "--port", "0", "--ui-port", "0", "-f", db)
	if got.code != 3 {
		t.Fatalf("exit %d, stderr %q", got.code, got.stderr)
	}
	for _, part := range []string{strconv.Itoa(first.PID), first.Address, "next:"} {
		if !strings.Contains(got.stderr, part) {
			t.Errorf("stderr %q does not say %q", got.stderr, part)
		}
	}
	var doc struct {
		Error struct {
			Details struct {
				PID     int
				Address string
			}
		}
	}
	if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil || doc.Error.Details.PID != first.PID || doc.Error.Details.Address != first.Address {
		t.Errorf("stdout %q, error %v", got.stdout, err)
	}
	if info, err := os.Stat(db); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("database mode %v, error %v", info, err)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if info, err := os.Stat(db + suffix); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, error %v", suffix, info, err)
		}
	}
}

func TestRestartBringsAnExistingFileUpToDate(t *testing.T) {
	db := filepath.Join(t.TempDir(), "temporal.db")
	first := start(t, "-f", db, "--headless", "-n", "crew", "--search-attribute", "CoxTeam=Keyword")
	c := first.dial(t)
	if got := retentionOf(t, c, "crew"); got != month {
		t.Errorf("retention of a new namespace is %s", got)
	}
	_, err := c.WorkflowService().UpdateNamespace(deadline(t), &workflowservice.UpdateNamespaceRequest{
		Namespace: "crew", Config: &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(24 * time.Hour)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if code := first.stop(t); code != 0 {
		t.Fatalf("exit %d: %s", code, first.stderr)
	}

	second := start(t, "-f", db, "--headless", "-n", "crew", "-n", "other", "--search-attribute", "CoxTeam=Keyword", "--search-attribute", "CoxCount=Int")
	c = second.dial(t)
	for _, namespace := range []string{"crew", "other"} {
		if got := retentionOf(t, c, namespace); got != month {
			t.Errorf("retention of %s is %s, want %s", namespace, got, month)
		}
		got := attributesOf(t, c, namespace)
		if got["CoxTeam"] != enumspb.INDEXED_VALUE_TYPE_KEYWORD || got["CoxCount"] != enumspb.INDEXED_VALUE_TYPE_INT {
			t.Errorf("search attributes of %s: %v", namespace, got)
		}
	}
	work(t, c)
	wantGreeting(t, greet(t, c, client.StartWorkflowOptions{ // usable at once, not at the next cache refresh
		TypedSearchAttributes: temporal.NewSearchAttributes(temporal.NewSearchAttributeKeyInt64("CoxCount").ValueSet(1)),
	}))
}

func TestSearchAttributeKeepsItsType(t *testing.T) {
	db := filepath.Join(t.TempDir(), "temporal.db")
	if code := start(t, "-f", db, "--headless", "--search-attribute", "CoxTeam=Keyword").stop(t); code != 0 {
		t.Fatalf("exit %d", code)
	}
	got := run(t, "-f", db, "--headless", "--port", "0", "--search-attribute", "CoxTeam=Int")
	if got.code != 2 || !strings.Contains(got.stderr, "CoxTeam") || !strings.Contains(got.stderr, "Keyword") {
		t.Errorf("exit %d, stderr %q", got.code, got.stderr)
	}
	if got := run(t, "--headless", "--port", "0", "--search-attribute", "WorkflowId=Keyword"); got.code != 2 {
		t.Errorf("a reserved name: exit %d, stderr %q", got.code, got.stderr)
	}
}

func retentionOf(t *testing.T, c client.Client, namespace string) time.Duration {
	t.Helper()
	got, err := c.WorkflowService().DescribeNamespace(deadline(t), &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	return got.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
}

func attributesOf(t *testing.T, c client.Client, namespace string) map[string]enumspb.IndexedValueType {
	t.Helper()
	got, err := c.OperatorService().ListSearchAttributes(deadline(t), &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	return got.GetCustomAttributes()
}

func TestDatabaseOfAnotherVersionIsRefusedUnchanged(t *testing.T) {
	db := filepath.Join(t.TempDir(), "temporal.db")
	if code := start(t, "-f", db, "--headless").stop(t); code != 0 {
		t.Fatalf("exit %d", code)
	}
	stamp := read(t, db+".json")
	older := strings.Replace(stamp, "1.32.0", "1.31.9", 1)
	if older == stamp {
		t.Fatalf("the stamp %s names no server version", stamp)
	}
	write(t, db+".json", older)
	content := read(t, db)

	got := run(t, "-f", db, "--headless", "--port", "0")
	if got.code != 7 || !strings.Contains(got.stderr, "1.31.9") || !strings.Contains(got.stderr, "1.32.0") || !strings.Contains(got.stderr, "next:") {
		t.Errorf("exit %d, stderr %q", got.code, got.stderr)
	}
	if read(t, db) != content || read(t, db+".json") != older {
		t.Error("the refused database or its stamp changed")
	}
	write(t, db+".json", stamp)
	start(t, "-f", db, "--headless")
}

func TestKilledServerKeepsItsWorkflows(t *testing.T) {
	db := filepath.Join(t.TempDir(), `odd name %41?x=1#y.db`)
	first := start(t, "-f", db, "--headless")
	if first.Database != db {
		t.Errorf("the ready line names %q, want %q", first.Database, db)
	}
	cluster := clusterOf(t, first)
	handle := greet(t, first.dial(t), client.StartWorkflowOptions{ID: "survivor"})
	if err := first.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	first.wait(t)

	second := start(t, "-f", db, "--headless")
	if got := clusterOf(t, second); got != cluster || got == "" {
		t.Errorf("cluster id was %q, is %q", cluster, got)
	}
	c := second.dial(t)
	work(t, c)
	wantGreeting(t, c.GetWorkflow(deadline(t), "survivor", handle.GetRunID()))

	names := entries(t, filepath.Dir(db))
	for _, name := range names {
		if !strings.HasPrefix(name, filepath.Base(db)) {
			t.Errorf("a file of another name beside the database: %v", names)
		}
	}
	if !slices.Contains(names, filepath.Base(db)) {
		t.Errorf("no database among %v", names)
	}
}

func clusterOf(t *testing.T, p *process) string {
	t.Helper()
	got, err := p.dial(t).WorkflowService().GetClusterInfo(deadline(t), &workflowservice.GetClusterInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return got.GetClusterId()
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

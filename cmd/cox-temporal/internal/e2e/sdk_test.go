package e2e_test

import (
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const queue = "e2e"

// Greet is the least a workflow can do: wait a moment and answer.
func Greet(ctx workflow.Context, name string) (string, error) {
	if err := workflow.Sleep(ctx, time.Millisecond); err != nil {
		return "", err
	}
	return "hello " + name, nil
}

// work runs a worker for Greet until the test ends.
func work(t *testing.T, c client.Client) {
	t.Helper()
	w := worker.New(c, queue, worker.Options{})
	w.RegisterWorkflow(Greet)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
}

// greet starts a workflow.
func greet(t *testing.T, c client.Client, o client.StartWorkflowOptions) client.WorkflowRun {
	t.Helper()
	o.TaskQueue = queue
	handle, err := c.ExecuteWorkflow(deadline(t), o, Greet, "crew")
	if err != nil {
		t.Fatal(err)
	}
	return handle
}

// wantGreeting waits for a workflow's result.
func wantGreeting(t *testing.T, handle client.WorkflowRun) {
	t.Helper()
	var got string
	if err := handle.Get(deadline(t), &got); err != nil || got != "hello crew" {
		t.Fatalf("result %q, error %v", got, err)
	}
}

func TestStartDevServerOfTheSDK(t *testing.T) {
	team := temporal.NewSearchAttributeKeyKeyword("CoxTeam")
	server, err := testsuite.StartDevServer(deadline(t), testsuite.DevServerOptions{
		ExistingPath:     binary,
		ClientOptions:    &client.Options{Namespace: "sdk", Logger: quiet{}},
		DBFilename:       filepath.Join(t.TempDir(), "sdk.db"),
		EnableUI:         true,
		UIPort:           "0",
		LogFormat:        "pretty",
		LogLevel:         "error",
		SearchAttributes: temporal.NewSearchAttributes(team.ValueSet("")),
	})
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	t.Cleanup(func() {
		if !stopped {
			_ = server.Stop() // the test has failed already
		}
	})
	work(t, server.Client())
	wantGreeting(t, greet(t, server.Client(), client.StartWorkflowOptions{
		ID:                    "greeting",
		TypedSearchAttributes: temporal.NewSearchAttributes(team.ValueSet("blue")),
	}))
	stopped = true
	if err := server.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func TestIDIsFreeAgainAtOnce(t *testing.T) {
	p := start(t, "--headless")
	c := p.dial(t)
	work(t, c)
	for range 3 { // each well within the second that the server would demand
		wantGreeting(t, greet(t, c, client.StartWorkflowOptions{ID: "again"}))
	}
}

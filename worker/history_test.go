package worker_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"

	"coxswain/workflows"
)

var update = flag.Bool("update", false, "record testdata/histories from this run")

// history reads the whole history of a workflow of the ledger.
func (c *crew) history(cl client.Client, id string) *historypb.History {
	c.Helper()
	h := &historypb.History{}
	for it := cl.GetWorkflowHistory(c.Context(), workflows.ID(c.l.Prefix(), id), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		e, err := it.Next()
		ok(c.T, err)
		h.Events = append(h.Events, e)
	}
	return h
}

// keepHistories records one history per workflow type with -update, and one that
// must not replay.
func (c *crew) keepHistories(taking map[string]string) {
	c.Helper()
	if !*update {
		return
	}
	cl := c.dial()
	dir := filepath.Join("..", "testdata", "histories")
	ok(c.T, os.MkdirAll(filepath.Join(dir, "known-bad"), 0o750))
	longest := map[string]*historypb.History{}
	for id := range taking {
		kind, _, _ := strings.Cut(id, ":")
		if h := c.history(cl, id); len(h.GetEvents()) > len(longest[kind].GetEvents()) {
			longest[kind] = h
		}
	}
	for kind, h := range longest {
		c.write(filepath.Join(dir, kind+".json"), h)
	}
	bad, _ := proto.Clone(longest["assignment"]).(*historypb.History)
	for _, e := range bad.GetEvents() {
		if a := e.GetActivityTaskScheduledEventAttributes(); a != nil {
			a.ActivityType.Name = "AnotherActivity"
		}
	}
	c.write(filepath.Join(dir, "known-bad", "assignment.json"), bad)
}

// write scrubs a history of the machine and writes it.
func (c *crew) write(path string, h *historypb.History) {
	c.Helper()
	for _, e := range h.GetEvents() {
		if a := e.GetWorkflowTaskScheduledEventAttributes(); a.GetTaskQueue().GetKind() == enumspb.TASK_QUEUE_KIND_STICKY {
			a.TaskQueue.Name = "sticky"
		}
		if a := e.GetWorkflowTaskCompletedEventAttributes(); a != nil {
			a.WorkerVersion = nil //nolint:staticcheck // the checksum of the test's executable
		}
	}
	text, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(h)
	ok(c.T, err)
	text = regexp.MustCompile(`"identity":\s*"[^"]*"`).ReplaceAll(text, []byte(`"identity": "cox"`))
	text = []byte(strings.ReplaceAll(string(text), c.l.Prefix(), "01234567"))
	host, err := os.Hostname()
	ok(c.T, err)
	if strings.Contains(string(text), host) || !json.Valid(text) {
		c.Fatalf("the history for %s names the host", path)
	}
	ok(c.T, os.WriteFile(path, append(text, '\n'), 0o600))
}

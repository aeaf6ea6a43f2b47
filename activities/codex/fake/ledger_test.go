package fake_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"coxswain/activities/codex"
	"coxswain/models"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// scene is a ledger of one assignment that the coordination server of the tests
// keeps in a file, together with the calls it got.
type scene struct {
	Tools      []string
	Assignment models.Assignment
	Events     []models.Event
	Pending    []models.PendingReview
	Stale      int                    // so many changes meet a newer revision
	Refuse     map[string]models.Code // by tool
	Calls      []call
}

type call struct {
	Tool         string
	Args         map[string]any
	Thread, Turn string
	CallID       string
	Environment  []string
}

func scenePath(dir string) string { return filepath.Join(dir, "scene.json") }

func readScene(dir string) (s scene, err error) {
	data, err := os.ReadFile(scenePath(dir))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(data, &s)
}

func writeScene(dir string, s scene) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(scenePath(dir), data, 0o600)
}

// serveLedger is the server's process.
func serveLedger(dir string) error {
	s, err := readScene(dir)
	if err != nil {
		return err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "cox", Version: "test"}, nil)
	for _, name := range s.Tools {
		tool := &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}
		server.AddTool(tool, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return handle(dir, r.Params)
		})
	}
	return server.Run(context.Background(), &mcp.StdioTransport{})
}

func handle(dir string, p *mcp.CallToolParamsRaw) (*mcp.CallToolResult, error) {
	s, err := readScene(dir)
	if err != nil {
		return nil, err
	}
	c := call{Tool: p.Name, Environment: os.Environ()}
	if err := json.Unmarshal(p.Arguments, &c.Args); err != nil {
		return nil, err
	}
	meta, _ := p.Meta["x-codex-turn-metadata"].(map[string]any)
	c.Thread, _ = p.Meta["threadId"].(string)
	c.CallID, _ = p.Meta["callId"].(string)
	c.Turn, _ = meta["turn_id"].(string)
	s.Calls = append(s.Calls, c)
	answer, code := s.answer(c)
	if err := writeScene(dir, s); err != nil {
		return nil, err
	}
	answer["ok"] = code == ""
	if code != "" {
		answer["error"] = map[string]any{"code": code, "message": "refused by the test"}
	}
	data, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: string(data)}}, StructuredContent: json.RawMessage(data), IsError: code != "",
	}, nil
}

// answer plays the ledger's rules as far as the agents depend on them.
func (s *scene) answer(c call) (map[string]any, models.Code) {
	out := map[string]any{}
	if code := s.Refuse[c.Tool]; code != "" {
		return out, code
	}
	if base, ok := c.Args["base_revision"].(float64); ok {
		if s.Stale > 0 {
			s.Stale--
			s.Assignment.Revision++
		}
		if int(base) != s.Assignment.Revision {
			return out, models.CodeStaleRevision
		}
		s.Assignment.Revision++
	}
	switch c.Tool {
	case "get_assignment_detail":
		return map[string]any{"assignment": s.Assignment, "events": s.Events}, ""
	case "list_pending_reviews":
		return map[string]any{"pending_reviews": s.Pending}, ""
	case "submit_handoff":
		s.Assignment.Status = models.AssignmentAwaitingReview
	case "accept_event":
		s.Assignment.Status = models.AssignmentAccepted
	case "reject_event":
		s.Assignment.Status = models.AssignmentRejected
	case "review_event":
		s.record(models.EventIntegratorReview, fmt.Sprint(c.Args["decision_status"]))
	case "request_intervention":
		s.record(models.EventInterventionRequested, models.EventObserved)
	}
	return out, ""
}

func (s *scene) record(kind, status string) {
	s.Events = append(s.Events, models.Event{ID: fmt.Sprintf("evt_%d", len(s.Events)), Type: kind, Status: status})
}

// stage is a bench whose threads have the coordination server.
type stage struct {
	*bench
	ledger string // folder of the scene
}

func newStage(t *testing.T, s scene) *stage {
	t.Helper()
	st := &stage{bench: newBench(t, nil), ledger: t.TempDir()}
	if s.Assignment.ID == "" {
		s.Assignment = models.Assignment{
			ID: "task-1", Title: "a task", Status: models.AssignmentClaimed, Revision: 2, ActiveRunID: "run_1",
			AllowedPaths: []string{"docs/**"},
		}
	}
	if err := writeScene(st.ledger, s); err != nil {
		t.Fatal(err)
	}
	st.spec.MCP = codex.MCPServer{Name: "cox", Command: os.Args[0], Args: []string{"mcp", st.ledger}, Env: map[string]string{"COX_TOKEN": "token"}}
	return st
}

func workerTools() []string {
	return []string{"get_assignment_detail", "heartbeat_run", "request_intervention", "submit_handoff"}
}

func integratorTools() []string {
	return []string{"get_assignment_detail", "list_pending_reviews", "accept_event", "reject_event", "review_event"}
}

func (s *stage) scene() scene {
	s.Helper()
	out, err := readScene(s.ledger)
	if err != nil {
		s.Fatal(err)
	}
	return out
}

// change rewrites the scene between two turns.
func (s *stage) change(fn func(*scene)) {
	s.Helper()
	now := s.scene()
	fn(&now)
	if err := writeScene(s.ledger, now); err != nil {
		s.Fatal(err)
	}
}

// called lists the tools called since the scene began or was cleared.
func (s *stage) called() []string {
	s.Helper()
	var out []string
	for _, c := range s.scene().Calls {
		out = append(out, c.Tool)
	}
	return out
}

// last returns the newest call of a tool.
func (s *stage) last(tool string) call {
	s.Helper()
	calls := s.scene().Calls
	for _, made := range slices.Backward(calls) {
		if made.Tool == tool {
			return made
		}
	}
	s.Fatalf("%s was not called: %v", tool, s.called())
	return call{}
}

func behave(text string) models.Assignment {
	return models.Assignment{
		ID: "task-1", Title: "a task", Status: models.AssignmentClaimed, Revision: 2, ActiveRunID: "run_1",
		AllowedPaths: []string{"docs/**"}, Metadata: map[string]any{"fake": map[string]any{"behaviour": text}},
	}
}

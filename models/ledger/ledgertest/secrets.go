package ledgertest

import (
	"strings"

	"coxswain/models"
	"coxswain/models/ledger"
)

func secretTests() map[string]func(*env) {
	return map[string]func(*env){
		"secret/refused_in_every_free_text": secretFields,
		"secret/refused_in_the_caller":      secretCaller,
		"secret/innocent_texts_pass":        secretInnocent,
	}
}

// secretCaller puts a token into the parts of a call that are no arguments.
func secretCaller(e *env) {
	const token = "ghp_" + "0123456789abcdefABCDEF0123456789abcd"
	n := models.NewAssignment{ID: "n", TeamID: crew, Title: "t"}
	_, err := e.l.CreateAssignment(e.ctx, ledger.As(boss).Request(token), n, nil)
	same(e, "field", e.refused(models.CodeSecretDetected, err).Details["field"], any("request_id"))
	_, err = e.l.CreateAssignment(e.ctx, ledger.As(models.Principal{ActorID: token, Role: models.RoleHuman}), n, nil)
	same(e, "field", e.refused(models.CodeSecretDetected, err).Details["field"], any("actor_id"))
}

// secretFields puts a key header into each free text and demands the refusal, its
// field, and that nothing was stored.
func secretFields(e *env) {
	const value = "-----BEGIN OPENSSH PRIVATE KEY-----"
	e.create("one")
	c := e.claim(agentA, "one")
	ev := e.ask(agentA, c.Run.ID, "which?")
	hidden := map[string]any{"outer": []any{map[string]any{"inner": value}}}
	calls := map[string]func() error{
		"payload.outer[0].inner": func() error {
			_, err := e.l.AppendEvent(e.ctx, ledger.As(agentA), ledger.AppendRequest{AssignmentID: "one", Type: "t", Payload: hidden})
			return err
		},
		"binding_patch.outer[0].inner": func() error {
			_, err := e.l.RecordRunBinding(e.ctx, ledger.As(agentA), c.Run.ID, hidden, nil)
			return err
		},
		"event_payload.outer[0].inner": func() error {
			_, err := e.l.RecordRunBinding(e.ctx, ledger.As(agentA), c.Run.ID, nil, hidden)
			return err
		},
		"summary": func() error { _, err := e.l.HeartbeatRun(e.ctx, ledger.As(agentA), c.Run.ID, value); return err },
		"prompt": func() error {
			_, err := e.l.RequestIntervention(e.ctx, ledger.As(agentA), c.Run.ID, value, "", nil)
			return err
		},
		"response": func() error { return e.answer(ann, ev.ID, value) },
		"note": func() error {
			_, err := e.l.Decide(e.ctx, ledger.As(boss), ledger.DecideRequest{EventID: ev.ID, Decision: models.DecisionAccept, Note: value})
			return err
		},
		"reason": func() error { _, err := e.l.CancelAssignment(e.ctx, ledger.As(boss), "one", nil, value); return err },
		"interactive_url": func() error {
			_, err := e.l.ClaimAssignment(e.ctx, ledger.As(agentA), ledger.ClaimRequest{AssignmentID: "one", InteractiveURL: value})
			return err
		},
		"title": func() error {
			_, err := e.l.CreateAssignment(e.ctx, ledger.As(boss), models.NewAssignment{ID: "n", TeamID: crew, Title: value}, nil)
			return err
		},
		"acceptance_criteria[1]": func() error {
			_, err := e.l.CreateAssignment(e.ctx, ledger.As(boss), models.NewAssignment{ID: "n", TeamID: crew, Title: "t", AcceptanceCriteria: []string{"ok", value}}, nil)
			return err
		},
		"capabilities.outer[0].inner": func() error {
			_, err := e.l.RegisterActor(e.ctx, ledger.As(ann), models.Actor{ID: "a", Capabilities: hidden})
			return err
		},
		"settings.(a key)": func() error {
			_, err := e.l.CreateTeam(e.ctx, ledger.As(ann), ledger.NewTeam{ID: "t", WorkspaceID: space, Settings: map[string]any{value: 1}})
			return err
		},
	}
	for field, call := range calls {
		refusal := e.unchanged("one", models.CodeSecretDetected, call)
		same(e, "field", refusal.Details["field"], any(field))
		same(e, "rule", refusal.Details["rule"], any("private-key"))
		same(e, "the value stays out", strings.Contains(refusal.Error()+refusal.Next, "OPENSSH"), false)
	}
	_, err := e.l.Assignment(e.ctx, "n")
	e.refused(models.CodeNotFound, err)
}

func secretInnocent(e *env) {
	e.create("one")
	c := e.claim(agentA, "one")
	_, err := e.l.AppendEvent(e.ctx, ledger.As(agentA), ledger.AppendRequest{AssignmentID: "one", Type: "evidence_report", Payload: map[string]any{ //nolint:gosec // innocent look-alikes are the point
		"head_commit": commit, "token_count": 1234, "tokens": map[string]any{"total": 5}, "max_tokens": "8000",
		"link": "codex://threads/019f2093-3b06-7310-bc1f-08ccc3e4f917", "thread": "019f2093-3b06-7310-bc1f-08ccc3e4f917",
		"sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "password": "<redacted>", "token": "env:GITHUB_TOKEN",
		"text": "The API key comes from $API_KEY; never log the secret. Basic authentication works, bearer tokens too. Cookie handling is next.",
		"run":  "idempotency key: " + c.Run.ID + " of cmd_start_assignment_task_abc_rev7_attempt1", "url": "https://example.com/a?b=c#d@e",
	}})
	e.ok(err)
}

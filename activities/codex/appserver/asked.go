package appserver

import (
	"encoding/json"
	"fmt"
	"strings"

	"coxswain/activities/codex"
	"coxswain/activities/codex/commandline"
	"coxswain/models"
)

// wireAsk is the union of the parameters of the server's requests.
type wireAsk struct {
	ThreadID   string          `json:"threadId"`
	TurnID     string          `json:"turnId"`
	ItemID     string          `json:"itemId"`
	Command    string          `json:"command"`
	CWD        string          `json:"cwd"`
	Reason     string          `json:"reason"`
	GrantRoot  string          `json:"grantRoot"`
	Additional json.RawMessage `json:"additionalPermissions"`
	Network    *struct {
		Host     string `json:"host"`
		Protocol string `json:"protocol"`
	} `json:"networkApprovalContext"`
	Permissions json.RawMessage `json:"permissions"`
	Questions   []struct {
		ID       string `json:"id"`
		Header   string `json:"header"`
		Question string `json:"question"`
		IsSecret bool   `json:"isSecret"`
		Options  []struct {
			Label       string `json:"label"`
			Description string `json:"description"`
		} `json:"options"`
	} `json:"questions"`
	ServerName string `json:"serverName"`
	Message    string `json:"message"`
	Meta       struct {
		Kind string `json:"codex_approval_kind"`
		Tool string `json:"tool_name"`
	} `json:"_meta"`
}

// readRequest reads a request of the server. What is not understood stays empty, and
// no policy accepts the unknown.
func (h *Host) readRequest(m message) *waitingRequest {
	var p wireAsk
	_ = decode(m.Params, &p) // what cannot be read stays an unknown request, which no policy accepts
	if p.TurnID == "" {      // an elicitation may leave it out
		p.TurnID = h.turns.of(p.ThreadID)
	}
	r := &waitingRequest{
		raw: append(json.RawMessage(nil), m.ID...), method: m.Method, threadID: p.ThreadID, turnID: p.TurnID,
		asked: models.ApprovalRequest{Kind: models.RequestUnknown},
	}
	switch m.Method {
	case askCommand:
		r.asked = p.command()
	case askFiles:
		r.asked = models.ApprovalRequest{Kind: models.RequestFiles, Files: h.patches.of(p.ItemID)}
		if p.GrantRoot != "" {
			r.asked.Widening = []string{"write to everything under " + p.GrantRoot + " for the rest of the session"}
		}
	case askPermissions:
		r.asked = models.ApprovalRequest{Kind: models.RequestPermissions, CWD: p.CWD, Widening: widenings(p.Permissions)}
		r.granted = p.Permissions
	case askElicitation:
		r.asked = models.ApprovalRequest{Kind: models.RequestTool, Server: p.ServerName}
		if p.Meta.Kind == "mcp_tool_call" {
			r.asked.Tool = p.Meta.Tool
		}
		p.Reason = first(p.Reason, p.Message)
	case askInput:
		r.asked = models.ApprovalRequest{Kind: models.RequestInput, Questions: p.questions()}
	}
	r.asked.Reason = cut(p.Reason, maxItemText)
	return r
}

func (p wireAsk) command() models.ApprovalRequest {
	r := commandline.Request(p.Command, p.CWD)
	r.Widening = widenings(p.Additional)
	if p.Network != nil {
		r.Widening = append(r.Widening, strings.TrimSpace(fmt.Sprintf("network access to %s %s", p.Network.Host, p.Network.Protocol)))
	}
	return r
}

func (p wireAsk) questions() []models.InputQuestion {
	out := make([]models.InputQuestion, 0, len(p.Questions))
	for _, q := range p.Questions {
		one := models.InputQuestion{ID: q.ID, Text: strings.TrimSpace(strings.TrimSuffix(q.Header+": "+q.Question, ": ")), Secret: q.IsSecret}
		for _, o := range q.Options {
			one.Options = append(one.Options, strings.TrimSuffix(o.Label+": "+o.Description, ": "))
		}
		out = append(out, one)
	}
	return out
}

// widenings words additional permissions: what they open is shown as it is.
func widenings(permissions json.RawMessage) []string {
	var p struct {
		Network    json.RawMessage `json:"network"`
		FileSystem json.RawMessage `json:"fileSystem"`
	}
	if len(permissions) == 0 || string(permissions) == "null" {
		return nil
	}
	if decode(permissions, &p) != nil {
		return []string{"permissions that are not understood"}
	}
	var out []string
	if len(p.Network) > 0 && string(p.Network) != "null" {
		out = append(out, "network "+cut(string(p.Network), 500))
	}
	if len(p.FileSystem) > 0 && string(p.FileSystem) != "null" {
		out = append(out, "files "+cut(string(p.FileSystem), 2000))
	}
	if len(out) == 0 {
		out = []string{"permissions " + cut(string(permissions), 500)}
	}
	return out
}

// detail is one line for logs and events, without arguments of tools.
func (r *waitingRequest) detail() string {
	text := r.asked.Command
	switch r.asked.Kind {
	case models.RequestTool:
		text = strings.Trim(r.asked.Server+"/"+r.asked.Tool, "/")
	case models.RequestFiles:
		paths := make([]string, 0, len(r.asked.Files))
		for _, f := range r.asked.Files {
			paths = append(paths, f.Path)
		}
		text = strings.Join(paths, " ")
	case models.RequestPermissions:
		text = strings.Join(r.asked.Widening, "; ")
	case models.RequestCommand, models.RequestInput, models.RequestUnknown:
	}
	return cut(text, 500)
}

// answerable tells whether there is wording for a person's answer. Secrets are never
// asked through the ledger.
func (r *waitingRequest) answerable() bool {
	if r.asked.Kind != models.RequestInput {
		return r.result(codex.Answer{Verdict: models.VerdictDecline}) != nil
	}
	for _, q := range r.asked.Questions {
		if q.Secret {
			return false
		}
	}
	return len(r.asked.Questions) > 0
}

// result words an answer for the request's method, nil when there is no wording.
// There is none for "for the session".
func (r *waitingRequest) result(a codex.Answer) any {
	accepted := a.Verdict == models.VerdictAccept
	if r.asked.Kind == models.RequestInput {
		return r.words(a)
	}
	if !accepted && a.Verdict != models.VerdictDecline {
		return nil
	}
	switch r.method {
	case askCommand, askFiles:
		return map[string]any{"decision": string(a.Verdict)}
	case askPermissions:
		granted := json.RawMessage(`{}`)
		if accepted {
			granted = r.granted
		}
		return map[string]any{"permissions": granted, "scope": "turn"}
	case askElicitation:
		if accepted {
			return map[string]any{"action": "accept", "content": map[string]any{}}
		}
		return map[string]any{"action": "decline"}
	}
	return nil
}

// words answers questions. Declined ones have no answers, which the agent is told.
func (r *waitingRequest) words(a codex.Answer) any {
	answers := map[string]any{}
	if a.Verdict == models.VerdictAccept {
		return nil
	}
	for _, q := range r.asked.Questions {
		said := []string{}
		if a.Verdict == models.VerdictAnswer {
			said = []string{a.Words}
		}
		answers[q.ID] = map[string]any{"answers": said}
	}
	return map[string]any{"answers": answers}
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

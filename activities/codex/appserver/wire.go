package appserver

import (
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"coxswain/activities/codex"
)

// maxItemText is the longest text of an Item, in bytes.
const maxItemText = 4 << 10

// decode reads a value leniently: a field of another type than expected, as a
// later Codex may send, is left out instead of hiding the rest.
func decode(data json.RawMessage, into any) error {
	var mismatch *json.UnmarshalTypeError
	if err := json.Unmarshal(data, into); err != nil && !errors.As(err, &mismatch) {
		return err
	}
	return nil
}

type wireStatus struct {
	Type        string   `json:"type"`
	ActiveFlags []string `json:"activeFlags"`
}

type wireThread struct {
	ID     string     `json:"id"`
	CWD    string     `json:"cwd"`
	Status wireStatus `json:"status"`
}

func (t wireThread) thread() codex.Thread {
	status := map[string]codex.ThreadStatus{
		"idle": codex.ThreadIdle, "active": codex.ThreadActive, "systemError": codex.ThreadError,
	}[t.Status.Type]
	if status == "" {
		status = codex.ThreadNotLoaded
	}
	return codex.Thread{ID: t.ID, Status: status, CWD: t.CWD, Asking: len(t.Status.ActiveFlags) > 0}
}

type wireTurn struct {
	ID          string     `json:"id"`
	Status      string     `json:"status"`
	Error       *turnError `json:"error"`
	StartedAt   int64      `json:"startedAt"`   // seconds; null reads as 0
	CompletedAt int64      `json:"completedAt"` // seconds; null reads as 0
}

func (t wireTurn) turn() codex.Turn {
	out := codex.Turn{ID: t.ID, StartedAt: seconds(t.StartedAt), EndedAt: seconds(t.CompletedAt)}
	switch t.Status {
	case "completed":
		out.Status = codex.TurnCompleted
	case "interrupted":
		out.Status = codex.TurnInterrupted
	case "failed":
		out.Status = codex.TurnFailed
	default:
		out.Status = codex.TurnInProgress
	}
	if t.Error != nil && out.Status == codex.TurnFailed {
		out.Error, out.ErrorKind = cut(t.Error.Message, maxItemText), t.Error.kind()
	}
	return out
}

func seconds(s int64) time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(s, 0).UTC()
}

type turnError struct {
	Message string          `json:"message"`
	Info    json.RawMessage `json:"codexErrorInfo"`
}

// errorKinds maps the names of codexErrorInfo to Turn.ErrorKind.
var errorKinds = map[string]string{
	"rateLimitExceeded":              "rate_limit",
	"usageLimitExceeded":             "usage_limit",
	"sessionBudgetExceeded":          "usage_limit",
	"internalServerError":            "server",
	"serverOverloaded":               "server",
	"flexUnavailable":                "server",
	"policyCapacityUnavailable":      "server",
	"unauthorized":                   "auth",
	"contextWindowExceeded":          "context",
	"httpConnectionFailed":           "connection",
	"responseStreamConnectionFailed": "connection",
	"responseStreamDisconnected":     "connection",
	"responseTooManyFailedAttempts":  "connection",
}

// kind classifies the failure. codexErrorInfo is a name, or an object with one
// name and possibly the HTTP status, which then decides.
func (e *turnError) kind() string {
	var name string
	if json.Unmarshal(e.Info, &name) != nil {
		var object map[string]struct {
			Status int `json:"httpStatusCode"`
		}
		if json.Unmarshal(e.Info, &object) != nil {
			return "other"
		}
		for n, detail := range object { // one entry
			name = n
			if kind := statusKind(detail.Status); kind != "" {
				return kind
			}
		}
	}
	if kind := errorKinds[name]; kind != "" {
		return kind
	}
	if strings.Contains(e.Message, "stream disconnected") || strings.Contains(e.Message, "idle timeout") {
		return "connection" // reported as "other"
	}
	return "other"
}

func statusKind(status int) string {
	switch {
	case status == 429:
		return "rate_limit"
	case status == 401 || status == 403:
		return "auth"
	case status >= 500:
		return "server"
	}
	return ""
}

type wireItem struct {
	ID       string      `json:"id"`
	Type     string      `json:"type"`
	ClientID string      `json:"clientId"`
	Status   string      `json:"status"`
	Text     string      `json:"text"`
	Content  wireContent `json:"content"`
	Command  string      `json:"command"`
	Server   string      `json:"server"`
	Tool     string      `json:"tool"`
	Error    *struct {
		Message string `json:"message"`
	} `json:"error"`
	Changes []struct {
		Path string `json:"path"`
	} `json:"changes"`
}

// wireContent is a user message's parts. Other items use the name for other
// shapes, which mean nothing here.
type wireContent string

// UnmarshalJSON joins the text parts and ignores what is none.
func (c *wireContent) UnmarshalJSON(data []byte) error {
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(data, &parts) != nil {
		return nil //nolint:nilerr // another shape has no text for us, and is no error
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	*c = wireContent(b.String())
	return nil
}

func (i wireItem) item(turnID string) codex.Item {
	out := codex.Item{ID: i.ID, TurnID: turnID, Type: i.Type, ClientID: i.ClientID, Status: i.Status}
	switch i.Type {
	case "userMessage":
		out.Text = string(i.Content)
	case "commandExecution":
		out.Text = i.Command
	case "mcpToolCall", "dynamicToolCall":
		out.Text = strings.Trim(i.Server+"/"+i.Tool, "/")
	case "fileChange":
		paths := make([]string, len(i.Changes))
		for n, c := range i.Changes {
			paths[n] = c.Path
		}
		out.Text = strings.Join(paths, "\n")
	default:
		out.Text = i.Text
	}
	out.Text = cut(out.Text, maxItemText)
	return out
}

// cut shortens a text to at most n bytes without splitting a character. What it cuts
// off may be megabytes, which the short text must not keep in memory.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return strings.Clone(text[:n])
}

package e2e_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

// get asks the Web UI for a path, with a Host and an Origin that may be foreign.
func get(t *testing.T, target, host, origin string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(deadline(t), http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	return send(t, http.DefaultClient, r)
}

func send(t *testing.T, c *http.Client, r *http.Request) (status int, body string) {
	t.Helper()
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(raw)
}

func TestWebUIAnswersOnlyItsOwnPages(t *testing.T) {
	p := start(t, "-n", "crew")
	ui, err := url.Parse(p.UI)
	if err != nil {
		t.Fatal(err)
	}
	own := "http://" + ui.Host
	for _, path := range []string{"/", "/api/v1/settings", "/api/v1/namespaces/crew/workflows", "/healthz"} {
		if status, body := get(t, p.UI+path, ui.Host, ""); status != http.StatusOK {
			t.Errorf("GET %s: %d %s", path, status, body)
		}
		if status, _ := get(t, p.UI+path, "localhost:"+ui.Port(), own); status != http.StatusOK {
			t.Errorf("GET %s from its own page: %d", path, status)
		}
		if status, body := get(t, p.UI+path, "rebound.example:"+ui.Port(), ""); status != http.StatusForbidden || !strings.Contains(body, "refused") {
			t.Errorf("GET %s with a foreign Host: %d %s", path, status, body)
		}
		if status, body := get(t, p.UI+path, ui.Host, "http://evil.example"); status != http.StatusForbidden || !strings.Contains(body, "refused") {
			t.Errorf("GET %s from a foreign page: %d %s", path, status, body)
		}
	}
	if _, body := get(t, p.UI+"/", ui.Host, ""); !strings.Contains(body, "<html") {
		t.Errorf("the first page is %.200q", body)
	}
}

func TestWebUIOffersCancelAndTerminateOnly(t *testing.T) {
	p := start(t)
	ui, err := url.Parse(p.UI)
	if err != nil {
		t.Fatal(err)
	}
	_, body := get(t, p.UI+"/api/v1/settings", ui.Host, "")
	var got map[string]any
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err, body)
	}
	for field, want := range map[string]bool{
		"StartWorkflowDisabled": true, "WorkflowSignalDisabled": true, "WorkflowUpdateDisabled": true,
		"WorkflowResetDisabled": true, "WorkflowPauseDisabled": true, "BatchActionsDisabled": true,
		"ActivityCommandsDisabled": true, "DisableNewsFetch": true,
		"WorkflowCancelDisabled": false, "WorkflowTerminateDisabled": false, "DisableWriteActions": false,
	} {
		if got[field] != want {
			t.Errorf("setting %s is %v, want %t", field, got[field], want)
		}
	}
}

// A write goes through only as the UI's own page sends it: with its token.
func TestWebUIWrites(t *testing.T) {
	p := start(t)
	greet(t, p.dial(t), client.StartWorkflowOptions{ID: "target"})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	page, err := http.NewRequestWithContext(deadline(t), http.MethodGet, p.UI+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	send(t, browser, page) // the page sets the token
	post := func(path string) (int, string) {
		r, err := http.NewRequestWithContext(deadline(t), http.MethodPost, p.UI+"/api/v1/namespaces/default/workflows/target"+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", p.UI)
		for _, cookie := range jar.Cookies(r.URL) {
			r.Header.Set("X-CSRF-Token", cookie.Value)
		}
		return send(t, browser, r)
	}
	for _, path := range []string{"/signal/wake", "/reset", "/update/u", "-new"} {
		if status, body := post(path); status != http.StatusForbidden || !strings.Contains(body, "switched off") {
			t.Errorf("POST %s: %d %s", path, status, body)
		}
	}
	if status, body := post("/terminate"); status != http.StatusOK {
		t.Fatalf("terminate: %d %s", status, body)
	}
	got, err := p.dial(t).DescribeWorkflowExecution(deadline(t), "target", "")
	if err != nil {
		t.Fatal(err)
	}
	if status := got.GetWorkflowExecutionInfo().GetStatus(); status != enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED {
		t.Errorf("the workflow is %s", status)
	}
}

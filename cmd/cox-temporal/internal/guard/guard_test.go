package guard_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"coxswain/cmd/cox-temporal/internal/guard"
)

// serve sends one request through a guard on 127.0.0.1:8233 and reports the
// answer and whether the UI behind it was reached.
func serve(t *testing.T, r *http.Request) (answer *httptest.ResponseRecorder, reached bool) {
	t.Helper()
	ui := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { reached = true; w.WriteHeader(http.StatusOK) })
	answer = httptest.NewRecorder()
	guard.New(ui, "127.0.0.1", 8233).ServeHTTP(answer, r)
	return answer, reached
}

func request(method, host, path string, origins ...string) *http.Request {
	r := httptest.NewRequest(method, "http://placeholder"+path, nil)
	r.Host = host
	for _, o := range origins {
		r.Header.Add("Origin", o)
	}
	return r
}

func TestOwnAddressesReachTheUI(t *testing.T) {
	for _, r := range []*http.Request{
		request("GET", "127.0.0.1:8233", "/"),
		request("GET", "localhost:8233", "/namespaces"),
		request("GET", "LOCALHOST:8233", "/"),
		request("HEAD", "[::1]:8233", "/"),
		request("GET", "127.0.0.1:8233", "/api/v1/settings", "http://localhost:8233"),
		request("POST", "127.0.0.1:8233", "/api/v1/namespaces/default/workflows/w/cancel", "http://127.0.0.1:8233"),
		request("POST", "127.0.0.1:8233", "/api/v1/namespaces/default/workflows/a%2Fb/terminate"),
		request("POST", "127.0.0.1:8233", "/api/v1/namespaces/default/workflows/w/query/__stack_trace"),
	} {
		if answer, reached := serve(t, r); !reached || answer.Code != http.StatusOK {
			t.Errorf("%s %s%s Origin %q: refused with %d %s", r.Method, r.Host, r.URL.EscapedPath(), r.Header["Origin"], answer.Code, answer.Body)
		}
	}
}

func TestForeignHostsAndOriginsAreRefused(t *testing.T) {
	for _, r := range []*http.Request{
		request("GET", "evil.example:8233", "/"),
		request("GET", "127.0.0.1", "/"),
		request("GET", "127.0.0.1:80", "/"),
		request("GET", "127.0.0.1.evil.example:8233", "/"),
		request("GET", "localhost:8233@evil.example", "/"),
		request("GET", "", "/"),
		request("GET", "127.0.0.1:8233", "/", "http://evil.example:8233"),
		request("GET", "127.0.0.1:8233", "/", "https://127.0.0.1:8233"),
		request("GET", "127.0.0.1:8233", "/", "http://127.0.0.1:9999"),
		request("GET", "127.0.0.1:8233", "/", "null"),
		request("GET", "127.0.0.1:8233", "/", ""),
		request("GET", "127.0.0.1:8233", "/", "http://127.0.0.1:8233", "http://evil.example"),
	} {
		answer, reached := serve(t, r)
		if reached || answer.Code != http.StatusForbidden {
			t.Errorf("Host %q Origin %q: reached=%t status=%d, want a refusal", r.Host, r.Header["Origin"], reached, answer.Code)
		}
		if !strings.Contains(answer.Body.String(), "http://127.0.0.1:8233") {
			t.Errorf("the refusal %q does not say where to go", answer.Body)
		}
	}
}

func TestOtherWritesAreRefused(t *testing.T) {
	const workflows = "/api/v1/namespaces/default/workflows/"
	for _, path := range []string{
		workflows + "w", workflows + "w/signal/s", workflows + "w/update/u", workflows + "w/reset",
		workflows + "w/signal-with-start/s", workflows + "w/cancel/more", workflows + "w%2Fcancel",
		"/api/v1/namespaces/default/batch-operations/b", "/api/v1/namespaces", "/cancel",
		"/other" + workflows + "w/cancel", "/api/v1/namespaces/default/schedules/s",
	} {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			answer, reached := serve(t, request(method, "127.0.0.1:8233", path))
			if reached || answer.Code != http.StatusForbidden {
				t.Errorf("%s %s: reached=%t status=%d, want a refusal", method, path, reached, answer.Code)
			}
		}
	}
}

func TestRefusalUnderTheAPIIsJSON(t *testing.T) {
	answer, _ := serve(t, request("POST", "127.0.0.1:8233", "/api/v1/namespaces/default/workflows/w"))
	var body struct {
		Code    int
		Message string
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil {
		t.Fatalf("answer %q is not JSON: %v", answer.Body, err)
	}
	if body.Code != 7 || !strings.Contains(body.Message, "switched off") {
		t.Errorf("answer is %+v", body)
	}
}

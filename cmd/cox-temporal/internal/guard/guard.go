package guard

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// codePermissionDenied is gRPC's number for a refused call; the UI shows the
// message of an API answer that carries it.
const codePermissionDenied = 7

// allowedWrites are the API calls that change or run something and stay open.
// The path is matched as sent (escaped), so an id with an encoded slash cannot
// pose as another call.
var allowedWrites = regexp.MustCompile(
	`^/api/v1/namespaces/[^/]+/workflows/[^/]+/(cancel|terminate|query/[^/]+)$`)

// Guard is the check in front of one listener.
type Guard struct {
	next  http.Handler
	home  string // the address a refused person is pointed to
	hosts map[string]bool
}

// New returns a guard in front of next for a listener on ip and port. Besides ip
// itself the names 127.0.0.1, localhost and [::1] are ours.
func New(next http.Handler, ip string, port int) *Guard {
	suffix := strconv.Itoa(port)
	hosts := make(map[string]bool)
	for _, name := range []string{ip, "127.0.0.1", "localhost", "::1"} {
		hosts[net.JoinHostPort(name, suffix)] = true
	}
	return &Guard{next: next, home: "http://" + net.JoinHostPort(ip, suffix), hosts: hosts}
}

// ServeHTTP passes the request on or answers 403 with the reason.
func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if reason := g.refusal(r); reason != "" {
		refuse(w, r, reason)
		return
	}
	g.next.ServeHTTP(w, r)
}

// refusal returns why the request is refused, or "" when it may pass.
func (g *Guard) refusal(r *http.Request) string {
	if !g.hosts[strings.ToLower(r.Host)] {
		return fmt.Sprintf("the Host %q is not this Web UI's address; open %s instead", r.Host, g.home)
	}
	for _, origin := range r.Header.Values("Origin") {
		if !g.ownOrigin(origin) {
			return fmt.Sprintf("requests from the page %q are not accepted; open %s instead", origin, g.home)
		}
	}
	if !reads(r.Method) && !allowedWrites.MatchString(r.URL.EscapedPath()) {
		return fmt.Sprintf("%s %s is switched off here; use the cox command for it", r.Method, r.URL.EscapedPath())
	}
	return ""
}

// ownOrigin tells whether an Origin header names this listener over plain HTTP,
// the only scheme it speaks. The literal "null" of a sandboxed page is foreign.
func (g *Guard) ownOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == "http" && g.hosts[strings.ToLower(u.Host)]
}

// reads tells whether a method only reads.
func reads(method string) bool {
	return method == http.MethodGet || method == http.MethodHead
}

// refuse answers 403: as JSON under /api/, where scripts read it, else as text.
func refuse(w http.ResponseWriter, r *http.Request, reason string) {
	message := "refused: " + reason
	if !strings.HasPrefix(r.URL.Path, "/api/") {
		http.Error(w, message, http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	body := map[string]any{"code": codePermissionDenied, "message": message}
	_ = json.NewEncoder(w).Encode(body) // the client went away: nobody is left to tell
}

package e2e_test

import (
	"bytes"
	"context"
	"html"
	"image/png"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"coxswain/models/ledger"
	"coxswain/workflows"
)

// TestWebUIShowsCardAndAttributes looks at an assignment's workflow page in a
// headless Chromium, as a user would. COX_E2E_SHOTS names a folder that keeps the
// screenshots.
func TestWebUIShowsCardAndAttributes(t *testing.T) {
	t.Parallel()
	needTemporal(t)
	chromium := findChromium(t)
	h := newHome(t)
	p := h.start("up", "--demo", "--fake-pace", "0")
	p.says(demoLimit, "every assignment has ended")
	state := h.demoState()
	found := regexp.MustCompile(`Temporal at (\S+), Web UI at (\S+)`).FindStringSubmatch(p.out.String())
	if found == nil {
		t.Fatalf("no address of the Web UI in:\n%s", p.out.String())
	}
	e := engine{Address: found[1], UI: found[2], Namespace: workflows.DefaultNamespace}
	const assignment = "greet-the-crew"
	front := workflows.Front{Client: dial(t, e), Prefix: h.ledger(state).Prefix()}
	card, err := front.Card(t.Context(), ledger.AssignmentWorkflow(assignment))
	if err != nil {
		t.Fatal(err)
	}
	workflow, err := front.Describe(t.Context(), ledger.AssignmentWorkflow(assignment))
	if err != nil {
		t.Fatal(err)
	}
	page := e.UI + "/namespaces/" + e.Namespace + "/workflows/" + url.PathEscape(workflow.WorkflowID) + "/" + workflow.RunID

	details := h.dom(chromium, page+"/user-metadata", card.Text)
	if !strings.Contains(card.Text, assignment) || !strings.Contains(details, card.Text) {
		t.Errorf("the page does not show the card %q", card.Text)
	}
	attributes := plain(h.dom(chromium, page+"/search-attributes", workflows.AttrStatus.GetName()))
	for name, value := range map[string]string{
		"CoxWorkspace": "demo", "CoxTeam": "demo-crew", "CoxAssignment": assignment,
		"CoxActor": "codex-worker-" + assignment, "CoxStatus": "accepted",
	} {
		if !strings.Contains(attributes, `"`+name+`": "`+value+`"`) {
			t.Errorf("the page does not show %s = %s", name, value)
		}
	}
	for name, at := range map[string]string{"card.png": "/user-metadata", "attributes.png": "/search-attributes"} {
		h.screenshot(chromium, page+at, name)
	}
	p.interrupt()
}

// findChromium skips the test without a browser; where the environment promises
// one, that is a failure.
func findChromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const why = "no Chromium on the PATH: apt-get install chromium"
	if os.Getenv("CI") == "true" && os.Getenv("COX_BROWSER") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
	return ""
}

// dom loads a page and returns its document, and the texts of its frames, once it
// contains a text. A page that is slow to fill is loaded again.
func (h *home) dom(chromium, page, text string) string {
	h.t.Helper()
	var shown string
	until(90*time.Second, func() bool {
		shown = html.UnescapeString(h.browse(chromium, "--dump-dom", page))
		for _, frame := range rendered.FindAllStringSubmatch(shown, -1) {
			if text, err := url.PathUnescape(frame[1]); err == nil {
				shown += "\n" + text
			}
		}
		return strings.Contains(shown, text)
	})
	return shown
}

// rendered is a frame in which the Web UI shows a text of a workflow.
var rendered = regexp.MustCompile(`src="/render\?content=([^"&]*)`)

// plain is the visible text of a document, with single spaces.
func plain(document string) string {
	for _, cut := range []string{`(?s)<(script|style).*?</(script|style)>`, `<[^>]*>`} {
		document = regexp.MustCompile(cut).ReplaceAllString(document, "")
	}
	document = strings.Join(strings.Fields(document), " ")
	return regexp.MustCompile(`"\s*:\s*"`).ReplaceAllString(document, `": "`)
}

// screenshot takes a picture of a page and checks that something is on it.
func (h *home) screenshot(chromium, page, name string) {
	h.t.Helper()
	dir := os.Getenv("COX_E2E_SHOTS")
	if dir == "" {
		dir = h.dir
	}
	path := filepath.Join(dir, name)
	h.browse(chromium, "--screenshot="+path, page)
	raw, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		h.t.Fatal(err)
	}
	colours := map[[4]uint32]bool{}
	for x := 0; x < picture.Bounds().Dx(); x += 3 {
		for y := 0; y < picture.Bounds().Dy(); y += 3 {
			r, g, b, a := picture.At(x, y).RGBA()
			colours[[4]uint32{r, g, b, a}] = true
		}
	}
	if len(colours) < 20 {
		h.t.Errorf("%s has %d colours: nothing is on it", name, len(colours))
	}
}

// browse runs Chromium once.
func (h *home) browse(chromium, action, page string) string {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--user-data-dir="+filepath.Join(h.dir, "chromium"), "--window-size=1400,1100", "--virtual-time-budget=15000", action, page)
	cmd.Env, cmd.WaitDelay = h.environ(), 5*time.Second
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("%s: %v\n%s", chromium, err, errs.String())
	}
	return string(out)
}

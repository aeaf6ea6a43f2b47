package cli

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"coxswain/models"
)

var rewriteGolden = flag.Bool("update", false, "write the golden files anew")

// TestReportPage compares the page with the golden one, byte by byte.
func TestReportPage(t *testing.T) {
	at := func(clock string) time.Time {
		v, err := time.Parse("2006-01-02 15:04", "2026-07-0"+clock)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	r := models.Report{
		Since: at("1 22:00"), Until: at("2 08:00"), Tokens: models.TokenUsage{Total: 1234567, Incomplete: true},
		Done: []models.ReportRow{{
			AssignmentID: "search", TeamID: "web", Title: "Add a search box", Status: models.AssignmentAccepted, By: "codex-integrator-web", At: at("2 01:10"),
			Summary: "a box\nwith `code` and <b>", Runs: 1, Turns: 2, Tokens: models.TokenUsage{Total: 900}, Files: []string{"src/a.go", "src/b.go"}, MoreFiles: 3, Looked: true,
		}},
		HandedOff: []models.ReportRow{{AssignmentID: "docs", TeamID: "web", Title: "Write docs", Status: models.AssignmentAwaitingReview, By: "codex-worker-docs", At: at("2 03:00"), Runs: 2, Turns: 3, Looked: true}},
		Open:      []models.ReportRow{{AssignmentID: "slow", TeamID: "web", Title: "Slow work", Status: models.AssignmentRunning, At: at("2 07:00"), Runs: 1, Turns: 1}},
		Waits: []models.Wait{
			{Cause: models.WaitReview, Detail: "handoff evt_1", AssignmentID: "docs", From: at("2 03:00"), To: at("2 08:00"), Open: true, Seconds: 18000},
			{Cause: models.WaitPause, Detail: "paused by human:ann: a|b", TeamID: "web", From: at("2 02:00"), To: at("2 02:20"), Seconds: 1200},
		},
		Failures: []models.ReportFault{{AssignmentID: "slow", Times: 2, Kind: "server", Last: "502", LastAt: at("2 06:00")}},
		People:   []models.InboxEntry{{Kind: models.InboxReview, AssignmentID: "docs", Summary: "Write docs", Since: at("2 03:00")}},
	}
	r.Arrange()
	page := nightPage{Report: r, zone: time.UTC}
	got, path := page.markdown(), filepath.Join(repository, "testdata", "golden", "report.md")
	if *rewriteGolden {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the page is\n%s\nwant\n%s", got, want)
	}
}

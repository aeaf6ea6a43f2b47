package projection

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"coxswain/models"
)

// state renders the snapshot as JSON, its keys in one order.
func state(s models.Snapshot) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(s)
	return out.Bytes(), err
}

// events renders the acceptances as Markdown, the oldest first.
func events(s models.Snapshot) []byte {
	var out strings.Builder
	out.WriteString("# Accepted work\n\nWritten by `cox snapshot export` from the ledger; edits are overwritten.\n")
	if len(s.AcceptedEvents) == 0 {
		out.WriteString("\nNothing was accepted yet.\n")
	}
	for _, e := range s.AcceptedEvents {
		fmt.Fprintf(&out, "\n## %s\n\n", e.AssignmentID)
		quote(&out, e.Title)
		facts := []struct{ name, value string }{
			{"Accepted by", e.AcceptedBy},
			{"Accepted at", e.AcceptedAt.UTC().Format(time.RFC3339Nano)},
			{"Worker", e.WorkerActorID},
			{"Head commit", e.HeadCommit},
			{"Decision", e.EventID},
			{"Handoff", e.ReviewedEventID},
		}
		out.WriteString("\n")
		for _, f := range facts {
			if f.value != "" {
				fmt.Fprintf(&out, "- %s: `%s`\n", f.name, strings.ReplaceAll(f.value, "`", "'"))
			}
		}
		section(&out, "Summary", e.Summary)
		section(&out, "Decision note", e.DecisionNote)
	}
	return []byte(out.String())
}

func section(out *strings.Builder, title, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	fmt.Fprintf(out, "\n%s:\n\n", title)
	quote(out, text)
}

// quote writes a text of somebody else so that it can be no heading and no list
// of ours.
func quote(out *strings.Builder, text string) {
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		line = strings.Map(printable, strings.TrimRightFunc(line, unicode.IsSpace))
		out.WriteString(strings.TrimRight("> "+line, " ") + "\n")
	}
}

// printable drops characters that could steer a terminal or turn text around.
func printable(r rune) rune {
	if unicode.IsControl(r) && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
		return -1
	}
	return r
}

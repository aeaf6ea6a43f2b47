package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"
)

// document is what the program prints last.
type document struct {
	Machine machine   `json:"machine"`
	At      time.Time `json:"at"`
	Rows    []row     `json:"rows"`
}

// row is one figure. Target and Met are null where a figure is only told.
type row struct {
	Name   string         `json:"name"`
	Figure *float64       `json:"figure"` // null when it could not be measured
	Unit   string         `json:"unit"`
	Target *string        `json:"target"` // such as "<= 1.5"
	Met    *bool          `json:"met"`
	Detail map[string]any `json:"detail,omitempty"`
}

// told is a row without a target.
func told(name string, figure float64, unit string, detail map[string]any) row {
	figure = rounded(figure)
	return row{Name: name, Figure: &figure, Unit: unit, Detail: detail}
}

// atMost is a row whose figure must not be higher than its target.
func atMost(name string, figure float64, unit string, target float64, detail map[string]any) row {
	return judged(told(name, figure, unit, detail), fmt.Sprintf("<= %g", target), figure <= target)
}

// atLeast is a row whose figure must not be lower than its target.
func atLeast(name string, figure float64, unit string, target float64, detail map[string]any) row {
	return judged(told(name, figure, unit, detail), fmt.Sprintf(">= %g", target), figure >= target)
}

func judged(r row, target string, met bool) row {
	r.Target, r.Met = &target, &met
	return r
}

// failed is the row of a measure that gave no figure.
func failed(name string, err error) row {
	met := false
	return row{Name: name, Met: &met, Detail: map[string]any{"error": err.Error()}}
}

// rounded keeps four significant digits, more than any of the figures is worth.
func rounded(f float64) float64 {
	if f == 0 || math.IsInf(f, 0) || math.IsNaN(f) {
		return f
	}
	unit := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(f))))
	return math.Round(f*unit) / unit
}

// report runs the measures and prints the document. The folder is removed, the
// rows of what had been measured before a failure are kept.
func (b *bench) report(ctx context.Context, parent string, chosen []measure, out io.Writer) int {
	dir, err := os.MkdirTemp(parent, "cox-bench-")
	if err != nil {
		b.say("the folder cannot be made: %s", err)
		return 1
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder; what is left over harms nobody
	doc := document{Machine: thisMachine(), At: time.Now().UTC().Truncate(time.Second), Rows: []row{}}
	code := 0
	for _, m := range chosen {
		b.say("%s …", m.name)
		b.dir = filepath.Join(dir, m.name) // nothing that one measure leaves behind meets another
		rows, err := []row(nil), os.Mkdir(b.dir, 0o700)
		if err == nil {
			rows, err = m.run(b, ctx)
		}
		if err != nil {
			code = 1
			rows = append(rows, failed(m.name, err))
		}
		for _, r := range rows {
			b.tell(r)
		}
		doc.Rows = append(doc.Rows, rows...)
	}
	doc.Machine.LoadAfter = load()
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(doc); err != nil {
		b.say("the document cannot be written: %s", err)
		return 1
	}
	return code
}

// tell shows a row to a person.
func (b *bench) tell(r row) {
	if r.Figure == nil {
		b.say("  %s: failed: %v", r.Name, r.Detail["error"])
		return
	}
	verdict := ""
	if r.Target != nil {
		verdict = " (target " + *r.Target + ", missed)"
		if *r.Met {
			verdict = " (target " + *r.Target + ", met)"
		}
	}
	b.say("  %s: %g %s%s", r.Name, *r.Figure, r.Unit, verdict)
}

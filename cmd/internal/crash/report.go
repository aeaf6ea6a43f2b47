package crash

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"coxswain/models/ledger/failpoint"
)

// Report is what a campaign did, and what it found. It is kept in a file, so that a
// campaign can go on where it was stopped.
type Report struct {
	Seed    uint64        `json:"seed"`
	Minimum int           `json:"minimum"` // kills that every arrow needs; 0 for a slice
	Seconds float64       `json:"seconds"` // of all that was run so far
	Worlds  []WorldReport `json:"worlds"`
}

// WorldReport is one world of a campaign.
type WorldReport struct {
	World     int       `json:"world"`
	Transport Transport `json:"transport"`
	Dir       string    `json:"dir,omitempty"`   // kept for a look, where anything was found
	Error     string    `json:"error,omitempty"` // why it could not be judged
	Outcome
}

// clean tells whether nothing was found.
func (w WorldReport) clean() bool { return w.Error == "" && w.Settled && len(w.Findings) == 0 }

// Kills counts crashes by arrow; a pair is one crash.
func (r Report) Kills() map[string]int {
	out := map[string]int{}
	for _, w := range r.Worlds {
		for _, m := range w.Marks {
			out[ArrowOf(failpoint.Point(m.Point))]++
		}
	}
	return out
}

// Problems are the reasons for which a campaign fails.
func (r Report) Problems() []string {
	var out []string
	for _, w := range r.Worlds {
		name := fmt.Sprintf("world %d on %s", w.World, w.Transport)
		if w.Error != "" {
			out = append(out, name+": "+w.Error)
		} else if !w.Settled {
			out = append(out, name+" did not come to rest, see "+w.Dir)
		}
		for _, f := range w.Findings {
			out = append(out, fmt.Sprintf("%s: %s %s: %s", name, f.Code, f.Subject, f.Text))
		}
	}
	kills := r.Kills()
	for _, a := range failpoint.Arrows() {
		if kills[string(a)] < r.Minimum {
			out = append(out, fmt.Sprintf("arrow %s got %d kills, want %d: run on with SEED=%d", a, kills[string(a)], r.Minimum, r.Seed))
		}
	}
	return out
}

// Print writes the kills per arrow, by what was killed and on which transport.
func (r Report) Print(out io.Writer) {
	columns := []string{string(Worker), string(Temporal), string(AppServer), string(Agent), string(MCP), "pair"}
	t := table.NewWriter()
	head := table.Row{"arrow", "kills"}
	for _, c := range columns {
		head = append(head, c)
	}
	t.AppendHeader(head)
	counts := r.counts()
	for _, a := range append(failpoint.Arrows(), failpoint.Arrow(Random)) {
		row := table.Row{string(a), r.Kills()[string(a)]}
		for _, c := range columns {
			row = append(row, split(counts, string(a), c))
		}
		t.AppendRow(row)
	}
	fmt.Fprintf(out, "%s\nfigures of a process: on fake/stdio/unix; a pair is one kill of two processes\n", t.Render())
}

type cell struct {
	arrow, what string
	transport   Transport
}

func (r Report) counts() map[cell]int {
	out := map[cell]int{}
	for _, w := range r.Worlds {
		for _, m := range w.Marks {
			what := "pair"
			if len(m.Killed) == 1 {
				what = m.Killed[0]
			}
			out[cell{ArrowOf(failpoint.Point(m.Point)), what, w.Transport}]++
		}
	}
	return out
}

func split(counts map[cell]int, arrow, what string) string {
	var each []string
	sum := 0
	for _, t := range Transports() {
		n := counts[cell{arrow, what, t}]
		each, sum = append(each, strconv.Itoa(n)), sum+n
	}
	if sum == 0 {
		return ""
	}
	return strings.Join(each, "/")
}

// load reads the report of an earlier campaign of the seed; an empty one where there
// is none.
func load(path string, seed uint64) (Report, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Report{Seed: seed}, nil
	}
	var r Report
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, err
}

func (r Report) save(path string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".tmp", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

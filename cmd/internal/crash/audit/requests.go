package audit

import (
	"fmt"
	"slices"
	"time"
)

// requests checks that the model was asked once for each step of each prompt. A
// step that was asked for again is excused by a crash in between of a process that
// may have taken the first answer along.
func requests(e Evidence) []Finding {
	type step struct {
		thread, prompt string
		n              int
	}
	var out []Finding
	last := map[step]time.Time{}
	sorted := slices.Clone(e.Requests)
	slices.SortStableFunc(sorted, func(a, b Request) int { return a.At.Compare(b.At) })
	for _, r := range sorted {
		k := step{r.ThreadID, r.Prompt, r.Step}
		if before, twice := last[k]; twice && !e.excused(before, r.At) {
			out = append(out, finding(SurplusRequest, r.ThreadID, fmt.Sprintf("step %d of %q was asked for at %s and again at %s, and no crash lies between",
				r.Step, r.Prompt, before.Format(time.TimeOnly), r.At.Format(time.TimeOnly))))
		}
		last[k] = r.At
	}
	return out
}

// crashWindow is how long before the first of two requests a crash may have begun
// what led to the second.
const crashWindow = 2 * time.Second

func (e Evidence) excused(from, to time.Time) bool {
	return slices.ContainsFunc(e.Marks, func(m Mark) bool {
		takes := slices.ContainsFunc(m.Killed, func(p string) bool { return slices.Contains(e.Excusing, p) })
		return takes && m.At.After(from.Add(-crashWindow)) && m.At.Before(to)
	})
}

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/worker"
)

// lag is how far the workflows are behind the ledger, and what to do about it.
type lag struct {
	Wakeups int        `json:"wakeups"` // workflows that have not read what was raised for them
	Since   *time.Time `json:"since"`   // when the one that waits longest was raised
	Seconds int64      `json:"seconds"` // since then
	Worker  string     `json:"worker"`  // running | away
	Engine  string     `json:"engine"`  // reached | away | unknown, which it is without a worker
	Next    string     `json:"next"`    // the command that starts what is away, "" for none
	// Jammed are workflows that do not read what was raised for them, or do not live.
	Jammed []ledger.Jam `json:"jammed"`
}

// States of what a wake-up needs on its way.
const (
	lagRunning = "running"
	lagReached = "reached"
	lagAway    = "away"
	lagUnknown = "unknown"
)

// lag reads the ledger and the lock of this host's worker; it asks nobody else. The
// worker of another node counts by its heartbeat.
func (in *call) lag(ctx context.Context, l *ledger.Ledger) (lag, error) {
	paths, err := in.paths()
	if err != nil {
		return lag{}, err
	}
	found, err := l.Lag(ctx)
	if err != nil {
		return lag{}, err
	}
	out := lag{Wakeups: found.Wakeups, Since: found.Since, Worker: lagRunning, Engine: lagReached, Jammed: found.Jams}
	if found.Since != nil {
		out.Seconds = int64(max(found.At.Sub(*found.Since), 0).Seconds())
	}
	local := ledger.LocalNodeID(paths.StateDir)
	_, here := worker.Running(paths.StateDir)
	others := slices.DeleteFunc(found.Alive, func(id string) bool { return id == local })
	switch {
	case !here && len(others) == 0:
		out.Worker, out.Engine, out.Next = lagAway, lagUnknown, in.next("up")
	case found.AwaySince != nil:
		out.Engine, out.Next = lagAway, in.nexts(models.StartAgain)
	}
	return out, nil
}

// nexts is a line of cox commands for the same ledger.
func (in *call) nexts(line string) string {
	commands := strings.Split(line, " && ")
	for i, command := range commands {
		if rest, cox := strings.CutPrefix(command, "cox "); cox {
			commands[i] = in.next(rest)
		}
	}
	return strings.Join(commands, " && ")
}

// next is a cox command line for the same ledger.
func (in *call) next(command string) string { return "cox " + in.elsewhere() + command }

// behind tells whether something waits that will not come by itself at once.
func (g lag) behind() bool { return g.Wakeups > 0 && (g.Worker == lagAway || g.Engine == lagAway) }

// why is what keeps the wake-ups.
func (g lag) why() string {
	if g.Worker == lagAway {
		return "no worker runs"
	}
	return "Temporal does not answer the worker"
}

func (g lag) String() string {
	waits := counted(g.Wakeups, "wake-up waits", "wake-ups wait")
	if g.Since != nil && g.Seconds > 0 {
		waits += fmt.Sprintf(", the oldest for %s", time.Duration(g.Seconds)*time.Second)
	}
	return waits
}

// lagging reads the lag for the answer of a command that changed the ledger; nil when
// what it asked for is under way. The change stands whatever this finds.
func (in *call) lagging(ctx context.Context) *lag {
	if !in.mutates || in.opened == nil {
		return nil
	}
	g, err := in.lag(ctx, in.opened)
	if err != nil {
		in.log().Warn("the change is made; what waits for it cannot be read", "error", err)
		return nil
	}
	if !g.behind() {
		return nil
	}
	return &g
}

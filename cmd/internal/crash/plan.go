package crash

import (
	"math/rand/v2"
	"time"

	"coxswain/models/ledger/failpoint"
)

// Kind is a kind of process that is killed.
type Kind string

// The kinds. An agent is what plays a turn on the fake adapter, where there is no
// app-server.
const (
	Worker    Kind = "worker"
	Temporal  Kind = "temporal"
	AppServer Kind = "app-server"
	MCP       Kind = "mcp"
	Agent     Kind = "agent"
)

// Transport is how a world reaches its agents.
type Transport string

// The transports.
const (
	Fake  Transport = "fake"
	Stdio Transport = "stdio"
	Unix  Transport = "unix"
)

// Transports are all of them.
func Transports() []Transport { return []Transport{Fake, Stdio, Unix} }

// Random is the point of a kill that waits for a time.
const Random failpoint.Point = "random"

// Kill is one planned crash.
type Kill struct {
	Point   failpoint.Point `json:"point"`
	Nth     int             `json:"nth,omitempty"`   // the pass of the point at which it comes, counted from when the world was ready
	After   time.Duration   `json:"after,omitempty"` // of a random one: since the world was ready
	Targets []Kind          `json:"targets"`
}

// Figures of a plan.
const (
	atArrows   = 9                // kills at points in one world
	atRandom   = 2                // and at any time
	firstAfter = 2 * time.Second  // of random kills
	lastAfter  = 45 * time.Second // as above
)

// Plan is what happens to a world. Every arrow comes once in as many kills as there
// are arrows, so that all of them get the same share.
func Plan(seed uint64, world int, t Transport) []Kill {
	random := rand.New(rand.NewPCG(seed, uint64(world))) //nolint:gosec // a plan is repeated by its seed
	var out []Kill
	for n := range atArrows {
		point := pick(random, points(arrowAt(seed, world*atArrows+n)))
		out = append(out, Kill{Point: point.Point, Nth: 1 + random.IntN(2), Targets: targets(random, t, point.Process)})
	}
	for n := range atRandom {
		k := Kill{Point: Random, After: firstAfter + time.Duration(random.Int64N(int64(lastAfter-firstAfter))), Targets: pick(random, sets(t))}
		if n == 0 { // what comes after a worker's start needs one
			k.After, k.Targets = k.After/3, []Kind{Worker}
		}
		out = append(out, k)
	}
	return out
}

// arrowAt is the n-th arrow of a seed: one shuffled round of all of them after the
// other.
func arrowAt(seed uint64, n int) failpoint.Arrow {
	arrows := failpoint.Arrows()
	round := rand.New(rand.NewPCG(seed, 1<<32+uint64(n/len(arrows)))) //nolint:gosec // as in Plan
	round.Shuffle(len(arrows), func(i, j int) { arrows[i], arrows[j] = arrows[j], arrows[i] })
	return arrows[n%len(arrows)]
}

func points(a failpoint.Arrow) []failpoint.Place {
	var out []failpoint.Place
	for _, p := range failpoint.Table() {
		if p.Arrow == a {
			out = append(out, p)
		}
	}
	return out
}

// ArrowOf is the arrow of a point, "random" for none.
func ArrowOf(p failpoint.Point) string {
	for _, place := range failpoint.Table() {
		if place.Point == p {
			return string(place.Arrow)
		}
	}
	return string(Random)
}

// targets are the processes that die at a point: in every second kill the one that
// passes it is among them.
func targets(random *rand.Rand, t Transport, passes failpoint.Process) []Kind {
	own := Kind(passes)
	all := sets(t)
	if random.IntN(2) == 0 {
		return pick(random, all)
	}
	var with [][]Kind
	for _, set := range all {
		for _, k := range set {
			if k == own {
				with = append(with, set)
			}
		}
	}
	return pick(random, with)
}

// sets are the processes of a transport, alone and in pairs.
func sets(t Transport) [][]Kind {
	plays := AppServer
	if t == Fake {
		plays = Agent
	}
	kinds := []Kind{Worker, Temporal, plays, MCP}
	var out [][]Kind
	for i, a := range kinds {
		out = append(out, []Kind{a}, []Kind{a}) // alone as often as in a pair
		for _, b := range kinds[i+1:] {
			out = append(out, []Kind{a, b})
		}
	}
	return out
}

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

package crash

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"coxswain/cmd/internal/crash/audit"
	"coxswain/models/ledger/failpoint"
)

// controller answers the processes of one world that pass points, and kills what
// its plan says.
type controller struct {
	dir    string // of the world
	listen net.Listener

	mu    sync.Mutex
	armed bool
	plan  []Kill // what has not come yet
	seen  map[failpoint.Point]int
	marks []audit.Mark
	hits  map[failpoint.Point]int // all passes, for the report
	fault error
}

// control begins to listen; nothing is killed before arm.
func control(dir, socket string, plan []Kill) (*controller, error) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	c := &controller{dir: dir, listen: l, plan: slices.Clone(plan), seen: map[failpoint.Point]int{}, hits: map[failpoint.Point]int{}}
	go c.accept()
	return c, nil
}

func (c *controller) accept() {
	for {
		conn, err := c.listen.Accept()
		if err != nil {
			return // closed
		}
		go c.answer(conn)
	}
}

// answer holds one process at its point until the kills of that moment are done.
func (c *controller) answer(conn net.Conn) {
	defer conn.Close() //nolint:errcheck // closing is the answer
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return // killed while it asked
	}
	var point failpoint.Point
	var pid int
	if _, err := fmt.Sscanf(line, "%s %d", &point, &pid); err == nil {
		c.pass(point, pid)
	}
}

// pass counts the pass of a point and carries out the kill that waits for it.
func (c *controller) pass(point failpoint.Point, pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hits[point]++
	if !c.armed {
		return
	}
	c.seen[point]++
	i := slices.IndexFunc(c.plan, func(k Kill) bool { return k.Point == point && k.Nth <= c.seen[point] })
	if i < 0 {
		return
	}
	k := c.plan[i]
	c.plan = slices.Delete(c.plan, i, i+1)
	c.kill(k, pid)
}

// arm lets the plan begin; its random kills come at their times from now on.
func (c *controller) arm() (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = true
	var timers []*time.Timer
	for _, k := range c.plan {
		if k.Point == Random {
			timers = append(timers, time.AfterFunc(k.After, func() { c.strike(k) }))
		}
	}
	return func() {
		for _, t := range timers {
			t.Stop()
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.armed = false
	}
}

// strike carries out a kill whose time has come.
func (c *controller) strike(k Kill) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.armed {
		return
	}
	c.plan = slices.DeleteFunc(c.plan, func(p Kill) bool { return p.Point == Random && p.After == k.After })
	c.kill(k, 0)
}

// kill kills one process of each kind, the one that passes the point before others
// of its kind. Where none of the wanted ones is there, the one that passes dies.
func (c *controller) kill(k Kill, passing int) {
	found, err := processes(c.dir)
	if err != nil {
		c.fault = err
		return
	}
	mark := audit.Mark{At: time.Now(), Point: string(k.Point)}
	for _, kind := range k.Targets {
		if p, ok := victim(found, kind, passing); ok && kill9(p.pid) {
			mark.Killed = append(mark.Killed, string(kind))
		}
	}
	if len(mark.Killed) == 0 && passing != 0 {
		for _, p := range found {
			if p.pid == passing && p.kind != "" && kill9(p.pid) {
				mark.Killed = append(mark.Killed, string(p.kind))
			}
		}
	}
	if len(mark.Killed) > 0 {
		c.marks = append(c.marks, mark)
	}
}

func victim(found []process, kind Kind, passing int) (process, bool) {
	var out process
	for _, p := range found {
		if p.kind == kind && (out.pid == 0 || p.pid == passing) {
			out = p
		}
	}
	return out, out.pid != 0
}

// kill9 tells whether the process was there.
func kill9(pid int) bool { return syscall.Kill(pid, syscall.SIGKILL) == nil }

// result is what was done, what never came, and why nothing more was done.
func (c *controller) result() (marks []audit.Mark, unfired []Kill, hits map[failpoint.Point]int, fault error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.marks), slices.Clone(c.plan), c.hits, c.fault
}

func (c *controller) close() { _ = c.listen.Close() } // nobody passes any more

func markText(m audit.Mark) string {
	return fmt.Sprintf("%s %s: %s", m.At.Format(time.TimeOnly), m.Point, strings.Join(m.Killed, "+"))
}

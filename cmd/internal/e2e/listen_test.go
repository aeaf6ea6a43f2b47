package e2e_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestNothingListensButTemporalOnLoopback looks at every process of a stack in the
// middle of a turn: worker, agent and tool server listen nowhere, and the embedded
// Temporal on loopback only.
func TestNothingListensButTemporalOnLoopback(t *testing.T) {
	t.Parallel()
	needTemporal(t)
	if _, err := os.Stat("/proc/net/tcp"); err != nil {
		t.Skip("listeners are looked for on Linux only")
	}
	h := newHome(t)
	h.site()
	h.assign("long", "slow:5m")
	p := h.start("up", "--adapter", "fake", "--port", "0", "--ui-port", "0")
	p.says(2*time.Minute, "turn started")
	within(t, time.Minute, "the agent's tools run", func() bool {
		return slices.ContainsFunc(h.processes(), func(f found) bool { return strings.Contains(f.args, " mcp") })
	})
	listening := listeners(t)
	programs := map[string]int{}
	for _, found := range h.processes() {
		temporal := strings.Contains(found.args, "cox-temporal")
		for _, address := range listening.of(t, found.pid) {
			if !temporal || !loopback(address) {
				t.Errorf("%s listens at %s", found, address)
			}
			programs["listeners of Temporal"]++
		}
		for _, name := range []string{"cox-temporal", " worker", " fake-agent", " mcp"} {
			if strings.Contains(found.args, name) {
				programs[name]++
			}
		}
	}
	for _, name := range []string{"cox-temporal", " worker", " fake-agent", " mcp", "listeners of Temporal"} {
		if programs[name] == 0 {
			t.Errorf("no %s was looked at: %v", name, h.processes())
		}
	}
	p.interrupt()
}

// loopback tells whether an address of /proc/net/tcp or tcp6 is 127.0.0.1 or ::1.
func loopback(address string) bool {
	host, _, _ := strings.Cut(address, ":")
	return host == "0100007F" || host == "00000000000000000000000001000000" || host == "0000000000000000FFFF00000100007F"
}

// sockets are listening addresses by inode.
type sockets map[string]string

// listeners reads every listening TCP socket of the machine.
func listeners(t *testing.T) sockets {
	t.Helper()
	const listens = "0A"
	out := sockets{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table)
		if os.IsNotExist(err) {
			continue // no IPv6
		}
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if fields := strings.Fields(lines.Text()); len(fields) > 9 && fields[3] == listens {
				out[fields[9]] = fields[1]
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// of returns the addresses at which a process listens.
func (s sockets) of(t *testing.T, pid int) []string {
	t.Helper()
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil {
			continue // closed meanwhile
		}
		if address, ok := s[strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]")]; ok {
			out = append(out, address)
		}
	}
	return out
}

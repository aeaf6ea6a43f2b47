package appserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// scriptEnd is the last line of a script that ran to its end.
const scriptEnd = "end"

// check is one thing that an agent might do.
type check struct {
	name     string
	writable bool                 // allowed under the writable profile
	readOnly bool                 // allowed under the read-only profile
	command  func(scratch) string // succeeds when it could be done
	trace    func(scratch) string // a file that proves it was done; nil where the command must be believed
}

func write(at func(scratch) string) (func(scratch) string, func(scratch) string) {
	return func(s scratch) string { return "echo x > " + shellQuote(at(s)) }, at
}

func read(command string, at func(scratch) string) func(scratch) string {
	return func(s scratch) string { return command + " " + shellQuote(at(s)) }
}

var checks = makeChecks()

func makeChecks() []check {
	in := func(dir func(scratch) string, name string) func(scratch) string {
		return func(s scratch) string { return filepath.Join(dir(s), name) }
	}
	workspace := func(s scratch) string { return s.workspace }
	all := []check{
		{name: "read a denied file", command: read("cat", func(s scratch) string { return s.denied + "/secret" })},
		{name: "see into a denied folder", command: read("test -e", func(s scratch) string { return s.denied + "/secret" })},
		{name: "read Codex's login", command: read("cat", func(s scratch) string { return s.root + "/home/auth.json" })},
		{name: "connect to loopback", command: func(s scratch) string {
			return fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d", s.port)
		}},
	}
	for _, w := range []struct {
		name               string
		writable, readOnly bool
		at                 func(scratch) string
	}{
		{"write the workspace", true, false, in(workspace, "made")},
		{"write the thread's temporary folder", true, true, in(func(s scratch) string { return s.temp }, "made")},
		{"write .git", false, false, in(workspace, ".git/made")},
		{"write a denied folder", false, false, in(func(s scratch) string { return s.denied }, "made")},
		{"write outside", false, false, in(func(s scratch) string { return s.outside }, "made")},
		{"write the system's temporary folder", false, false, in(func(s scratch) string { return s.systemTemp }, "made")},
	} {
		command, trace := write(w.at)
		all = append(all, check{w.name, w.writable, w.readOnly, command, trace})
	}
	return all
}

func checkNames() []string {
	names := make([]string, len(checks))
	for i, c := range checks {
		names[i] = c.name
	}
	return names
}

// script prints a line with the number of each check that succeeded.
func (s scratch) script() string {
	var b strings.Builder
	for i, c := range checks {
		fmt.Fprintf(&b, "if ( %s ) >/dev/null 2>&1; then echo %d; fi\n", c.command(s), i)
	}
	return b.String() + "echo " + scriptEnd + "\n"
}

// judge compares what succeeded with what the profile allows and words the
// differences, each closed by "; ".
func (s scratch) judge(out string, writable bool) string {
	done := map[string]bool{}
	for line := range strings.Lines(out) {
		done[strings.TrimSpace(line)] = true
	}
	mode, open := map[bool]string{true: "writable", false: "read-only"}[writable], ""
	for i, c := range checks {
		did, may := done[strconv.Itoa(i)], c.readOnly
		if writable {
			may = c.writable
		}
		if c.trace != nil {
			_, err := os.Stat(c.trace(s))
			did = err == nil
		}
		switch {
		case did && !may:
			open += mode + " thread can " + c.name + "; "
		case !did && may:
			open += mode + " thread cannot " + c.name + "; "
		}
	}
	return open
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

package e2e_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stopBound is the server's own bound of 5 s and the rest of a slow machine.
const stopBound = 20 * time.Second

func TestSignalsAndEndOfStdinStopIt(t *testing.T) {
	for name, end := range map[string]func(*process) error{
		"SIGTERM":      func(p *process) error { return p.cmd.Process.Signal(syscall.SIGTERM) },
		"SIGINT":       func(p *process) error { return p.cmd.Process.Signal(os.Interrupt) },
		"end of stdin": func(p *process) error { return p.stdin.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t)
			asked := time.Now()
			if err := end(p); err != nil {
				t.Fatal(err)
			}
			if code := p.wait(t); code != 0 {
				t.Errorf("exit %d, stderr:\n%s", code, p.stderr)
			}
			if took := time.Since(asked); took > stopBound {
				t.Errorf("stopping took %s", took)
			}
		})
	}
}

func TestStartAndStopLogNoTrouble(t *testing.T) {
	p := start(t)
	if code := p.stop(t); code != 0 {
		t.Errorf("exit %d", code)
	}
	for _, noise := range []string{"HTTP API port", "\terror\t", "\tfatal\t"} {
		if text := p.stderr.String(); strings.Contains(text, noise) {
			t.Errorf("a start and stop without trouble logs %q in\n%s", noise, text)
		}
	}
}

func TestReadyLineForPeople(t *testing.T) {
	cmd := exec.Command(binary, "server", "start-dev", "--port", "0", "--headless", "--exit-with-stdin")
	out, err := cmd.CombinedOutput() // without a stdin it stops as soon as it is ready
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	line := strings.TrimSpace(string(out))
	if !strings.Contains(line, "ready at 127.0.0.1:") || !strings.Contains(line, "Web UI off") || strings.Contains(line, "\n") {
		t.Errorf("the ready line is %q", line)
	}
}

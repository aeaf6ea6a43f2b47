package e2e_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const stateListen = "0A" // TCP_LISTEN in /proc/net/tcp

// No port but the Web UI's may speak plain HTTP: whatever does would answer a
// page that rebinds DNS, past the check of Host and Origin.
func TestNoOtherPortSpeaksHTTP(t *testing.T) {
	p := start(t)
	ports := listening(t, p.PID)
	if len(ports) < 5 { // four services and the UI
		t.Fatalf("the server listens on %v only", ports)
	}
	probe := &http.Client{Timeout: 5 * time.Second}
	answering := 0
	for _, address := range ports {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		if !net.ParseIP(host).IsLoopback() {
			t.Errorf("it listens on %s", address)
		}
		answer, err := probe.Get("http://127.0.0.1:" + port + "/")
		if err != nil {
			continue
		}
		_ = answer.Body.Close()
		answering++
		if !strings.HasSuffix(p.UI, ":"+port) {
			t.Errorf("port %s answers HTTP with %s", port, answer.Status)
		}
	}
	if answering != 1 {
		t.Errorf("%d ports answer HTTP, want the Web UI's alone", answering)
	}
}

// An SDK client is connected before the server is ready, so a short test stops
// it in the middle of its start.
func TestStopBeforeReadyIsNoFailure(t *testing.T) {
	var stderr safeBuffer
	cmd := exec.CommandContext(deadline(t), binary, "--port", "0", "--headless", "--exit-with-stdin")
	cmd.Stderr = &stderr
	if _, err := cmd.StdinPipe(); err != nil { // open as long as this process lives
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitFirstPort(t, cmd.Process.Pid)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, &stderr)
	}
	if text := stderr.String(); strings.Contains(text, "error") || strings.Contains(text, "panic") {
		t.Errorf("being stopped early logs trouble:\n%s", text)
	}
}

// awaitFirstPort waits until a process listens anywhere, which is long before a
// server is ready.
func awaitFirstPort(t *testing.T, pid int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for ctx := deadline(t); len(listening(t, pid)) == 0; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the server opened no port")
		}
	}
}

// listening returns the addresses that a process listens on.
func listening(t *testing.T, pid int) (addresses []string) {
	t.Helper()
	sockets := make(map[string]bool)
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		target, err := os.Readlink(link)
		if err == nil && strings.HasPrefix(target, "socket:[") {
			sockets[strings.Trim(target, "socket:[]")] = true
		}
	}
	for _, family := range []string{"tcp", "tcp6"} {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, family))
		if err != nil {
			continue // a machine without IPv6
		}
		for _, line := range strings.Split(string(raw), "\n")[1:] {
			f := strings.Fields(line)
			if len(f) > 9 && f[3] == stateListen && sockets[f[9]] {
				addresses = append(addresses, decode(t, f[1]))
			}
		}
	}
	return addresses
}

// decode turns the kernel's hexadecimal address:port into the usual form. Each
// group of four bytes is in the machine's (little-endian) order.
func decode(t *testing.T, text string) string {
	t.Helper()
	hexIP, hexPort, _ := strings.Cut(text, ":")
	var ip net.IP
	for i := 0; i+8 <= len(hexIP); i += 8 {
		for j := 6; j >= 0; j -= 2 {
			b, err := strconv.ParseUint(hexIP[i+j:i+j+2], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			ip = append(ip, byte(b))
		}
	}
	port, err := strconv.ParseUint(hexPort, 16, 16)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort(ip.String(), strconv.FormatUint(port, 10))
}

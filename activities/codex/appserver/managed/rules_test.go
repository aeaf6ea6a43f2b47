package managed

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// recorded is a process that plays a server, its record, and the folder of both.
func recorded(t *testing.T) (place, record, *exec.Cmd) {
	t.Helper()
	p := placeOf(t.TempDir())
	if err := p.make(); err != nil {
		t.Fatal(err)
	}
	r := record{Version: "1.0.0", CodexHome: "/home", Socket: filepath.Join(string(p), "s-1"), At: time.Now()}
	cmd := exec.Command("sleep", "300")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // killed by the test
		close(done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-done
	})
	if err := p.name(cmd.Process.Pid, &r); err != nil {
		t.Fatal(err)
	}
	return p, r, cmd
}

func listen(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	dir, err := os.MkdirTemp("", "s") //nolint:usetesting // the test's own folder may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(filepath.Join(dir, "s"), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "s"), path); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyTheRecordedProcessCountsAsRunning(t *testing.T) {
	t.Parallel()
	_, r, _ := recorded(t)
	if alive, err := r.running(); err != nil || !alive {
		t.Fatalf("the recorded process: %t, %v", alive, err)
	}
	for name, spoil := range map[string]func(*record){
		"another start": func(r *record) { r.Started += "1" },
		"another boot":  func(r *record) { r.Boot = "before" },
		"no process":    func(r *record) { r.PID = 1 << 30 },
		"process zero":  func(r *record) { r.PID = 0 },
		"this process":  func(r *record) { r.PID = os.Getpid() },
	} {
		other := r
		spoil(&other)
		if alive, err := other.running(); err != nil || alive {
			t.Errorf("%s: %t, %v", name, alive, err)
		}
	}
}

// A process that has the recorded id by chance is not ended, and the record of the
// one that had it goes.
func TestAForeignProcessOfTheSameIDIsLeftAlone(t *testing.T) {
	t.Parallel()
	p, r, cmd := recorded(t)
	r.Started = "0"
	if err := p.write(r); err != nil {
		t.Fatal(err)
	}
	listen(t, r.Socket, 0o600)
	if pid, err := Stop(t.Context(), filepath.Dir(string(p)), time.Minute); err != nil || pid != 0 {
		t.Errorf("stopped %d, %v", pid, err)
	}
	if err := syscall.Kill(cmd.Process.Pid, 0); err != nil {
		t.Errorf("the foreign process: %v", err)
	}
	if _, found, err := p.read(); found || err != nil {
		t.Errorf("the record is still there: %t, %v", found, err)
	}
	if _, err := os.Lstat(r.Socket); !os.IsNotExist(err) {
		t.Errorf("the stale socket is still there: %v", err)
	}
}

func TestARunningServerFitsOnlyTheSameHomeAndAPrivateSocket(t *testing.T) {
	t.Parallel()
	_, r, _ := recorded(t)
	if why := r.misfit("/home"); !strings.Contains(why, "no such file") {
		t.Errorf("without a socket: %q", why)
	}
	listen(t, r.Socket, 0o600)
	for want, why := range map[string]string{
		"":                    r.misfit("/home"),
		"/other is wanted":    r.misfit("/other"),
		"is no socket":        record{CodexHome: "/", Socket: os.Args[0]}.misfit("/"),
		"may be used by othe": open(t, r, 0o660),
	} {
		if want == "" && why != "" || !strings.Contains(why, want) {
			t.Errorf("it says %q, want %q", why, want)
		}
	}
}

// open is the misfit of a server whose socket has another mode.
func open(t *testing.T, r record, mode os.FileMode) string {
	t.Helper()
	r.Socket += "-open"
	listen(t, r.Socket, mode)
	return r.misfit(r.CodexHome)
}

func TestAFolderThatOthersMayUseIsRefused(t *testing.T) {
	t.Parallel()
	p := placeOf(t.TempDir())
	if err := p.make(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(string(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := p.make(); err == nil || !strings.Contains(err.Error(), "may be used by others") {
		t.Errorf("%v", err)
	}
}

func TestTheOutputIsKeptSmall(t *testing.T) {
	t.Parallel()
	p, _, _ := recorded(t)
	if err := os.WriteFile(p.log(), []byte(strings.Repeat("a", 10)+strings.Repeat("b", maxOutput)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Trim(filepath.Dir(string(p))); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(p.oldLog())
	if err != nil || len(kept) != maxOutput || kept[0] != 'b' {
		t.Errorf("%d bytes kept, %v", len(kept), err)
	}
	if info, err := os.Stat(p.log()); err != nil || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
	if err := Trim(t.TempDir()); err != nil {
		t.Errorf("without a server: %v", err)
	}
}

// A starter that dies between the process and its record leaves no process: the
// gate ends when nobody lets it go on.
func TestAProcessWithoutARecordEnds(t *testing.T) {
	t.Parallel()
	made := filepath.Join(t.TempDir(), "made")
	hold, let, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", gate, "codex-gate", "touch", made)
	cmd.ExtraFiles = []*os.File{hold}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{let, hold} {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it went on")
	}
	if _, err := os.Stat(made); !os.IsNotExist(err) {
		t.Errorf("the program ran: %v", err)
	}
}

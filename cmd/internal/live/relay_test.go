package live

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
)

// The relay stands between a worker and its Codex app-server: this test's own
// executable, started again by a script that is named as --codex-bin. Every line
// passes unchanged, but for what its folder asks for.
const (
	relayTo  = "COX_LIVE_RELAY"       // the real Codex; set only in the relay's process
	relayDir = "COX_LIVE_RELAY_DIR"   // the relay's folder
	holdFile = "hold"                 // there: turn/start is not passed on, nor anything after it
	heldFile = "held"                 // made by the relay when it holds
	askFile  = "ask"                  // there: the client is asked an unheard-of question in its next turn
	saidFile = "answer"               // made by the relay: the client's answer
	askID    = "\"question-of-live\"" // as JSON
)

// relayed makes the script of a relay and returns the folder; --codex-bin of later
// stacks is the script.
func (r *rig) relayed() string {
	r.t.Helper()
	self, err := os.Executable()
	check(r.t, err)
	dir := filepath.Join(r.dir, "relay")
	script := fmt.Sprintf("#!/bin/sh\n%s=%q %s=%q exec %q \"$@\"\n", relayTo, r.bin.codex, relayDir, dir, self)
	write(r.t, filepath.Join(dir, "codex"), script)
	check(r.t, os.Chmod(filepath.Join(dir, "codex"), 0o700))
	r.bin.codex = filepath.Join(dir, "codex")
	return dir
}

// relayMain is the relay's process. Whatever is not an app-server becomes Codex.
func relayMain() int {
	real, dir := os.Getenv(relayTo), os.Getenv(relayDir)
	if len(os.Args) < 2 || os.Args[1] != "app-server" {
		fmt.Fprintln(os.Stderr, syscall.Exec(real, append([]string{real}, os.Args[1:]...), os.Environ()))
		return 1
	}
	cmd := exec.Command(real, os.Args[1:]...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	q := relay{dir: dir, toCodex: in, toClient: os.Stdout}
	go q.up(os.Stdin)
	q.down(out)
	if err := cmd.Wait(); err != nil {
		return 1
	}
	return 0
}

type relay struct {
	dir      string
	toCodex  io.WriteCloser
	toClient io.Writer
	mu       sync.Mutex // one line to the client at a time
}

func (q *relay) wants(name string) bool {
	_, err := os.Stat(filepath.Join(q.dir, name))
	return err == nil
}

func (q *relay) note(name string, text []byte) {
	if err := os.WriteFile(filepath.Join(q.dir, name), text, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// up passes on what the client says, until it ends or a turn is held.
func (q *relay) up(from io.Reader) {
	defer q.toCodex.Close() // the child's end of input
	lines(from, func(line []byte) bool {
		m := header(line)
		switch {
		case m.Method == "turn/start" && q.wants(holdFile):
			q.note(heldFile, line)
			select {} // until the worker dies, and this process with it
		case string(m.ID) == askID:
			q.note(saidFile, line)
			return true
		}
		_, err := q.toCodex.Write(line)
		return err == nil
	})
}

// down passes on what Codex says, and the question after the start of a turn.
func (q *relay) down(from io.Reader) {
	lines(from, func(line []byte) bool {
		if !q.send(line) {
			return false
		}
		m := header(line)
		if m.Method != "turn/started" || !q.wants(askFile) || q.wants(saidFile) {
			return true
		}
		return q.send(fmt.Appendf(nil, `{"method":"item/neverHeardOf/request","id":%s,"params":{"threadId":%q,"turnId":%q}}`+"\n",
			askID, m.Params.ThreadID, m.Params.Turn.ID))
	})
}

func (q *relay) send(line []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, err := q.toClient.Write(line)
	return err == nil
}

type passed struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ThreadID string `json:"threadId"`
		Turn     struct {
			ID string `json:"id"`
		} `json:"turn"`
	} `json:"params"`
}

func header(line []byte) (m passed) {
	if json.Unmarshal(line, &m) != nil {
		return passed{} // of another shape: nothing that the relay looks for
	}
	return m
}

// lines calls fn with each line, its end included.
func lines(from io.Reader, fn func([]byte) bool) {
	r := bufio.NewReader(from)
	for {
		line, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 && !fn(line) || err != nil {
			return
		}
	}
}

package appserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"coxswain/activities/codex"

	"golang.org/x/sync/errgroup"
)

// Proof is what ProveSandbox needs.
type Proof struct {
	Bin       string   // the Codex executable
	Env       []string // its environment, the same as the host's
	CodexHome string   // its home, whose auth.json the profile denies
	Dir       string   // an existing folder for the scratch folder, "" for the system's temporary one
}

// ProfileKey identifies a proof: another Codex version or another profile makes
// another key. A proof holds for the node that made it.
func ProfileKey(version string) string {
	h := sha256.New()
	fmt.Fprintln(h, version)
	for _, writable := range []bool{true, false} {
		spec := codex.ThreadSpec{Writable: writable, TempDir: "/temp", DenyPaths: []string{"/state"}}
		fmt.Fprintln(h, tomlInline(profile(spec, "/codex-home")))
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// proofTimeout bounds one sandboxed run.
const proofTimeout = 30 * time.Second

// ProveSandbox runs a script under the profile of writable and of read-only
// threads with `codex sandbox`, which needs no model and no login, and looks at
// what the script could do: read and list a denied folder, read Codex's login,
// write the workspace, its .git, the thread's temporary folder, the system's
// temporary folders and a folder elsewhere, connect to a listening port of
// loopback. proved is true when each came out as the profile says; detail tells
// what was tried, or what is open. err is set when the proof could not be made.
func ProveSandbox(ctx context.Context, p Proof) (proved bool, detail string, err error) {
	var open [2]string
	group, ctx := errgroup.WithContext(ctx)
	for i, writable := range []bool{true, false} {
		group.Go(func() (err error) {
			open[i], err = p.try(ctx, writable)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return false, "the sandbox could not be tried: " + err.Error(), err
	}
	if failed := strings.Trim(open[0]+open[1], "; "); failed != "" {
		return false, "open: " + failed, nil
	}
	return true, "tried with codex sandbox, writable and read-only profile: " + strings.Join(checkNames(), ", "), nil
}

// scratch is the world of one proof.
type scratch struct {
	root, workspace, denied, temp, outside, systemTemp string
	port                                               int
}

// try makes one proof and returns what is open, "" for nothing.
func (p Proof) try(ctx context.Context, writable bool) (open string, err error) {
	s, err := newScratch(p.Dir)
	if err != nil {
		return "", err
	}
	defer func() {
		if e := os.RemoveAll(s.root); err == nil {
			err = e
		}
	}()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close() //nolint:errcheck // it only waited to be refused
	s.port = listener.Addr().(*net.TCPAddr).Port
	out, err := p.run(ctx, s, writable)
	if err != nil {
		return "", err
	}
	return s.judge(out, writable), nil
}

func newScratch(dir string) (scratch, error) {
	root, err := os.MkdirTemp(dir, "cox-sandbox-")
	if err != nil {
		return scratch{}, err
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	at := func(name string) string { return filepath.Join(root, name) }
	s := scratch{
		root: root, workspace: at("workspace"), denied: at("state"), temp: at("state/temp"), outside: at("outside"), systemTemp: at("tmpdir"),
	}
	for _, dir := range []string{s.workspace + "/.git", s.temp, s.outside, s.systemTemp, at("home")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return s, err
		}
	}
	for _, file := range []string{at("state/secret"), at("home/auth.json")} {
		if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
			return s, err
		}
	}
	return s, nil
}

// run executes all checks in one sandboxed shell. The profile's login is one of
// the scratch folder, so that the user's own is not touched, and denied too.
func (p Proof) run(ctx context.Context, s scratch, writable bool) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, proofTimeout)
	defer cancel()
	spec := codex.ThreadSpec{CWD: s.workspace, Writable: writable, TempDir: s.temp, DenyPaths: []string{s.denied, filepath.Join(p.CodexHome, "auth.json")}}
	cmd := exec.CommandContext(ctx, p.Bin, "sandbox", "-P", profileName, "-C", s.workspace,
		"-c", "default_permissions="+tomlString(profileName),
		"-c", "permissions."+profileName+"="+tomlInline(profile(spec, filepath.Join(s.root, "home"))),
		"-c", "projects="+tomlInline(projects(spec)),
		"--", "/bin/bash", "-c", s.script())
	cmd.Env = setenv(setenv(p.Env, "TMPDIR", s.systemTemp), "CODEX_HOME", p.CodexHome)
	cmd.Dir, cmd.WaitDelay = s.workspace, time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || !strings.HasSuffix(string(out), scriptEnd+"\n") {
		return "", &codex.Error{Kind: codex.ErrStartup, Message: "codex sandbox: " + cut(strings.TrimSpace(stderr.String()), 1000), Cause: err}
	}
	return string(out), nil
}

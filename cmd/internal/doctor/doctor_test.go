package doctor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coxswain/activities/codex/appserver"
	"coxswain/activities/codex/codextest"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/workflows"
)

// options are those of a host without Codex and Temporal, and with a folder of its
// own.
func options(t *testing.T) Options {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "cox-temporal")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return Options{
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, NodeID: "here", Temporal: program, Now: time.Now,
		Paths:  ledger.Paths{StateDir: dir, DB: filepath.Join(dir, "ledger.db")},
		Engine: workflows.Engine{Address: "127.0.0.1:1", Env: func(string) (string, bool) { return "", false }},
	}
}

func withLedger(t *testing.T, o Options) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), ledger.Options{Path: o.Paths.DB})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// examined runs all checks and returns them by name; each failure has a remedy.
func examined(t *testing.T, o Options) map[string]Check {
	t.Helper()
	out := map[string]Check{}
	told := 0
	for _, c := range Run(t.Context(), o, func(Check) { told++ }) {
		out[c.Name] = c
		if (c.Status == Failed || c.Status == Warning) && c.Remedy == "" {
			t.Errorf("%s names no remedy: %+v", c.Name, c)
		}
	}
	if told != len(out) {
		t.Errorf("%d checks were told, %d returned", told, len(out))
	}
	return out
}

func want(t *testing.T, c Check, s Status, words ...string) {
	t.Helper()
	if c.Status != s {
		t.Errorf("%s is %s, want %s: %s", c.Name, c.Status, s, c.Detail)
	}
	for _, w := range words {
		if !strings.Contains(c.Detail+" "+c.Remedy, w) {
			t.Errorf("%s does not say %q: %+v", c.Name, w, c)
		}
	}
}

func TestAFreshHostIsToldWhatToDo(t *testing.T) {
	o := options(t)
	o.Codex, o.Environ = true, []string{"PATH=/nowhere", "HOME=" + t.TempDir()}
	got := examined(t, o)
	want(t, got[ledgerCheck], Warning, "cox workspace add .")
	want(t, got[integrityCheck], Skipped)
	want(t, got[codexCheck], Failed, "no codex on PATH", "install Codex", "--adapter fake")
	want(t, got[loginCheck], Skipped)
	want(t, got[temporalCheck], OK, "cox up starts")
	want(t, got[workerCheck], Skipped)
	if _, err := os.Stat(o.Paths.DB); !os.IsNotExist(err) {
		t.Errorf("a ledger was made: %v", err)
	}
	if c := got[codexCheck]; c.Code != models.CodeAdapterUnavailable || !c.Required {
		t.Errorf("codex %+v", c)
	}
}

func TestATemporalThatIsGoneIsNoticedWhileSomethingNeedsIt(t *testing.T) {
	o := options(t)
	o.WorkerPID = os.Getpid()
	want(t, examined(t, o)[temporalCheck], Warning, "127.0.0.1:1 does not answer", "the worker", "cox up")
	o.UpPID = os.Getpid()
	got := examined(t, o)[temporalCheck]
	want(t, got, Failed, "127.0.0.1:1 does not answer", "cox up (process ", "cox down && cox up")
	if got.Code != models.CodeEngineUnavailable || !got.Required {
		t.Errorf("%+v", got)
	}
}

func TestAHealthyLedgerPasses(t *testing.T) {
	o := options(t)
	withLedger(t, o)
	got := examined(t, o)
	for _, name := range []string{ledgerCheck, integrityCheck, privateCheck, clockCheck, gitCheck, diskCheck, logsCheck} {
		want(t, got[name], OK)
	}
	want(t, got[workerCheck], Warning, "cox up")
	want(t, got[codexCheck], Skipped)
	if all := Run(t.Context(), o, func(Check) {}); FirstFailure(all) != nil {
		t.Errorf("failed: %+v", FirstFailure(all))
	}
}

func TestFilesThatOthersCanReadAreNamed(t *testing.T) {
	o := options(t)
	withLedger(t, o)
	if err := os.Chmod(o.Paths.DB+".key", 0o644); err != nil {
		t.Fatal(err)
	}
	want(t, examined(t, o)[privateCheck], Failed, "mode 0644", "chmod 600 "+o.Paths.DB+"*")
	if err := os.Chmod(o.Paths.DB+".key", 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, examined(t, o)[privateCheck], OK)
}

func TestADamagedLedgerIsFound(t *testing.T) {
	o := options(t)
	l := withLedger(t, o)
	by := models.Principal{ActorID: "human:ann", Role: models.RoleHuman}
	for _, id := range []string{"a", "b", "c", "d"} {
		_, err := l.RegisterWorkspace(t.Context(), ledger.As(by), ledger.NewWorkspace{ID: id, Metadata: map[string]any{"text": strings.Repeat("x", 20_000)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil { // writes the log into the file
		t.Fatal(err)
	}
	damage(t, o.Paths.DB)
	got := examined(t, o)
	if got[ledgerCheck].Status != Failed && got[integrityCheck].Status != Failed {
		t.Errorf("the damage was not found: %+v, %+v", got[ledgerCheck], got[integrityCheck])
	}
}

// damage overwrites the second half of a file.
func damage(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(strings.Repeat("\xee", int(info.Size()/2))), info.Size()/2); err != nil {
		t.Fatal(err)
	}
}

func TestAClockThatWentBackIsFound(t *testing.T) {
	o := options(t)
	l := withLedger(t, o)
	by := models.Principal{ActorID: "human:ann", Role: models.RoleHuman}
	if _, err := l.RegisterWorkspace(t.Context(), ledger.As(by), ledger.NewWorkspace{ID: "w"}); err != nil {
		t.Fatal(err)
	}
	o.Now = func() time.Time { return time.Now().Add(-time.Hour) }
	want(t, examined(t, o)[clockCheck], Failed, "set the clock")
}

func TestANamedTemporalHasToAnswer(t *testing.T) {
	o := options(t)
	o.EngineNamed = true
	c := examined(t, o)[temporalCheck]
	want(t, c, Failed, "127.0.0.1:1", "cox up")
	if c.Code != models.CodeEngineUnavailable {
		t.Errorf("code %s", c.Code)
	}
	o.EngineNamed, o.Temporal = false, "/nowhere/cox-temporal"
	want(t, examined(t, o)[temporalCheck], Failed, "beside cox")
}

func TestAWorkerThatIsSilentFails(t *testing.T) {
	o := options(t)
	l := withLedger(t, o)
	if _, err := l.StartNode(t.Context(), o.NodeID, "host", 0); err != nil {
		t.Fatal(err)
	}
	o.WorkerPID = 4711
	c := examined(t, o)[workerCheck]
	want(t, c, OK, "process 4711", "incarnation 1")
	o.Now = func() time.Time { return time.Now().Add(models.NodeSilence + time.Minute) }
	want(t, examined(t, o)[workerCheck], Failed, "cox down")
}

func TestGitVersionsAreRead(t *testing.T) {
	for text, want := range map[string][2]int{
		"git version 2.39.5": {2, 39}, "git version 2.50.1 (Apple Git-155)": {2, 50}, "git version 3.0.rc1": {3, 0}, "no git": {0, 0}, "": {0, 0},
	} {
		if major, minor := gitVersion(text); [2]int{major, minor} != want {
			t.Errorf("%q is %d.%d, want %v", text, major, minor, want)
		}
	}
}

// TestTheRealCodexIsAsked needs no account: with a made-up key somebody is logged
// in, without one nobody is, and nothing of the key is told.
func TestTheRealCodexIsAsked(t *testing.T) {
	bin := codextest.Binary(t)
	o := options(t)
	o.Codex, o.CodexBin, o.CodexHome = true, bin, t.TempDir()
	o.Environ = codextest.Env(o.CodexHome)
	got := examined(t, o)
	want(t, got[codexCheck], OK, codextest.Version)
	want(t, got[capabilityCheck], OK)
	want(t, got[sandboxCheck], OK, "tried with codex sandbox")
	want(t, got[transportCheck], OK, "unix")
	want(t, got[loginCheck], Failed, "nobody is logged in", "codex login")

	const key = "sk-made-up-0123456789"
	login, err := json.Marshal(map[string]string{"OPENAI_API_KEY": key, "auth_mode": "apikey"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.CodexHome, "auth.json"), login, 0o600); err != nil {
		t.Fatal(err)
	}
	l := withLedger(t, o)
	proof := got[sandboxCheck].Detail
	storeProof(t, l, o)
	got = examined(t, o)
	want(t, got[loginCheck], OK, "logged in")
	want(t, got[sandboxCheck], OK, "proved before")
	if text, err := json.Marshal(got); err != nil || strings.Contains(string(text), key) || strings.Contains(string(text), proof) {
		t.Errorf("the key was told, or the stored proof was made again: %s %v", text, err)
	}

	o.CodexHome = codextest.WriteHome(t, t.TempDir(), "http://127.0.0.1:1/v1")
	o.Environ = codextest.Env(o.CodexHome)
	want(t, examined(t, o)[loginCheck], OK, "needs no login")
}

// storeProof is what a worker stored of its own proof of the same Codex.
func storeProof(t *testing.T, l *ledger.Ledger, o Options) {
	t.Helper()
	if _, err := l.StartNode(t.Context(), o.NodeID, "host", 0); err != nil {
		t.Fatal(err)
	}
	err := l.RecordProbe(t.Context(), o.NodeID, models.Probe{
		AdapterKind: models.AdapterKindCodex, Status: models.StatusActive, Version: codextest.Version, Capabilities: map[string]bool{},
		SandboxProved: true, SandboxDetail: "proved before", ProofKey: appserver.ProfileKey(codextest.Version),
	})
	if err != nil {
		t.Fatal(err)
	}
}

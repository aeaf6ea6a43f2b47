package e2e_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coxswain/cmd/internal/docs"
	"coxswain/models"
	"coxswain/models/ledger/pgtest"
)

// TestConsoleBlocksOfTheDocuments types every console block of every document, in
// order, into a fresh home with an empty folder, and looks for what the document
// shows under each command. Where a document leaves the adapter open it is the fake
// one; the usual address of Temporal is that of a Temporal that runs already.
//
//   - A command ends with 0; one that goes on is interrupted at the end of the
//     document, as a reader does in the other terminal, and ends with 0 then.
//   - make is only asked whether it could: it would build the program under test.
func TestConsoleBlocksOfTheDocuments(t *testing.T) {
	t.Parallel()
	files, err := docs.Files(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		blocks, _, err := docs.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(blocks) == 0 {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			terminal := newTerminal(t, filepath.Base(file))
			terminal.env["COX_ADAPTER"] = "fake"
			for _, b := range blocks {
				if b.File != "" {
					terminal.writes(b)
				}
				for _, s := range b.Steps {
					terminal.step(s)
				}
			}
			terminal.close()
		})
	}
}

// TestNewcomerNeedsFiveCommands types only what README says under its heading about
// the first steps, from an empty folder to an accepted assignment.
func TestNewcomerNeedsFiveCommands(t *testing.T) {
	t.Parallel()
	steps := underHeading(t, filepath.Join("..", "..", "..", "README.md"), "Five commands")
	if len(steps) != 5 {
		t.Fatalf("README needs %d commands: %+v", len(steps), steps)
	}
	terminal := newTerminal(t, "README.md")
	if found, err := os.ReadDir(terminal.cwd); err != nil || len(found) != 0 {
		t.Fatalf("the folder is not empty: %v, %v", found, err)
	}
	for _, s := range steps {
		terminal.step(s)
	}
	var list struct{ Assignments []models.Assignment }
	terminal.ok(&list, "assignment", "list")
	if len(list.Assignments) != 1 || list.Assignments[0].Status != models.AssignmentAccepted {
		t.Errorf("at the end there is %+v", list.Assignments)
	}
}

func underHeading(t *testing.T, file, heading string) []docs.Step {
	t.Helper()
	blocks, _, err := docs.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	var steps []docs.Step
	for _, b := range blocks {
		if strings.Contains(b.Heading, heading) {
			steps = append(steps, b.Steps...)
		}
	}
	return steps
}

// terminal is where a reader of a document types.
type terminal struct {
	*home
	document string
	going    []*process // commands that do not end by themselves
	read     int        // how much of the last one's output was shown
}

// usualEngine is Temporal's address as documents write it.
const usualEngine = "127.0.0.1:7233"

// usualDatabase is the address of the ledger's Postgres as documents write it.
const usualDatabase = "postgres://cox:$COX_POSTGRES_PASSWORD@127.0.0.1:5433/cox?sslmode=disable"

// database is one that the reader may use, where the line names any.
func (m *terminal) database(typed string) string {
	if !strings.Contains(typed, usualDatabase) {
		return usualDatabase
	}
	return pgtest.Address(m.t)
}

func newTerminal(t *testing.T, document string) *terminal {
	t.Helper()
	needTemporal(t)
	h := newHome(t)
	bin, folder := filepath.Join(h.dir, "bin"), filepath.Join(h.dir, "my-project")
	for _, dir := range []string{bin, folder} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(built.cox, filepath.Join(bin, "cox")); err != nil {
		t.Fatal(err)
	}
	h.cwd = folder
	maps.Copy(h.env, map[string]string{
		"PATH": bin + ":" + h.env["PATH"], "COX_TEMPORAL_PORT": "0", "COX_UI_PORT": "0", // the usual ports may be somebody's
		"USER": "reader", "WHERE": filepath.Join(h.dir, "where"), "VARIABLES": filepath.Join(h.dir, "variables"),
	})
	return &terminal{home: h, document: document}
}

// writes puts a file of the document into the current folder.
func (m *terminal) writes(b docs.Block) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.cwd, b.File), []byte(b.Text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// step types one command and checks what is seen.
func (m *terminal) step(s docs.Step) {
	m.t.Helper()
	if strings.Contains(s.Typed, usualEngine) {
		s.Typed = strings.ReplaceAll(s.Typed, usualEngine, shared.get(m.t).Address)
	}
	if target, ok := strings.CutPrefix(s.Typed, "make "); ok {
		m.canMake(s, target)
		return
	}
	s.Typed = strings.ReplaceAll(s.Typed, usualDatabase, m.database(s.Typed))
	switch {
	case s.Typed == "":
		m.watch(s)
		return
	case s.GoesOn:
		m.going, m.read = append(m.going, m.startProgram("bash", "-c", `touch "$VARIABLES"; . "$VARIABLES"; exec `+s.Typed)), 0
		m.watch(s)
		return
	}
	p := m.startProgram("bash", "-c", `touch "$VARIABLES"; . "$VARIABLES"; `+s.Typed+"\n"+`end=$?; export -p > "$VARIABLES"; pwd > "$WHERE"; exit $end`)
	code := p.wait(runLimit)
	printed := p.out.String() + p.err.String()
	if code != 0 {
		m.t.Fatalf("%s:%d: %s: exit %d\n%s", m.document, s.Line, s.Typed, code, printed)
	}
	if missing, _ := s.Find(printed); len(missing) > 0 {
		m.t.Errorf("%s:%d: %s shows no\n%s\nbut\n%s", m.document, s.Line, s.Typed, strings.Join(missing, "\n"), printed)
	}
	where, err := os.ReadFile(m.env["WHERE"])
	if err != nil {
		m.t.Fatal(err)
	}
	m.cwd = strings.TrimSpace(string(where))
}

// watch waits for what the last command that goes on shows next.
func (m *terminal) watch(s docs.Step) {
	m.t.Helper()
	if len(m.going) == 0 {
		m.t.Fatalf("%s:%d: no command goes on that could show this", m.document, s.Line)
	}
	p, missing := m.going[len(m.going)-1], s.Shown
	if !until(2*time.Minute, func() bool {
		all := p.out.String()
		var end int
		if missing, end = s.Find(all[m.read:]); len(missing) == 0 {
			m.read += end
		}
		return len(missing) == 0 || p.hasEnded()
	}) || len(missing) > 0 || p.hasEnded() {
		m.t.Fatalf("%s:%d: %v, ended %v, shows no\n%s\nbut\n%s%s", m.document, s.Line, p.cmd.Args[2:], p.hasEnded(),
			strings.Join(missing, "\n"), p.out.String(), p.err.String())
	}
}

// close presses Ctrl-C in every other terminal, the last one first.
func (m *terminal) close() {
	m.t.Helper()
	for _, p := range slices.Backward(m.going) {
		if !p.hasEnded() {
			p.signal(os.Interrupt)
		}
		p.ends(0, time.Minute)
	}
}

// canMake asks make in the repository whether it could make the target.
func (m *terminal) canMake(s docs.Step, target string) {
	m.t.Helper()
	cmd := exec.Command("make", append([]string{"--dry-run", "--silent"}, strings.Fields(target)...)...)
	cmd.Dir = filepath.Join("..", "..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Errorf("%s:%d: %s: %v\n%s", m.document, s.Line, s.Typed, err, out)
	}
}

package ledger_test

import (
	"os"
	"path/filepath"
	"testing"

	"coxswain/models"
	"coxswain/models/ledger"
)

// onFile is a crew in a file that the test restores and opens again.
func onFile(t *testing.T) (*crew, ledger.Options) {
	t.Helper()
	o := ledger.Options{Path: filepath.Join(t.TempDir(), "ledger.db")}
	return newCrew(t, func(testing.TB) ledger.Options { return o }, nil), o
}

// What a backup holds for open may have happened since: its command is in doubt, and
// the message of its claim is looked for before it is sent. The key comes back, too.
func TestARestoredLedgerLooksBeforeItActs(t *testing.T) {
	c, o := onFile(t)
	c.create("a")
	cmd := c.only(models.CommandStart)
	backup := filepath.Join(filepath.Dir(o.Path), "monday.db")
	c.ok(c.l.Backup(t.Context(), backup))
	c.claimed(cmd, "th-1")
	token := c.l.BindingToken(cmd.BindingID, 1)
	c.ok(c.l.Close())
	if err := os.Remove(o.Path + ".key"); err != nil {
		t.Fatal(err)
	}
	done, kept, err := ledger.RestoreFile(t.Context(), o, backup, ledger.As(person))
	c.ok(err)
	if done.Epoch != 2 || done.Commands != 1 || done.Workflows == 0 || kept == "" {
		t.Errorf("restored %+v, kept %q", done, kept)
	}
	o.Clock = c.clock
	c.l = open(t, o)
	if c.l.BindingToken(cmd.BindingID, 1) != token {
		t.Error("the key is another one")
	}
	if got, err := c.l.Command(t.Context(), cmd.ID); err != nil || got.State != models.CommandUnknown {
		t.Fatalf("the open command is %s, %v", got.State, err)
	}
	if w, _, err := c.l.BeginCommand(t.Context(), cmd.ID, "other"); err != nil || !w.Again {
		t.Errorf("an attempt is not told to look first: %v", err)
	}
	c.claimed(cmd, "th-1")
	m, err := c.l.BeginMessage(t.Context(), "th-1", "sender")
	if err != nil || m == nil || !m.Again || m.Item.ID != models.MessageID(cmd.ID) {
		t.Errorf("the message is sent without a look: %+v, %v", m, err)
	}
}

func TestWhatIsNotRestored(t *testing.T) {
	_, o := onFile(t)
	other, at := onFile(t)
	foreign := filepath.Join(filepath.Dir(at.Path), "foreign.db")
	other.ok(other.l.Backup(t.Context(), foreign))
	text := filepath.Join(t.TempDir(), "text.db")
	if err := os.WriteFile(text, []byte("no database at all, but long enough to look like a page"), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{foreign, text, text + ".missing"} {
		_, _, err := ledger.RestoreFile(t.Context(), o, file, ledger.As(person))
		refused(t, models.CodeInvalidArgument, err)
	}
	if after, err := os.ReadFile(o.Path); err != nil || string(after) != string(before) {
		t.Errorf("a refusal changed the ledger: %v", err)
	}
	refused(t, models.CodeInvalidArgument, other.l.Backup(t.Context(), foreign))
}

// A copy that somebody puts back in the place of the ledger is noticed once, by the
// mark beside it; the first look and a ledger that went on are nothing.
func TestAnOldCopyIsNoticed(t *testing.T) {
	c, o := onFile(t)
	mark := filepath.Join(t.TempDir(), "seen")
	look := func(l *ledger.Ledger) *ledger.Restored {
		t.Helper()
		r, err := l.WatchForRestore(t.Context(), mark)
		c.ok(err)
		return r
	}
	if look(c.l) != nil {
		t.Fatal("the first look is taken for a restore")
	}
	backup := filepath.Join(filepath.Dir(o.Path), "monday.db")
	c.ok(c.l.Backup(t.Context(), backup))
	c.create("a")
	first, second := look(c.l), look(c.l)
	if first != nil || second != nil {
		t.Fatal("a ledger that went on is taken for a restored one")
	}
	c.ok(c.l.Close())
	for _, suffix := range []string{"-wal", "-shm"} {
		_ = os.Remove(o.Path + suffix) // closing may have removed them
	}
	if err := os.Rename(backup, o.Path); err != nil {
		t.Fatal(err)
	}
	l := open(t, o)
	if r := look(l); r == nil || r.Epoch != 2 {
		t.Fatalf("the old copy is not noticed: %+v", r)
	}
	if look(l) != nil {
		t.Error("it is noticed twice")
	}
}

// A lost key can be replaced by hand; what lives gets new tokens, and nothing else
// changes.
func TestANewKeyForALedger(t *testing.T) {
	c, o := onFile(t)
	c.create("a")
	cmd := c.only(models.CommandStart)
	c.claimed(cmd, "th-1")
	before := c.l.BindingToken(cmd.BindingID, 1)
	c.ok(c.l.Close())
	if err := os.Remove(o.Path + ".key"); err != nil {
		t.Fatal(err)
	}
	done, err := ledger.RenewKey(t.Context(), o)
	c.ok(err)
	if done.Bindings != 1 || done.Tasks != 1 {
		t.Errorf("renewed %+v", done)
	}
	o.Clock = c.clock
	l := open(t, o)
	_, _, err = l.Bound(t.Context(), before)
	refused(t, models.CodeForbidden, err)
	b, _, err := l.Bound(t.Context(), l.BindingToken(cmd.BindingID, 2))
	if err != nil || b.ID != cmd.BindingID {
		t.Errorf("the new token proves %s, %v", b.ID, err)
	}
	if m, err := l.BeginMessage(t.Context(), "th-1", "sender"); err != nil || m == nil {
		t.Errorf("the queued message is lost: %v", err)
	}
}

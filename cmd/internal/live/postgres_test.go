package live

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"coxswain/activities/codex/codextest"
	"coxswain/models/ledger"
	"coxswain/models/ledger/pgtest"
)

// Real threads work on a ledger of Postgres, which their server reaches and they
// themselves do not: neither its socket nor its password.
func TestLiveWorkOnPostgres(t *testing.T) {
	t.Parallel()
	need(t)
	address := pgtest.Address(t)
	var tries []string
	r := rigFor(t, func(r *rig) codextest.Model {
		tries = r.reaches(address)
		return overreaching(tries)
	})
	write(t, filepath.Join(r.home, ".pgpass"), "*:*:*:*:"+pgtest.Password+"\n")
	r.env = append(r.env, "COX_DB="+address, "PGPASSWORD="+pgtest.Password)
	r.team()
	r.assign("one", "Write one file", outFile("one"))
	wantStatus(t, r.up("--exit-when-done").finish(), "accepted", "one")

	worker, integrator := r.outputsOf("Your assignment is "), r.outputsOf("You are Codex integrator actor")
	for i, command := range tries {
		wantRefused(t, "worker: "+command, worker[1+i])
		wantRefused(t, "integrator: "+command, integrator[i])
	}
	for thread, h := range r.histories() {
		if strings.Contains(strings.Join(h.outputs, "\n"), pgtest.Password) {
			t.Errorf("thread %s has seen the password: %q", thread, h.outputs)
		}
	}
	l, err := ledger.Open(t.Context(), ledger.Options{Path: address, StateDir: r.state, MustExist: true})
	check(t, err)
	defer l.Close() // opened for reading
	r.toldOnce(l)
	r.intact()
}

// reaches are commands by which an agent would get at the database.
func (r *rig) reaches(address string) []string {
	u, err := url.Parse(address)
	check(r.t, err)
	socket := filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432")
	return []string{
		"cat " + filepath.Join(r.home, ".pgpass"),
		"env | grep -e COX_ -e PGPASSWORD",
		"cat " + filepath.Join(r.state, "ledger.key"),
		"perl -MIO::Socket::UNIX -e 'exit !IO::Socket::UNIX->new(\"" + socket + "\")'",
	}
}

package ledger

import (
	"net/url"
	"strings"

	"coxswain/models"
)

// IsAddress tells whether a ledger is named by the address of a database rather
// than by a file.
func IsAddress(db string) bool { return strings.Contains(db, "://") }

// ShownAddress is a ledger's file or address as it may be printed: an address
// loses its password, and everything that cannot be read as one.
func ShownAddress(db string) string {
	if !IsAddress(db) {
		return db
	}
	u, err := url.Parse(db)
	if err != nil {
		return "postgres://…"
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	for name := range q {
		if secretParameter(name) {
			q.Del(name)
		}
	}
	u.RawQuery = q.Encode()
	return u.String()
}

func secretParameter(name string) bool { return strings.Contains(strings.ToLower(name), "password") }

// HasPassword tells whether an address carries a password, which may come from the
// environment only: command lines are read by everybody, files by backups.
func HasPassword(db string) bool {
	u, err := url.Parse(db)
	if err != nil || !IsAddress(db) {
		return false
	}
	_, has := u.User.Password()
	for name := range u.Query() {
		has = has || secretParameter(name)
	}
	return has
}

// checkAddress refuses what is not the address of a Postgres database. The text of
// the address stays out of the message, since a broken one may show its password.
func checkAddress(db string) error {
	u, err := url.Parse(db)
	if err != nil {
		return models.Invalid("db", "the address cannot be read").Hint("write postgres://USER@HOST:PORT/DATABASE; other characters in it as %%XX")
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return models.Invalid("db", "%s is no kind of database that cox knows", u.Scheme).
			Hint("name a file, or postgres://USER@HOST:PORT/DATABASE")
	}
	return nil
}

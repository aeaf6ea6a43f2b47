package ledger

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"coxswain/models"
)

// Paths are the files of one state directory.
type Paths struct {
	StateDir string // 0700
	DB       string // the ledger's database file, 0600, or a database's address, perhaps with a password
	Config   string // the user's configuration file; it may be absent
}

// Lookup reads an environment variable; os.LookupEnv in production.
type Lookup func(string) (string, bool)

// ResolvePaths picks the state directory and the ledger file: the explicit
// arguments first, then COX_STATE_DIR and COX_DB (and the seeds' CTC_DB and
// COORDINATION_MEMORY_DB), then $XDG_STATE_HOME/cox, ~/.local/state/cox, on macOS
// ~/Library/Application Support/cox. All but the address of a database are made
// absolute. INVALID_ARGUMENT for what is neither a file nor such an address, and for a
// password in the explicit argument.
func ResolvePaths(stateDir, db string, env Lookup) (Paths, error) {
	dir := first(stateDir, lookup(env, "COX_STATE_DIR"))
	if dir == "" {
		home, err := homeDir(env)
		if err != nil {
			return Paths{}, err
		}
		dir = defaultStateDir(home, env)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Paths{}, models.Invalid("state-dir", "cannot be made absolute").Because(err)
	}
	file := first(db, lookup(env, "COX_DB"), lookup(env, "CTC_DB"), lookup(env, "COORDINATION_MEMORY_DB"))
	if file, err = database(file, dir); err != nil {
		return Paths{}, err
	}
	return Paths{StateDir: dir, DB: file, Config: configFile(env)}, nil
}

// database is the address of a database, checked, or the absolute path of a file.
func database(given, stateDir string) (string, error) {
	if IsAddress(given) {
		return given, checkAddress(given)
	}
	file, err := filepath.Abs(first(given, filepath.Join(stateDir, "ledger.db")))
	if err != nil {
		return "", models.Invalid("db", "cannot be made absolute").Because(err)
	}
	return file, nil
}

// Exists tells whether there is a ledger at all. A database that cannot be looked at
// counts as one; opening it tells why.
func (p Paths) Exists() bool {
	if IsAddress(p.DB) {
		return true
	}
	_, err := os.Stat(p.DB)
	return !errors.Is(err, fs.ErrNotExist)
}

func defaultStateDir(home string, env Lookup) string {
	if xdg := lookup(env, "XDG_STATE_HOME"); xdg != "" {
		return filepath.Join(xdg, "cox")
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "cox")
	}
	return filepath.Join(home, ".local", "state", "cox")
}

func configFile(env Lookup) string {
	if xdg := lookup(env, "XDG_CONFIG_HOME"); xdg != "" {
		return filepath.Join(xdg, "cox", "config.yaml")
	}
	home, err := homeDir(env)
	if err != nil {
		return "" // without a home there is no configuration file to read
	}
	return filepath.Join(home, ".config", "cox", "config.yaml")
}

func homeDir(env Lookup) (string, error) {
	if home := lookup(env, "HOME"); home != "" {
		return home, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", models.Invalid("state-dir", "no home directory is set").Hint("set COX_STATE_DIR, or pass --state-dir").Because(err)
	}
	return home, nil
}

func lookup(env Lookup, name string) string {
	v, _ := env(name)
	return v
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

package ledger

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"coxswain/models"
)

// Paths are the files of one state directory.
type Paths struct {
	StateDir string // 0700
	DB       string // the ledger's database file, 0600
	Config   string // the user's configuration file; it may be absent
}

// Lookup reads an environment variable; os.LookupEnv in production.
type Lookup func(string) (string, bool)

// ResolvePaths picks the state directory and the ledger file: the explicit
// arguments first, then COX_STATE_DIR and COX_DB (and the seeds' CTC_DB and
// COORDINATION_MEMORY_DB), then $XDG_STATE_HOME/cox, ~/.local/state/cox, on macOS
// ~/Library/Application Support/cox. All are made absolute.
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
	if strings.Contains(file, "://") {
		return Paths{}, models.Invalid("db", "a database address is not supported yet; name a file").
			Hint("cox --db /path/to/ledger.db …")
	}
	if file == "" {
		file = filepath.Join(dir, "ledger.db")
	}
	if file, err = filepath.Abs(file); err != nil {
		return Paths{}, models.Invalid("db", "cannot be made absolute").Because(err)
	}
	return Paths{StateDir: dir, DB: file, Config: configFile(env)}, nil
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

package cli

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/goccy/go-yaml"

	"coxswain/models"
	"coxswain/models/ledger"
)

const mendFile = "cox config path; mend the file that it names"

// configText is a configuration file as it was read.
type configText struct {
	path string
	raw  []byte
	err  error // why there is no text; nil for a file that is not there, which is empty
}

// fileState tells two readings of a file apart.
type fileState [sha256.Size]byte

// readConfig reads the file; "" is none.
func readConfig(path string) configText {
	if path == "" {
		return configText{}
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return configText{path: path, raw: raw, err: err}
}

// state differs between texts, and between a text and a reason why there is none.
func (t configText) state() fileState {
	return sha256.Sum256(fmt.Appendf(nil, "%v\n%s", t.err, t.raw))
}

// parse reads the settings as parseConfig does.
func (t configText) parse() (map[string]string, error) {
	if t.err != nil {
		return map[string]string{}, models.Invalid("config", "%s cannot be read", t.path).Hint(mendFile).Because(t.err)
	}
	return parseConfig(t.path, t.raw)
}

// placesOnly are db and state_dir of a text that is no YAML as a whole, from the lines
// that are: a command that stops work would look for it in another ledger without them.
func placesOnly(raw []byte) map[string]string {
	known, out := fileKeys(), map[string]string{}
	for line := range bytes.Lines(raw) {
		var doc map[string]any
		if bytes.HasPrefix(line, []byte(" ")) || yaml.Unmarshal(line, &doc) != nil {
			continue // of a section, or broken
		}
		for _, key := range []string{"db", "state_dir"} {
			if text, err := known[key].fromFile(doc[key]); err == nil && text != "" {
				out[key] = text
			}
		}
	}
	return out
}

// useOf is how the leaf takes the file. A server that is bound to a thread was started
// for its agent, with all that it needs in its environment.
func (a *app) useOf(l leaf) fileUse {
	if token, _ := a.env("COX_BINDING_TOKEN"); l.name == "mcp" && token != "" {
		return noFile
	}
	return l.file
}

// warnOfFile says that the command goes on without what is wrong in the file, and which
// ledger it works on then.
func (in *call) warnOfFile() {
	said := in.problem.Error()
	if paths, err := in.paths(); err == nil { // else the command fails by it
		dbSource := in.value("db").source
		if dbSource == "default" {
			dbSource = "in the state directory"
		}
		said += fmt.Sprintf("; going on without what is wrong, with state directory %s (%s) and ledger %s (%s)",
			paths.StateDir, in.value("state-dir").source, ledger.ShownAddress(paths.DB), dbSource)
	}
	next := mendFile
	if e, ok := errors.AsType[*models.Error](in.problem); ok {
		next = cmp.Or(e.Next, next)
	}
	_, _ = fmt.Fprintf(in.io.Err, "%s: warning: %s\nnext: %s\n", in.called, clean(said), clean(next)) // a lost warning is no failure
}

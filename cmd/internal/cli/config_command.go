package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models"
	"coxswain/models/ledger"
)

func (a *app) configCommand() *urfave.Command {
	return a.group("config", "see where each setting comes from",
		leaf{
			name: "show", usage: "show every setting, its value and where it comes from", example: "cox config show --json",
			about:   "A flag beats the environment, the environment the configuration file, the file the default.",
			options: shownOptions(), run: configShow, file: showsFile,
		},
		leaf{name: "path", usage: "print where the configuration file is, or would be", example: "cox config path", run: configPath},
		leaf{
			name: "init", usage: "write a configuration file in which every setting is explained and switched off", example: "cox config init",
			about: "A file that is there already is left alone.", run: configInit,
		},
	)
}

// fileOptions are the settings that the configuration file may hold.
func fileOptions() []*option {
	return slices.DeleteFunc(slices.Concat(settings(), engineOptions(), adapterOptions(), workerOptions(), notifyOptions(), logOptions()), func(o *option) bool { return o.key == "" })
}

// shownOptions are what config show resolves besides the common options: the settings
// of all commands, so that each can be tried out by its flag.
func shownOptions() []*option {
	return slices.Concat(engineOptions(), adapterOptions(), workerOptions(), notifyOptions(), logOptions(), []*option{workspaceOption(), teamOption(), nodeOption()})
}

// setting is one line of config show.
type setting struct {
	Name        string   `json:"name"`
	Value       string   `json:"value"`
	Source      string   `json:"source"` // flag, environment NAME, file or default
	Key         string   `json:"key,omitempty"`
	Environment []string `json:"environment"`
	Flag        string   `json:"flag"`
}

func configShow(_ context.Context, in *call) error {
	paths, err := in.paths()
	if err != nil {
		return err
	}
	effective := map[string]string{"db": paths.DB, "state-dir": paths.StateDir}
	rows := []setting{}
	for _, o := range slices.Concat(commonOptions(), shownOptions()) {
		if len(o.env) == 0 || o.name == "request-id" {
			continue
		}
		v := in.value(o.name)
		s := setting{Name: o.name, Value: first(v.raw, effective[o.name]), Source: v.source, Key: o.key, Environment: o.env, Flag: "--" + o.name}
		if ledger.IsAddress(s.Value) {
			s.Value = ledger.ShownAddress(s.Value)
		}
		rows = append(rows, s)
	}
	file, err := in.configFile()
	if err != nil {
		return err
	}
	doc := fields{"file": file, "settings": rows}
	in.configProblem(doc)
	return in.answer(doc, func(p *printer) {
		p.settings(rows, file)
		in.toldProblem(p)
	})
}

// configProblem puts what is wrong with the file into a document.
func (in *call) configProblem(doc fields) {
	if in.problem != nil {
		doc["config_problem"] = in.problem.Error()
	}
}

// toldProblem says what is wrong with the file, and that the rest of it counts.
func (in *call) toldProblem(p *printer) {
	if in.problem != nil {
		p.line("configuration: %s", in.problem)
		p.line("  what is wrong in it does not count; until it is mended no command runs but those that show or stop what runs")
	}
}

func (p *printer) settings(rows []setting, file configFile) {
	table := make([][]any, 0, len(rows))
	for _, s := range rows {
		table = append(table, []any{s.Name, orDash(s.Value), s.Source, orDash(s.Key), strings.Join(s.Environment, ", ")})
	}
	p.table("", []string{"SETTING", "VALUE", "SOURCE", "KEY IN THE FILE", "ENVIRONMENT"}, table)
	p.write("\n")
	if file.Exists {
		p.line("file: %s", file.Path)
	} else {
		p.line("file: %s, which is not there; cox config init writes one", file.Path)
	}
}

// configFile is where the configuration file is.
type configFile struct {
	Path   string `json:"path"`
	Exists bool   `json:"exists"`
}

func (a *app) configFile() (configFile, error) {
	path, err := a.configPath()
	if err != nil || path == "" {
		return configFile{Path: path}, err
	}
	_, err = os.Stat(path)
	return configFile{Path: path, Exists: err == nil}, nil
}

// configPath is the file's place, "" without a home.
func (a *app) configPath() (string, error) {
	paths, err := ledger.ResolvePaths("", "", a.env)
	return paths.Config, err
}

func configPath(_ context.Context, in *call) error {
	file, err := in.configFile()
	if err != nil {
		return err
	}
	if file.Path == "" {
		return noConfigHome()
	}
	return in.answer(fields{"file": file}, func(p *printer) { p.line("%s", file.Path) })
}

func noConfigHome() error {
	return models.Invalid("config", "no home directory is set, so there is no configuration file").Hint("set HOME or XDG_CONFIG_HOME")
}

func configInit(_ context.Context, in *call) error {
	file, err := in.configFile()
	if err != nil {
		return err
	}
	if file.Path == "" {
		return noConfigHome()
	}
	if err := os.MkdirAll(filepath.Dir(file.Path), 0o700); err != nil {
		return models.Invalid("config", "%s cannot be made", filepath.Dir(file.Path)).Because(err)
	}
	f, err := os.OpenFile(file.Path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return models.Invalid("config", "%s is there already and was left alone", file.Path).Hint("cox config show")
	}
	if err == nil {
		_, err = f.WriteString(commentedConfig())
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return models.Invalid("config", "%s cannot be written", file.Path).Because(err)
	}
	file.Exists = true
	return in.answer(fields{"file": file}, func(p *printer) { p.line("Configuration file %s is written; every line of it is a comment", file.Path) })
}

// commentedConfig explains every key.
func commentedConfig() string {
	var b strings.Builder
	b.WriteString("# Settings of cox. A flag beats the environment, the environment this file.\n# Take the # away from a line to set it; cox config show tells what is in force.\n")
	for _, o := range fileOptions() {
		usage := strings.ReplaceAll(o.usage, "`", "")
		fmt.Fprintf(&b, "\n# %s (--%s, %s)\n# %s: %s\n", usage, o.name, strings.Join(o.env, ", "), o.key, o.fallback)
	}
	return b.String()
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

package cli

import (
	"encoding/json"
	"errors"
	"flag"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models"
)

// kind is the type of an option's value.
type kind int

const (
	textKind   kind = iota
	truthKind       // a switch
	wholeKind       // a whole number, 0 or more
	signedKind      // a whole number
	countKind       // a whole number, 1 or more
	spanKind        // a duration: 10 (seconds, as in the seeds) or 10s
	identKind       // an id as models.CheckID allows
	objectKind      // a JSON object
	listKind        // repeatable text
	momentKind      // a point in time, or how long ago it was
	formatKind      // how a list is printed
)

// option is one setting of a command and every place its value may come from.
type option struct {
	name     string
	usage    string
	kind     kind
	fallback string
	env      []string // in order of precedence
	key      string   // in the configuration file; "" is not allowed there
	oneOf    []string // the allowed words; nil allows all
	required bool
	common   bool   // shown apart in help
	ids      string // the entity whose ids complete it, such as team; "" for none
}

// commonOptions are allowed at the root, on a group and on every leaf.
func commonOptions() []*option {
	common := append(settings(),
		&option{name: "json", kind: truthKind, env: []string{"COX_JSON"}, usage: "print one JSON document on stdout"},
		&option{name: "format", fallback: "text", env: []string{"COX_FORMAT"}, oneOf: []string{"text", "json"}, usage: "`FORMAT` of the answer: text or json, which is --json"},
		&option{name: "request-id", kind: identKind, env: []string{"COX_REQUEST_ID"}, usage: "`ID` under which a repeated call gets the first answer"},
		&option{name: "actor", ids: "actor", kind: identKind, env: []string{"COX_ACTOR"}, usage: "act as this registered `ID`, in its role, instead of human:<login>"},
	)
	for _, o := range common {
		o.common = true
	}
	return common
}

// settings are the common options that the configuration file may also set.
func settings() []*option {
	return []*option{
		{name: "db", key: "db", env: []string{"COX_DB", "CTC_DB", "COORDINATION_MEMORY_DB"}, usage: "the ledger's database `FILE`, or postgres://USER@HOST/DATABASE (a password by COX_DB or PGPASSWORD only)"},
		{name: "state-dir", key: "state_dir", env: []string{"COX_STATE_DIR"}, usage: "the `DIR` of the ledger, its key and its backups"},
		{name: "log-level", key: "log_level", fallback: "warn", env: []string{"COX_LOG_LEVEL"}, oneOf: []string{"debug", "info", "warn", "error"}, usage: "lowest `LEVEL` logged on stderr: debug, info, warn or error"},
	}
}

// engineOptions say where Temporal is, for the commands that talk to it.
func engineOptions() []*option {
	return []*option{
		{name: "address", key: "address", env: []string{"COX_ADDRESS"}, usage: "`HOST:PORT` of Temporal"},
		{name: "namespace", key: "namespace", env: []string{"COX_NAMESPACE"}, usage: "Temporal `NAMESPACE`"},
	}
}

// adapterOptions say which agents a loop runs.
func adapterOptions() []*option {
	return []*option{
		{name: "adapter", key: "adapter", fallback: "codex-app-server", env: []string{"COX_ADAPTER"}, oneOf: []string{"codex-app-server", "fake"}, usage: "`ADAPTER` that runs agents: codex-app-server or fake"},
		{name: "model", key: "model", env: []string{"COX_MODEL"}, usage: "Codex `MODEL`; empty is the user's own default"},
	}
}

// The options that several nouns share.
func workspaceOption() *option {
	return &option{name: "workspace", ids: "workspace", kind: identKind, env: []string{"COX_WORKSPACE"}, usage: "workspace `ID`; default: the one that contains the current folder"}
}

func teamOption() *option {
	return &option{name: "team", ids: "team", kind: identKind, env: []string{"COX_TEAM"}, usage: "team `ID`; default: the only one of the workspace"}
}

// The filters of lists have no default: without them everything is listed.
func workspaceFilter() *option {
	return &option{name: "workspace", ids: "workspace", kind: identKind, env: []string{"COX_WORKSPACE"}, usage: "only this workspace `ID`"}
}

func teamFilter() *option {
	return &option{name: "team", ids: "team", kind: identKind, env: []string{"COX_TEAM"}, usage: "only this team `ID`"}
}

func limitOption(what string) *option {
	return &option{name: "limit", kind: countKind, fallback: "200", usage: "at most `N` " + what}
}

func baseOption() *option {
	return &option{name: "base-revision", kind: wholeKind, usage: "refuse when the assignment's revision is not `N`"}
}

// The wrappers show the environment variables in help but keep the library from
// reading the process environment, which would pass by Main's env argument.
type (
	textFlag  struct{ *urfave.StringFlag }
	truthFlag struct{ *urfave.BoolFlag }
	listFlag  struct{ *urfave.StringSliceFlag }
)

func (f textFlag) Apply(set *flag.FlagSet) error {
	plain := *f.StringFlag
	plain.EnvVars = nil
	return plain.Apply(set)
}

func (f truthFlag) Apply(set *flag.FlagSet) error {
	plain := *f.BoolFlag
	plain.EnvVars = nil
	return plain.Apply(set)
}

func (f listFlag) Apply(set *flag.FlagSet) error {
	plain := *f.StringSliceFlag
	plain.EnvVars = nil
	return plain.Apply(set)
}

func flagsOf(options []*option) []urfave.Flag {
	out := make([]urfave.Flag, 0, len(options))
	for _, o := range options {
		out = append(out, o.flag())
	}
	return out
}

func (o *option) flag() urfave.Flag {
	category := ""
	if o.common {
		category = "Common"
	}
	usage := o.usage
	if o.required {
		usage += " (required)"
	}
	switch o.kind {
	case truthKind:
		return truthFlag{&urfave.BoolFlag{Name: o.name, Usage: usage, EnvVars: o.env, Category: category, DisableDefaultText: true}}
	case listKind:
		return listFlag{&urfave.StringSliceFlag{Name: o.name, Usage: usage, EnvVars: o.env, Category: category}}
	default:
		return textFlag{&urfave.StringFlag{Name: o.name, Usage: usage, EnvVars: o.env, Category: category, DefaultText: o.fallback}}
	}
}

// value is a resolved option.
type value struct {
	parsed any
	raw    string // as it was given, "" for a list
	source string // "flag", "environment NAME", "file" or "default"
}

// resolve finds the value of an option: the nearest flag that was set, the
// environment, the configuration file, the default.
func (a *app) resolve(c *urfave.Context, o *option) (value, error) {
	if o.kind == listKind {
		return value{parsed: c.StringSlice(o.name), source: "flag"}, nil
	}
	raw, source := o.fallback, "default"
	if v, from, err := a.given(c, o); err != nil {
		return value{}, err
	} else if from != "" {
		raw, source = v, from
	}
	parsed, err := o.parse(raw)
	if err != nil {
		return value{}, err
	}
	return value{parsed: parsed, raw: raw, source: source}, nil
}

func (a *app) given(c *urfave.Context, o *option) (raw, source string, err error) {
	for _, level := range c.Lineage() {
		if level.Command == nil {
			break
		}
		if !slices.Contains(level.LocalFlagNames(), o.name) {
			continue
		}
		if o.kind == truthKind {
			return strconv.FormatBool(level.Bool(o.name)), "flag", nil
		}
		return level.String(o.name), "flag", nil
	}
	for _, name := range o.env {
		if v, _ := a.env(name); v != "" {
			return v, "environment " + name, nil
		}
	}
	if o.key == "" {
		return "", "", nil
	}
	file, err := a.config()
	if v, ok := file[o.key]; ok {
		return v, "file", err
	}
	return "", "", err
}

// parse checks the text and turns it into a value of the option's kind.
func (o *option) parse(raw string) (any, error) {
	switch o.kind {
	case truthKind:
		return parseTruth(o.name, raw)
	case signedKind:
		return parseWhole(o.name, raw, math.MinInt)
	case wholeKind:
		return parseWhole(o.name, raw, 0)
	case countKind:
		return parseWhole(o.name, raw, 1)
	case spanKind:
		return parseSpan(o.name, raw)
	case objectKind:
		return parseObject(o.name, raw)
	case identKind:
		if raw == "" {
			return raw, nil
		}
		return raw, models.CheckID(o.name, raw)
	case momentKind:
		return parseMoment(o.name, raw, time.Now())
	case formatKind:
		return parseFormat(o.name, raw)
	case textKind, listKind:
	}
	if raw != "" && o.oneOf != nil && !slices.Contains(o.oneOf, raw) {
		return nil, models.Invalid(o.name, "%q must be one of %s", raw, strings.Join(o.oneOf, ", "))
	}
	return raw, nil
}

func parseTruth(name, raw string) (bool, error) {
	if raw == "" {
		return false, nil
	}
	v, err := strconv.ParseBool(raw)
	if err != nil {
		return false, models.Invalid(name, "%q must be true or false", raw)
	}
	return v, nil
}

func parseWhole(name, raw string, least int) (int, error) {
	if raw == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(raw)
	if err != nil {
		return 0, models.Invalid(name, "%q must be a whole number", raw)
	}
	if n < least {
		return 0, models.Invalid(name, "%d must be %d or more", n, least)
	}
	return n, nil
}

// parseSpan reads a duration; a bare number is seconds, as in the seeds' flags.
func parseSpan(name, raw string) (time.Duration, error) {
	if raw == "" {
		return 0, nil
	}
	if seconds, err := strconv.Atoi(raw); err == nil {
		raw = strconv.Itoa(seconds) + "s"
	}
	d, err := time.ParseDuration(raw)
	if err != nil {
		return 0, models.Invalid(name, "%q must be a duration such as 10 (seconds), 90s or 5m", raw)
	}
	if d < 0 {
		return 0, models.Invalid(name, "%q must not be negative", raw)
	}
	return d, nil
}

// parseMoment reads a point in time, or the time since it: 90s, 2h, 7d.
func parseMoment(name, raw string, now time.Time) (time.Time, error) {
	if raw == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, raw, time.Local); err == nil {
			return t, nil
		}
	}
	if day, ok := namedDay(raw, now); ok {
		return day, nil
	}
	if days, ok := strings.CutSuffix(raw, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	ago, err := parseSpan(name, raw)
	if err != nil {
		return time.Time{}, models.Invalid(name, "%q must be a time such as 2006-01-02 or 2006-01-02T15:04:05Z, or how long ago it was, such as 90s, 2h or 7d", raw)
	}
	return now.Add(-ago), nil
}

// namedDay is the beginning of today or yesterday.
func namedDay(word string, now time.Time) (time.Time, bool) {
	back := map[string]int{"today": 0, "yesterday": -1}
	days, known := back[word]
	y, m, d := now.Local().Date()
	return time.Date(y, m, d+days, 0, 0, 0, 0, time.Local), known
}

func parseObject(name, raw string) (map[string]any, error) {
	if raw == "" {
		return map[string]any{}, nil
	}
	var out map[string]any
	err := json.Unmarshal([]byte(raw), &out)
	if _, broken := errors.AsType[*json.SyntaxError](err); broken {
		return nil, models.Invalid(name, "must be a JSON object").Because(err)
	}
	if err != nil || out == nil { // other JSON, which the cause would describe by types of the program
		return nil, models.Invalid(name, "must be a JSON object such as {\"key\":\"value\"}")
	}
	return out, nil
}

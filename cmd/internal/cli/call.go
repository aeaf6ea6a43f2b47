package cli

import (
	"context"
	"log/slog"
	"os/user"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models"
	"coxswain/models/ledger"
)

// call is one invocation of one leaf: its options resolved, its argument
// checked.
type call struct {
	*app
	argument string
	many     []string // all arguments of a leaf that takes several
	values   map[string]value

	fallbacks map[string]string // the defaults of the leaf's options
	logs      []*rotatedLog     // logs that this command writes for its children
	mutates   bool              // the command asked the ledger for a change
	waits     func() *lag       // what the change waits for; nil for nothing
	queued    subjects          // what the change asks a loop or a node to take up
	idles     func() []models.Idle
}

// begin checks what the parser left and resolves every option of the leaf.
func (a *app) begin(c *urfave.Context, l leaf) (*call, error) {
	in := &call{app: a, values: map[string]value{}, fallbacks: map[string]string{}}
	a.use = a.useOf(l)
	// first, since an option that came too late would be reported as missing
	if err := a.flagsFirst(c, l); err != nil {
		return nil, err
	}
	for _, o := range l.all() {
		v, err := a.resolve(c, o)
		if err != nil {
			return nil, err
		}
		in.values[o.name], in.fallbacks[o.name] = v, o.fallback
	}
	if a.use == brakes && a.problem != nil {
		in.warnOfFile()
	}
	a.json = in.on("json") || in.raw("format") == formatJSON
	if err := in.missing(c, l); err != nil {
		return in, err
	}
	argument, err := a.positional(c, l)
	in.argument, in.many, a.begun = argument, c.Args().Slice(), err == nil
	return in, err
}

// missing names everything at once that the command line lacks.
func (in *call) missing(c *urfave.Context, l leaf) error {
	var names, fields []string
	for _, o := range l.all() {
		if o.required && in.values[o.name].raw == "" {
			names, fields = append(names, "--"+o.name), append(fields, o.name)
		}
	}
	if len(names) > 0 && l.needsArgument() && !c.Args().Present() {
		names, fields = append(names, l.argument), append(fields, l.argument)
	}
	if len(names) == 0 {
		return nil
	}
	verb := "is"
	if len(names) > 1 {
		verb = "are"
	}
	return models.Invalid(fields[0], "%s %s required", strings.Join(names, ", "), verb).With("fields", fields).Hint("%s --help", c.Command.HelpName)
}

func (a *app) positional(c *urfave.Context, l leaf) (string, error) {
	given := c.Args().Slice()
	allowed := 1
	if l.argument == "" {
		allowed = 0
	}
	if len(given) > allowed && !l.several() {
		return "", models.Invalid("arguments", "unexpected argument %q", given[allowed]).Hint("%s --help", c.Command.HelpName)
	}
	if len(given) > 0 {
		return given[0], nil
	}
	if l.needsArgument() {
		return "", models.Invalid(l.argument, "is required").Hint("%s --help", c.Command.HelpName)
	}
	return "", nil
}

// The readers return resolved options; an option that the leaf did not declare
// is a mistake of the program.
func (in *call) value(name string) value {
	v, ok := in.values[name]
	if !ok {
		panic("cli: option --" + name + " is not declared by this command")
	}
	return v
}

func (in *call) text(name string) string           { return in.value(name).parsed.(string) }
func (in *call) on(name string) bool               { return in.value(name).parsed.(bool) }
func (in *call) whole(name string) int             { return in.value(name).parsed.(int) }
func (in *call) span(name string) time.Duration    { return in.value(name).parsed.(time.Duration) }
func (in *call) moment(name string) time.Time      { return in.value(name).parsed.(time.Time) }
func (in *call) list(name string) []string         { return in.value(name).parsed.([]string) }
func (in *call) object(name string) map[string]any { return in.value(name).parsed.(map[string]any) }

// given tells whether the option's value is not its default.
func (in *call) given(name string) bool { return in.value(name).source != "default" }

// base is the caller's base revision, nil when none was named.
func (in *call) base() *int {
	if !in.given("base-revision") {
		return nil
	}
	n := in.whole("base-revision")
	return &n
}

// paths are the ledger's files for this invocation. A password in the ledger's address
// may come from the environment only.
func (in *call) paths() (ledger.Paths, error) {
	if db := in.value("db"); !strings.HasPrefix(db.source, "environment") && ledger.HasPassword(in.text("db")) {
		return ledger.Paths{}, models.Invalid("db", "the address holds a password, which others could read there").
			Hint("leave the password out and set PGPASSWORD, or set COX_DB to the whole address")
	}
	return ledger.ResolvePaths(in.text("state-dir"), in.text("db"), in.env)
}

// ledger opens the ledger at its first use; it has to exist.
func (in *call) ledger(ctx context.Context) (*ledger.Ledger, error) { return in.open(ctx, true) }

// newLedger opens the ledger and creates it where needed.
func (in *call) newLedger(ctx context.Context) (*ledger.Ledger, error) { return in.open(ctx, false) }

func (in *call) open(ctx context.Context, mustExist bool) (*ledger.Ledger, error) {
	if in.opened != nil {
		return in.opened, nil
	}
	paths, err := in.paths()
	if err != nil {
		return nil, err
	}
	in.opened, err = ledger.Open(ctx, ledger.Options{Path: paths.DB, StateDir: paths.StateDir, MustExist: mustExist})
	return in.opened, err
}

// log is the logger of the invocation, on stderr.
func (in *call) log() *slog.Logger {
	if in.logger == nil {
		var level slog.Level
		if err := level.UnmarshalText([]byte(in.text("log-level"))); err != nil {
			level = slog.LevelWarn // the option's words are all levels; this is for a new one
		}
		in.level.Set(level)
		in.logger = slog.New(slog.NewTextHandler(in.io.Err, &slog.HandlerOptions{Level: &in.level}))
	}
	return in.logger
}

// by is the person who types, or the actor that --actor names, in the role that the
// ledger knows it by.
func (in *call) by() models.Principal {
	if id := in.text("actor"); id != "" {
		return models.Principal{ActorID: id}
	}
	return models.Principal{ActorID: "human:" + login(in.env), Role: models.RoleHuman}
}

// request starts a ledger call by that person, under --request-id. The answer then
// says what the change waits for.
func (in *call) request() *ledger.Call {
	in.mutates = true
	return ledger.As(in.by()).Request(in.text("request-id"))
}

// login is the name of the operating system's user, in the letters of an id.
func login(env func(string) (string, bool)) string {
	name := ""
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	for _, variable := range []string{"USER", "LOGNAME", "USERNAME"} {
		if name == "" {
			name, _ = env(variable)
		}
	}
	if name = idFrom(name); name == "" {
		name = "unknown"
	}
	return models.IDPart(name)
}

// idFrom makes an id of any text: other characters become "-", ends are
// stripped.
func idFrom(text string) string {
	mapped := strings.Map(func(r rune) rune {
		if strings.ContainsRune("._-", r) || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, text)
	return models.IDPart(strings.TrimLeft(strings.TrimRight(mapped, "-."), "-._"))
}

// raw is an option's value as it was given, to pass it on to a child.
func (in *call) raw(name string) string { return in.value(name).raw }

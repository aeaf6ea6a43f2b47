package cli

import (
	"context"
	"errors"
	"os"
	"strings"

	"coxswain/activities/codex"
	"coxswain/activities/codex/appserver"
	"coxswain/models"
	"coxswain/models/ledger"
	"coxswain/worker"
)

// highestPort is the last port of TCP.
const highestPort = 65535

// checkUp refuses options of `cox up` that cannot be meant, before anything is
// made or started.
func (in *call) checkUp() error {
	for _, name := range []string{"port", "ui-port"} {
		if n := in.whole(name); n > highestPort {
			return models.Invalid(name, "%d must be 0 to %d", n, highestPort)
		}
	}
	if _, err := in.policyPath(); err != nil {
		return err
	}
	if in.on("exit-when-done") && in.on("no-loop") {
		return models.Invalid("exit-when-done", "with --no-loop there is no work whose end it could wait for").Hint("leave one of the two out")
	}
	if !in.on("demo") {
		return nil
	}
	if in.on("detach") {
		return models.Invalid("detach", "a demo is there to be watched").Hint("leave one of the two out")
	}
	for _, name := range []string{"state-dir", "db", "team", "workspace"} {
		if in.value(name).source == "flag" {
			return models.Invalid(name, "--%s does not go with --demo, which makes its own", name).Hint("leave one of the two out")
		}
	}
	if !in.given("adapter") {
		return nil // the fake is the demo's default
	}
	return in.checkCodex("") // its state directory is yet to be made
}

// checkCodex refuses the adapter of the real Codex where there is none to run. A
// program that is named is left to the worker's probe, and so is everything where
// a worker of the state directory runs already, whose environment may be another.
func (in *call) checkCodex(stateDir string) error {
	if in.text("adapter") == "fake" || in.given("codex-bin") {
		return nil
	}
	if _, running := worker.Running(stateDir); stateDir != "" && running {
		return nil
	}
	_, err := appserver.Find(os.Environ())
	if err == nil {
		return nil
	}
	reason := err.Error()
	if e, ok := errors.AsType[*codex.Error](err); ok {
		reason, _, _ = strings.Cut(e.Message, "; install Codex") // the hint says what to do
	}
	return models.Errorf(models.CodeAdapterUnavailable, "the adapter codex-app-server needs Codex: %s", reason).
		Hint("install Codex, name its program with --codex-bin, or use --adapter fake")
}

// noTeamError tells why there is no team whose loop `cox up` could turn on, and
// the command that helps.
type noTeamError struct{ reason, next string }

// Error implements error.
func (e *noTeamError) Error() string { return e.reason }

// checkTeams looks before anything is started whether the teams to cover are
// there and their adapter can be. Without a team only who waits for the end of
// its work is refused; others may add one while this runs.
func (s *stack) checkTeams(ctx context.Context) error {
	if s.demo != nil || s.on("no-loop") {
		return nil
	}
	err := s.findTeams(ctx)
	if why, ok := errors.AsType[*noTeamError](err); ok {
		if s.on("exit-when-done") {
			return models.Invalid("exit-when-done", "there is no team to wait for: %s", why.reason).Hint("%s", why.next)
		}
		return nil
	}
	if err != nil {
		return err
	}
	return s.checkCodex(s.stateDir)
}

func (s *stack) findTeams(ctx context.Context) error {
	paths, err := s.paths()
	if err != nil {
		return err
	}
	if !paths.Exists() {
		return &noTeamError{reason: "there is no ledger at " + paths.DB, next: "cox workspace add ."}
	}
	l, err := s.ledger(ctx)
	if models.IsCode(err, models.CodeNotFound) {
		return &noTeamError{reason: err.Error(), next: "cox workspace add ."}
	}
	if err == nil {
		_, err = s.covered(ctx, l)
	}
	return err
}

// covered are the teams of the flags, or the active ones of the workspace that
// contains the current folder. None is a noTeamError.
func (s *stack) covered(ctx context.Context, l *ledger.Ledger) ([]models.Team, error) {
	if s.given("team") || s.given("workspace") {
		return s.namedTeams(ctx, l)
	}
	w, err := s.workspace(ctx, l)
	if models.IsCode(err, models.CodeInvalidArgument) {
		return nil, &noTeamError{reason: err.Error(), next: "cox workspace add ."}
	}
	if err != nil {
		return nil, err
	}
	all, err := l.Teams(ctx, w.ID)
	if err != nil {
		return nil, err
	}
	var out []models.Team
	for _, t := range all {
		if t.Status == models.StatusActive {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return nil, &noTeamError{reason: "workspace " + w.ID + " has no team", next: "cox team create --workspace " + w.ID + " TEAM"}
	}
	return out, nil
}

// namedTeams are the teams that the flags leave, of workspaces in use.
func (s *stack) namedTeams(ctx context.Context, l *ledger.Ledger) ([]models.Team, error) {
	teams, err := s.loopTeams(ctx, l)
	if err != nil {
		return nil, err
	}
	for _, t := range teams {
		w, err := l.Workspace(ctx, t.WorkspaceID)
		if err != nil {
			return nil, err
		}
		if err := w.InUse(); err != nil {
			return nil, err
		}
	}
	return teams, nil
}

package ledger

import (
	"context"
	"strings"
	"time"

	"coxswain/models"
)

// NewTeam is what CreateTeam records. OwnerActorID is the team's integrator,
// models.IntegratorID of the team when blank.
type NewTeam struct {
	ID           string
	WorkspaceID  string
	Name         string
	PhaseKey     string // the phase of a plan that the team works on; free text
	OwnerActorID string
	Settings     map[string]any // nil keeps what is stored
}

// Board is a team with its assignments by lane; all eight lanes are present.
type Board struct {
	Team  models.Team                    `json:"team"`
	Lanes map[string][]models.Assignment `json:"lanes"`
}

// CreateTeam adds a team or updates the fields that are given. It refuses to move
// a team to another workspace. Errors: FORBIDDEN, NOT_FOUND, INVALID_ARGUMENT,
// SECRET_DETECTED.
func (l *Ledger) CreateTeam(ctx context.Context, c *Call, n NewTeam) (models.Team, error) {
	in := args{"team_id": n.ID, "workspace_id": n.WorkspaceID, "name": n.Name, "phase_key": n.PhaseKey, "owner_actor_id": n.OwnerActorID, "settings": n.Settings}
	return write(ctx, l, c, "create_team", in, func(tx *Tx) (models.Team, error) { return tx.createTeam(n) })
}

func (tx *Tx) createTeam(n NewTeam) (models.Team, error) {
	var t models.Team
	if err := tx.needUnbound("create team", models.RoleAgent, models.RoleIntegrator, models.RoleHuman, models.RoleNode); err != nil {
		return t, err
	}
	if err := models.CheckID("team_id", n.ID); err != nil {
		return t, err
	}
	if err := required("workspace_id", n.WorkspaceID); err != nil {
		return t, err
	}
	w, err := get[models.Workspace](tx.db, "workspace", n.WorkspaceID)
	if err != nil {
		return t, err
	}
	if err := w.InUse(); err != nil {
		return t, err
	}
	old, found, err := find[models.Team](tx.db, "id = ?", n.ID)
	if err != nil {
		return t, err
	}
	if found && old.WorkspaceID != n.WorkspaceID {
		return t, models.Invalid("workspace_id", "team %q belongs to workspace %q and cannot be moved", n.ID, old.WorkspaceID)
	}
	if t, err = n.over(old); err != nil {
		return t, err
	}
	if err := tx.owner(t.OwnerActorID); err != nil {
		return t, err
	}
	if found {
		return tx.updateTeam(old, t)
	}
	t.Status, t.Loop, t.Version, t.CreatedAt, t.UpdatedAt = models.StatusActive, models.DefaultLoop(), 1, tx.Now, tx.Now
	if err := tx.insert(&t); err != nil {
		return t, err
	}
	return t, tx.noteTeam(t)
}

// over lays the given fields over a stored team.
func (n NewTeam) over(t models.Team) (models.Team, error) {
	t.ID, t.WorkspaceID, t.Name = n.ID, n.WorkspaceID, first(n.Name, t.Name, n.ID)
	t.OwnerActorID = first(n.OwnerActorID, t.OwnerActorID, models.IntegratorID(n.ID))
	t.PhaseKey = first(n.PhaseKey, t.PhaseKey)
	if n.Settings == nil && t.Settings != nil {
		return t, nil
	}
	settings, err := object("settings", n.Settings)
	t.Settings = settings
	return t, err
}

// owner makes the row of an actor that a team names as its integrator before it
// was ever seen.
func (tx *Tx) owner(id string) error {
	if err := models.CheckID("owner_actor_id", strings.TrimPrefix(id, "human:")); err != nil {
		return err
	}
	_, found, err := find[models.Actor](tx.db, "id = ?", id)
	if err != nil || found {
		return err
	}
	return tx.see(id, models.RoleIntegrator)
}

func (tx *Tx) updateTeam(old, t models.Team) (models.Team, error) {
	before, err := jsonText(old)
	if err != nil {
		return t, err
	}
	after, err := jsonText(t)
	if err != nil || before == after {
		return old, err
	}
	settings, err := jsonText(t.Settings)
	if err != nil {
		return t, err
	}
	t.Version, t.UpdatedAt = old.Version+1, tx.Now
	_, err = tx.swap(&models.Team{}, map[string]any{
		"name": t.Name, "phase_key": t.PhaseKey, "owner_actor_id": t.OwnerActorID, "settings": settings,
		"version": t.Version, "updated_at": tx.ms(),
	}, "id = ?", t.ID)
	if err != nil {
		return t, err
	}
	return t, tx.noteTeam(t)
}

func (tx *Tx) noteTeam(t models.Team) error {
	_, err := tx.append(models.Event{
		WorkspaceID: t.WorkspaceID, TeamID: t.ID, Type: models.EventTeamCreated,
		Payload: map[string]any{"name": t.Name, "owner_actor_id": t.OwnerActorID, "version": t.Version},
	})
	return err
}

// Team returns one team or NOT_FOUND.
func (l *Ledger) Team(ctx context.Context, id string) (models.Team, error) {
	return get[models.Team](l.read(ctx), "team", id)
}

// Teams lists the teams of a workspace, "" for all, by id.
func (l *Ledger) Teams(ctx context.Context, workspaceID string) ([]models.Team, error) {
	q := l.read(ctx).Order("id")
	if workspaceID != "" {
		q = q.Where("workspace_id = ?", workspaceID)
	}
	out := []models.Team{}
	return out, q.Find(&out).Error
}

// Board returns a team's assignments by lane, in each by priority, then age, then
// id (comem, board lanes). Cancelled and superseded ones stand in none.
func (l *Ledger) Board(ctx context.Context, teamID string) (Board, error) {
	b := Board{Lanes: map[string][]models.Assignment{}}
	for _, lane := range models.Lanes() {
		b.Lanes[lane] = []models.Assignment{}
	}
	var err error
	if b.Team, err = l.Team(ctx, teamID); err != nil {
		return b, err
	}
	var rows []models.Assignment
	err = l.read(ctx).Where("team_id = ? AND status NOT IN ('cancelled','superseded')", teamID).Order("priority DESC, created_at, id").Find(&rows).Error
	if err == nil {
		err = fillDependencies(l.read(ctx), rows)
	}
	for _, a := range rows {
		b.Lanes[a.Status.Lane()] = append(b.Lanes[a.Status.Lane()], a)
	}
	return b, err
}

// loopChange is what ConfigureLoop answers.
type loopChange struct {
	Team     models.Team         `json:"team"`
	Previous models.LoopSettings `json:"previous"`
}

// ConfigureLoop writes a team's loop settings and returns the former ones, so
// that the last writer knows what it replaced. Zero numbers and a blank adapter
// mean their defaults. Errors: FORBIDDEN, NOT_FOUND, INVALID_ARGUMENT.
func (l *Ledger) ConfigureLoop(ctx context.Context, c *Call, teamID string, s models.LoopSettings) (models.Team, models.LoopSettings, error) {
	change, err := write(ctx, l, c, "configure_loop", args{"team_id": teamID, "loop": s}, func(tx *Tx) (loopChange, error) {
		return tx.configureLoop(teamID, s)
	})
	return change.Team, change.Previous, err
}

func (tx *Tx) configureLoop(teamID string, s models.LoopSettings) (loopChange, error) {
	if err := tx.needUnbound("configure loop", models.RoleHuman, models.RoleIntegrator, models.RoleNode); err != nil {
		return loopChange{}, err
	}
	t, err := get[models.Team](tx.db, "team", teamID)
	if err != nil {
		return loopChange{}, err
	}
	if s, err = checkLoop(s); err != nil {
		return loopChange{}, err
	}
	w, err := get[models.Workspace](tx.db, "workspace", t.WorkspaceID)
	if err != nil {
		return loopChange{}, err
	}
	if err := w.InUse(); s.Enabled && err != nil {
		return loopChange{}, err
	}
	previous := t.Loop
	s.SetBy = tx.By.ActorID
	t, err = tx.setLoop(t, s)
	return loopChange{Team: t, Previous: previous}, err
}

// TurnLoopOff turns a team's loop off and leaves its other settings as they are.
// Errors: FORBIDDEN, NOT_FOUND.
func (l *Ledger) TurnLoopOff(ctx context.Context, c *Call, teamID string) (models.Team, error) {
	return write(ctx, l, c, "turn_loop_off", args{"team_id": teamID}, func(tx *Tx) (models.Team, error) {
		if err := tx.needUnbound("turn loop off", models.RoleHuman, models.RoleIntegrator, models.RoleNode); err != nil {
			return models.Team{}, err
		}
		t, err := get[models.Team](tx.db, "team", teamID)
		if err != nil || !t.Loop.Enabled {
			return t, err
		}
		return tx.setLoop(t, tx.off(t.Loop))
	})
}

// off are loop settings after the caller turned the loop off.
func (tx *Tx) off(s models.LoopSettings) models.LoopSettings {
	s.Enabled, s.Owner, s.SetBy = false, "", tx.By.ActorID
	return s
}

// ReleaseLoop turns off a loop whose owner has ended, unless somebody else has
// decided about it since (false).
func (l *Ledger) ReleaseLoop(ctx context.Context, teamID, owner string) (off bool, err error) {
	err = l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		t, err := get[models.Team](tx.db, "team", teamID)
		off = err == nil && t.Loop.Enabled && t.Loop.Owner == owner && owner != ""
		if !off {
			return err
		}
		_, err = tx.setLoop(t, tx.off(t.Loop))
		return err
	})
	return off, err
}

// checkLoop fills in defaults and refuses values out of bounds.
func checkLoop(s models.LoopSettings) (models.LoopSettings, error) {
	d := models.DefaultLoop()
	s.AdapterKind = first(s.AdapterKind, d.AdapterKind)
	if s.AdapterKind != models.AdapterKindCodex && s.AdapterKind != models.AdapterKindFake {
		return s, models.Invalid("adapter_kind", "%q is neither %s nor %s", s.AdapterKind, models.AdapterKindCodex, models.AdapterKindFake)
	}
	for _, n := range []struct {
		field          string
		value          *int
		usual, highest int
	}{
		{"poll_interval_seconds", &s.PollIntervalSeconds, d.PollIntervalSeconds, 86400},
		{"max_concurrent_runs", &s.MaxConcurrentRuns, d.MaxConcurrentRuns, 1000},
		{"review_nudge_seconds", &s.ReviewNudgeSeconds, d.ReviewNudgeSeconds, 86400},
		{"review_max_nudges", &s.ReviewMaxNudges, d.ReviewMaxNudges, 100},
		{"run_lease_ttl_seconds", &s.RunLeaseTTLSeconds, d.RunLeaseTTLSeconds, int(MaxClaimTTL / time.Second)},
	} {
		if *n.value == 0 {
			*n.value = n.usual
		}
		if *n.value < 1 || *n.value > n.highest {
			return s, models.Invalid(n.field, "%d is not between 1 and %d", *n.value, n.highest)
		}
	}
	return s, nil
}

// setLoop stores loop settings and wakes the loop.
func (tx *Tx) setLoop(t models.Team, s models.LoopSettings) (models.Team, error) {
	text, err := jsonText(s)
	if err != nil {
		return t, err
	}
	previous, err := object("loop", args{"loop": s, "previous": t.Loop})
	if err != nil {
		return t, err
	}
	t.Loop, t.Version, t.UpdatedAt = s, t.Version+1, tx.Now
	if _, err := tx.swap(&models.Team{}, map[string]any{"loop": text, "version": t.Version, "updated_at": tx.ms()}, "id = ?", t.ID); err != nil {
		return t, err
	}
	if _, err := tx.append(models.Event{WorkspaceID: t.WorkspaceID, TeamID: t.ID, Type: models.EventLoopConfigured, Payload: previous}); err != nil {
		return t, err
	}
	return t, tx.wakeLoop(t.WorkspaceID, t.ID)
}

package ledger

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"coxswain/models"
)

// args are the canonical arguments of one call. Encoding sorts the keys, so that
// the same arguments hash the same.
type args = map[string]any

// MaxActorID is the longest actor id in bytes; "human:" and a login fit.
const MaxActorID = 128

// The bounds of a claim's time to live (comem section 5 shows why zero and
// negative ones are refused).
const (
	MinClaimTTL = time.Second
	MaxClaimTTL = 24 * time.Hour
)

// need admits callers in one of the roles and records that they were seen. It is
// the first check of every change.
func (tx *Tx) need(action string, roles ...models.Role) error {
	if tx.By.ActorID == "" || len(tx.By.ActorID) > MaxActorID {
		return models.Forbidden("%s: the caller's actor id must have 1 to %d bytes", action, MaxActorID)
	}
	if !slices.Contains(roles, tx.By.Role) {
		return models.Forbidden("%s: role %q may not do this; it needs %s", action, tx.By.Role, roleList(roles)).
			With("role", string(tx.By.Role)).With("actor_id", tx.By.ActorID)
	}
	return tx.see(tx.By.ActorID, tx.By.Role)
}

// recognise gives a caller who claims no role the one that the actor is registered
// with. Errors: NOT_FOUND for an actor that nobody registered, who would otherwise be
// one by a slip of the pen.
func recognise(db *gorm.DB, by models.Principal) (models.Principal, error) {
	if by.ActorID == "" || by.Role != "" {
		return by, nil
	}
	known, found, err := find[models.Actor](db, "id = ?", by.ActorID)
	if err == nil && !found {
		err = models.NotFound("actor", by.ActorID).Hint("cox actor list; a new person first: cox actor register --role human %s", by.ActorID)
	}
	by.Role = known.Role
	return by, err
}

func roleList(roles []models.Role) string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return strings.Join(names, " or ")
}

// needUnbound is need for calls that no bound thread may make: those that set up
// workspaces, teams, actors and loops.
func (tx *Tx) needUnbound(action string, roles ...models.Role) error {
	if err := tx.need(action, roles...); err != nil {
		return err
	}
	if tx.By.BindingID != "" {
		return models.Forbidden("%s: a thread bound to work may not do this", action).Hint("ask a person, or the team's integrator")
	}
	return nil
}

// see makes the actor's row on first sight and notes the time of every later
// one.
func (tx *Tx) see(id string, role models.Role) error {
	return tx.db.Exec(`INSERT INTO actors (id, role, kind, display_name, provider, status, capabilities, last_seen_at, created_at, updated_at)
	  VALUES (?, ?, ?, ?, 'local', 'active', '{}', ?, ?, ?) ON CONFLICT (id) DO UPDATE SET last_seen_at = excluded.last_seen_at`,
		id, role, actorKind(role), id, tx.ms(), tx.ms(), tx.ms()).Error
}

// actorKind is the seed's word for an actor that registered itself by writing.
func actorKind(role models.Role) string {
	switch role {
	case models.RoleAgent:
		return "coding_agent"
	case models.RoleNode:
		return "script"
	default:
		return string(role)
	}
}

// bound loads the caller's binding, or nothing for people and nodes. A binding
// that is closed, belongs to another actor or proves another role is FORBIDDEN.
func (tx *Tx) bound() (*models.Binding, error) {
	if tx.By.BindingID == "" {
		return nil, nil
	}
	b, found, err := find[models.Binding](tx.db, "id = ?", tx.By.BindingID)
	if err != nil {
		return nil, err
	}
	role := models.RoleAgent
	if b.Kind == models.BindingIntegrator {
		role = models.RoleIntegrator
	}
	if !found || b.Status != models.StatusActive || b.ActorID != tx.By.ActorID || role != tx.By.Role {
		return nil, models.Forbidden("the caller's binding is not active any more").
			Hint("the thread was replaced or its work ended; stop here")
	}
	return &b, nil
}

// mayTouch refuses a bound thread that reaches beyond its own assignment (a
// worker's) or its own team (an integrator's).
func (tx *Tx) mayTouch(a models.Assignment) error {
	b, err := tx.bound()
	if b == nil || err != nil {
		return err
	}
	if b.Kind == models.BindingWorker && b.AssignmentID != a.ID {
		return models.Forbidden("assignment %q is not the one of this thread, which is %q", a.ID, b.AssignmentID)
	}
	if b.Kind == models.BindingIntegrator && b.TeamID != a.TeamID {
		return models.Forbidden("assignment %q belongs to team %q; this thread integrates %q", a.ID, a.TeamID, b.TeamID)
	}
	return nil
}

// checkBase compares the caller's base revision, nil being no check.
func checkBase(a models.Assignment, base *int) error {
	if base == nil || *base == a.Revision {
		return nil
	}
	return staleRevision(a, "assignment %q is at revision %d, not %d", a.ID, a.Revision, *base)
}

// staleRevision says that the assignment moved and how to read it again.
func staleRevision(a models.Assignment, format string, values ...any) *models.Error {
	return models.Errorf(models.CodeStaleRevision, format, values...).
		With("assignment_id", a.ID).With("revision", a.Revision).With("status", string(a.Status)).
		Hint("cox assignment show %s", a.ID)
}

// advance changes an assignment that was read at a revision and raises it by
// one. Only the first of two writers that read the same revision succeeds.
func (tx *Tx) advance(a models.Assignment, columns map[string]any) (models.Assignment, error) {
	columns["revision"], columns["updated_at"] = a.Revision+1, tx.ms()
	ok, err := tx.swap(&models.Assignment{}, columns, "id = ? AND revision = ?", a.ID, a.Revision)
	if err != nil {
		return a, err
	}
	if !ok {
		return a, staleRevision(a, "assignment %q moved on from revision %d", a.ID, a.Revision)
	}
	return loadAssignment(tx.db, a.ID)
}

// object copies a JSON object as it will be read back: nil becomes {}, numbers
// and lists get their JSON types.
func object(field string, in map[string]any) (map[string]any, error) {
	out := map[string]any{}
	if len(in) == 0 {
		return out, nil
	}
	text, err := json.Marshal(in)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return nil, models.Invalid(field, "cannot be encoded as JSON").Because(err)
	}
	return out, nil
}

// list copies a list so that nil becomes [].
func list(in []string) []string { return append([]string{}, in...) }

func required(field, text string) error {
	if strings.TrimSpace(text) == "" {
		return models.Invalid(field, "is required")
	}
	return nil
}

func expired(at *time.Time, now time.Time) bool { return at == nil || !at.After(now) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

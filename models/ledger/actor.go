package ledger

import (
	"context"
	"strings"

	"coxswain/models"
)

// RegisterActor records an actor's long-lived profile (seed 000, actor profile).
// Registering again replaces kind, name, provider and capabilities; without a role
// it keeps the one it has. An agent may register only itself. Errors: FORBIDDEN, INVALID_ARGUMENT, SECRET_DETECTED.
func (l *Ledger) RegisterActor(ctx context.Context, c *Call, a models.Actor) (models.Actor, error) {
	in := args{
		"actor_id": a.ID, "role": a.Role, "actor_kind": a.Kind, "display_name": a.DisplayName,
		"provider": a.Provider, "status": a.Status, "capabilities": a.Capabilities,
	}
	return write(ctx, l, c, "register_actor", in, func(tx *Tx) (models.Actor, error) { return tx.registerActor(a) })
}

func (tx *Tx) registerActor(a models.Actor) (models.Actor, error) {
	if err := tx.need("register actor", models.RoleAgent, models.RoleIntegrator, models.RoleHuman, models.RoleNode); err != nil {
		return a, err
	}
	if err := tx.checkProfile(&a); err != nil {
		return a, err
	}
	if err := tx.see(a.ID, a.Role); err != nil {
		return a, err
	}
	caps, err := jsonText(a.Capabilities)
	if err != nil {
		return a, err
	}
	_, err = tx.swap(&models.Actor{}, map[string]any{
		"role": a.Role, "kind": a.Kind, "display_name": a.DisplayName, "provider": a.Provider, "status": a.Status,
		"capabilities": caps, "updated_at": tx.ms(),
	}, "id = ?", a.ID)
	if err != nil {
		return a, err
	}
	_, err = tx.append(models.Event{Type: models.EventActorRegistered, Payload: map[string]any{
		"actor_id": a.ID, "role": string(a.Role), "status": a.Status,
	}})
	if err != nil {
		return a, err
	}
	return get[models.Actor](tx.db, "actor", a.ID)
}

// checkProfile validates a profile and fills its defaults.
func (tx *Tx) checkProfile(a *models.Actor) error {
	if err := models.CheckID("actor_id", strings.TrimPrefix(a.ID, "human:")); err != nil {
		return err
	}
	if a.Role == "" {
		old, _, err := find[models.Actor](tx.db, "id = ?", a.ID)
		if err != nil {
			return err
		}
		a.Role = models.Role(first(string(old.Role), string(models.RoleAgent)))
	}
	if !models.ValidRole(a.Role) {
		return models.Invalid("role", "%q is none of agent, integrator, human, node", a.Role)
	}
	if tx.By.Role == models.RoleAgent && (a.ID != tx.By.ActorID || a.Role != models.RoleAgent) {
		return models.Forbidden("an agent registers only itself, as an agent")
	}
	if a.Status == "" {
		a.Status = models.StatusActive
	}
	if a.Status != models.StatusActive && a.Status != models.StatusUnavailable {
		return models.Invalid("status", "%q is neither active nor unavailable", a.Status)
	}
	a.Kind, a.DisplayName, a.Provider = first(a.Kind, actorKind(a.Role)), first(a.DisplayName, a.ID), first(a.Provider, "local")
	caps, err := object("capabilities", a.Capabilities)
	a.Capabilities = caps
	return err
}

// Actor returns one actor or NOT_FOUND.
func (l *Ledger) Actor(ctx context.Context, id string) (models.Actor, error) {
	return get[models.Actor](l.read(ctx), "actor", id)
}

// Actors lists the actors of a role, "" for all, by id.
func (l *Ledger) Actors(ctx context.Context, role models.Role) ([]models.Actor, error) {
	q := l.read(ctx).Order("id")
	if role != "" {
		q = q.Where("role = ?", role)
	}
	out := []models.Actor{}
	return out, q.Find(&out).Error
}

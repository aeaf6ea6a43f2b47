package ledger

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"coxswain/models"
)

var notID = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// nodeFile keeps a node's id beside the ledger, so that another host name or
// another place of the folder makes no other node of it.
func nodeFile(stateDir string) string { return filepath.Join(stateDir, "node-id") }

// LocalNodeID is the id of the node that a state directory makes of this host:
// the one that KeepNodeID wrote, else one made from host name and path. Two
// workers with different state directories are two nodes. It leaves no trace.
func LocalNodeID(stateDir string) string {
	if text, err := os.ReadFile(nodeFile(stateDir)); err == nil {
		if id := strings.TrimSpace(string(text)); models.CheckID("node", id) == nil {
			return id
		}
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "node" // a host without a name is still one node per state directory
	}
	host = strings.Trim(notID.ReplaceAllString(strings.ToLower(host), "-"), ".-_")
	return models.IDPart(first(host, "node") + "-" + models.ShortHash(filepath.Clean(stateDir), 6))
}

// KeepNodeID writes the node's id where it is not kept yet, and returns it. It is
// called where the id is about to be recorded.
func KeepNodeID(stateDir string) (string, error) {
	id := LocalNodeID(stateDir)
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return id, Unavailable(stateDir, err)
	}
	f, err := os.OpenFile(nodeFile(stateDir), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return LocalNodeID(stateDir), nil
	}
	if err != nil {
		return id, Unavailable(stateDir, err)
	}
	_, err = f.WriteString(id + "\n")
	return id, errors.Join(err, f.Close())
}

// StartNode registers a node whose worker starts: its incarnation rises, its
// actor is registered, and the claims of its live runs get one more lease, since
// a gap in the node's own heartbeat is no fault of theirs.
func (l *Ledger) StartNode(ctx context.Context, id, name string, maxRuns int) (models.Node, error) {
	var node models.Node
	err := l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		old, found, err := find[models.Node](tx.db, "id = ?", id)
		if err != nil {
			return err
		}
		node = models.Node{
			ID: id, Name: name, Incarnation: old.Incarnation + 1, MaxRuns: maxRuns, Probes: old.Probes,
			HeartbeatAt: tx.Now, CreatedAt: tx.Now, UpdatedAt: tx.Now,
		}
		if !found {
			node.Probes = map[string]models.Probe{}
			err = tx.insert(&node)
		} else {
			_, err = tx.swap(&models.Node{}, map[string]any{
				"incarnation": node.Incarnation, "name": name, "max_runs": maxRuns,
				"heartbeat_at": tx.ms(), "updated_at": tx.ms(),
			}, "id = ?", id)
		}
		if err != nil {
			return err
		}
		if err := tx.seeNode(id); err != nil {
			return err
		}
		if err := tx.adoptRuns(id); err != nil {
			return err
		}
		_, err = tx.append(models.Event{Type: models.EventNodeStarted, Payload: map[string]any{"node_id": id, "incarnation": node.Incarnation}})
		return errors.Join(err, tx.wakeNodeLoops(id), tx.wakeClock())
	})
	return node, err
}

// seeNode registers the node's own actor, or notes that it was seen.
func (tx *Tx) seeNode(id string) error {
	seen, err := tx.swap(&models.Actor{}, map[string]any{"last_seen_at": tx.ms(), "updated_at": tx.ms()}, "id = ?", id)
	if err != nil || seen {
		return err
	}
	return tx.insert(tx.newActor(id, models.RoleNode, "cox", map[string]any{}))
}

// adoptRuns gives the node's live runs one more lease.
func (tx *Tx) adoptRuns(nodeID string) error {
	if err := tx.watchFrom(nodeID); err != nil {
		return err
	}
	var runs []models.Run
	if err := tx.db.Where("node_id = ? AND ended_at IS NULL", nodeID).Find(&runs).Error; err != nil {
		return err
	}
	for _, r := range runs {
		if err := tx.prolong(r); err != nil {
			return err
		}
	}
	return nil
}

// wakeNodeLoops wakes the loops of every team whose workspace the node holds.
func (tx *Tx) wakeNodeLoops(nodeID string) error {
	var teams []models.Team
	err := tx.db.Where("workspace_id IN (SELECT id FROM workspaces WHERE node_id = ?)", nodeID).Order("id").Find(&teams).Error
	for _, t := range teams {
		err = errors.Join(err, tx.wakeLoop(t.WorkspaceID, t.ID))
	}
	return err
}

// BeatNode renews the node's own heartbeat, and the claims of its runs when a third of
// their life is over: of all but those whose turn is stalled. After a gap in the
// heartbeat, as of a host that slept, all have one more life, and the clocks of their
// turns count from now.
func (l *Ledger) BeatNode(ctx context.Context, id string) error {
	return l.transact(ctx, normal, systemPrincipal(), func(tx *Tx) error {
		node, found, err := find[models.Node](tx.db, "id = ?", id)
		if err != nil || !found {
			return err
		}
		if tx.Now.Sub(node.HeartbeatAt) > models.NodeTTL {
			if err := errors.Join(tx.adoptRuns(id), tx.wakeClock()); err != nil {
				return err
			}
		}
		if err := tx.renewRuns(id); err != nil {
			return err
		}
		if _, err = tx.swap(&models.Node{}, map[string]any{"heartbeat_at": tx.ms()}, "id = ?", id); err != nil {
			return err
		}
		return tx.tellExpired(node)
	})
}

// tellExpired wakes the clock when this heartbeat is the first since a claim ended
// that it did not renew: only now it counts as expired.
func (tx *Tx) tellExpired(before models.Node) error {
	_, ended, err := find[models.Run](tx.db, "node_id = ? AND ended_at IS NULL AND lease_expires_at <= ? AND lease_expires_at > ?",
		before.ID, tx.ms(), before.HeartbeatAt.UnixMilli())
	if err != nil || !ended {
		return err
	}
	return tx.wakeClock()
}

// renewRuns renews the claims of a node's runs, except those whose turn is stalled and
// no person is asked about yet. A claim that is over so is noticed by the clock.
func (tx *Tx) renewRuns(nodeID string) error {
	var runs []models.Run
	err := tx.db.Where(`node_id = ? AND ended_at IS NULL AND (status IN ('awaiting_human','awaiting_approval')
	  OR NOT EXISTS (SELECT 1 FROM turns t WHERE t.run_id = runs.id AND t.status = 'active' AND t.stale <> ''))`, nodeID).Order("id").Find(&runs).Error
	if err != nil {
		return err
	}
	for _, r := range runs {
		ttl, err := tx.teamTTL(r.TeamID)
		if err == nil && r.LeaseExpiresAt.Sub(tx.Now) < ttl*2/3 {
			err = tx.prolong(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// RecordProbe stores what an adapter said, marks the actors it serves, and, when
// its availability changed, appends the event. The loops of the node look again.
func (l *Ledger) RecordProbe(ctx context.Context, nodeID string, p models.Probe) error {
	return l.transact(ctx, full, systemPrincipal(), func(tx *Tx) error {
		node, err := get[models.Node](tx.db, "node", nodeID)
		if err != nil {
			return err
		}
		before, had := node.Probes[p.AdapterKind]
		if node.Probes == nil {
			node.Probes = map[string]models.Probe{}
		}
		p.ProbedAt, p.Incarnation = tx.Now, node.Incarnation
		node.Probes[p.AdapterKind] = p
		text, err := jsonText(node.Probes)
		if err != nil {
			return err
		}
		if _, err := tx.swap(&models.Node{}, map[string]any{"probes": text, "updated_at": tx.ms()}, "id = ?", nodeID); err != nil {
			return err
		}
		if err := tx.profileActors(nodeID, p); err != nil {
			return err
		}
		if had && before.Status == p.Status && before.Version == p.Version && before.Transport == p.Transport && before.Incarnation == p.Incarnation {
			return nil
		}
		return errors.Join(tx.availability(nodeID, p), tx.wakeNodeLoops(nodeID))
	})
}

func (tx *Tx) availability(nodeID string, p models.Probe) error {
	event := models.EventAdapterAvailable
	if p.Status != models.StatusActive {
		event = models.EventAdapterUnavailable
	}
	_, err := tx.append(models.Event{Type: event, Payload: map[string]any{
		"node_id": nodeID, "adapter_kind": p.AdapterKind,
		"version": p.Version, "transport": p.Transport, "transport_fallback": p.Fallback, "reason": p.Reason, "sandbox_proved": p.SandboxProved,
	}})
	return err
}

// profileActors writes the probed capabilities into the node's actor and every
// worker and integrator that it manages (seed 000, actor profile).
func (tx *Tx) profileActors(nodeID string, p models.Probe) error {
	text, err := jsonText(profile(p))
	if err != nil {
		return err
	}
	return tx.db.Model(&models.Actor{}).Where("id = ? OR id IN (SELECT actor_id FROM bindings WHERE node_id = ? AND adapter_kind = ?)", nodeID, nodeID, p.AdapterKind).
		Updates(map[string]any{"capabilities": text, "status": p.Status, "last_seen_at": tx.ms(), "updated_at": tx.ms()}).Error
}

// profile is what an actor's capabilities say of its adapter.
func profile(p models.Probe) map[string]any {
	caps := map[string]any{"adapter_kind": p.AdapterKind, "local_only": true}
	for name, ok := range p.Capabilities {
		caps[name] = ok
	}
	return caps
}

// Node loads a node.
func (l *Ledger) Node(ctx context.Context, id string) (models.Node, error) {
	return get[models.Node](l.read(ctx), "node", id)
}

// Nodes lists the nodes by id.
func (l *Ledger) Nodes(ctx context.Context) ([]models.Node, error) {
	var out []models.Node
	err := l.read(ctx).Order("id").Find(&out).Error
	return out, err
}

-- +goose Up
-- Times are integer milliseconds since the epoch, UTC. JSON is text.
CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
);

CREATE TABLE workspaces (
  id             TEXT PRIMARY KEY,
  name           TEXT NOT NULL,
  repo_root      TEXT NOT NULL,
  git_common_dir TEXT NOT NULL,
  default_branch TEXT NOT NULL,
  node_id        TEXT NOT NULL,
  status         TEXT NOT NULL CHECK (status IN ('active','archived')),
  max_runs       INTEGER NOT NULL,
  metadata       TEXT NOT NULL,
  version        INTEGER NOT NULL,
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL
);
CREATE UNIQUE INDEX workspaces_root ON workspaces (node_id, repo_root) WHERE status = 'active' AND repo_root <> '';

CREATE TABLE teams (
  id             TEXT PRIMARY KEY,
  workspace_id   TEXT NOT NULL REFERENCES workspaces (id),
  name           TEXT NOT NULL,
  owner_actor_id TEXT NOT NULL REFERENCES actors (id),
  status         TEXT NOT NULL CHECK (status IN ('active','archived')),
  loop           TEXT NOT NULL,
  settings       TEXT NOT NULL,
  version        INTEGER NOT NULL,
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL
);

CREATE TABLE actors (
  id           TEXT PRIMARY KEY,
  role         TEXT NOT NULL CHECK (role IN ('agent','integrator','human','node')),
  kind         TEXT NOT NULL,
  display_name TEXT NOT NULL,
  provider     TEXT NOT NULL,
  status       TEXT NOT NULL CHECK (status IN ('active','unavailable')),
  capabilities TEXT NOT NULL,
  last_seen_at INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL
);

CREATE TABLE nodes (
  id           TEXT PRIMARY KEY,
  name         TEXT NOT NULL,
  incarnation  INTEGER NOT NULL,
  max_runs     INTEGER NOT NULL,
  probes       TEXT NOT NULL,
  heartbeat_at INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL
);

CREATE TABLE assignments (
  id                  TEXT PRIMARY KEY,
  workspace_id        TEXT NOT NULL REFERENCES workspaces (id),
  team_id             TEXT NOT NULL REFERENCES teams (id),
  title               TEXT NOT NULL,
  status              TEXT NOT NULL CHECK (status IN ('proposed','ready','claimed','running','awaiting_human','awaiting_approval',
                        'awaiting_review','needs_fix','blocked','accepted','rejected','cancelled','superseded')),
  priority            INTEGER NOT NULL,
  created_by          TEXT NOT NULL REFERENCES actors (id),
  active_run_id       TEXT NOT NULL,
  claimed_by          TEXT NOT NULL,
  lease_expires_at    INTEGER,
  revision            INTEGER NOT NULL CHECK (revision >= 1),
  allowed_paths       TEXT NOT NULL,
  acceptance_criteria TEXT NOT NULL,
  metadata            TEXT NOT NULL,
  handoff_event_id    TEXT NOT NULL,
  superseded_by       TEXT NOT NULL,
  deferred_reason     TEXT NOT NULL,
  created_at          INTEGER NOT NULL,
  updated_at          INTEGER NOT NULL,
  completed_at        INTEGER
);
CREATE INDEX assignments_order ON assignments (team_id, status, priority DESC, updated_at, id);
CREATE INDEX assignments_workspace ON assignments (workspace_id, status);

CREATE TABLE dependencies (
  assignment_id TEXT NOT NULL REFERENCES assignments (id),
  depends_on    TEXT NOT NULL REFERENCES assignments (id),
  PRIMARY KEY (assignment_id, depends_on),
  CHECK (assignment_id <> depends_on)
) WITHOUT ROWID;
CREATE INDEX dependencies_reverse ON dependencies (depends_on);

CREATE TABLE runs (
  id                TEXT PRIMARY KEY,
  assignment_id     TEXT NOT NULL REFERENCES assignments (id),
  workspace_id      TEXT NOT NULL,
  team_id           TEXT NOT NULL,
  actor_id          TEXT NOT NULL REFERENCES actors (id),
  node_id           TEXT NOT NULL,
  binding_id        TEXT NOT NULL,
  attempt           INTEGER NOT NULL,
  status            TEXT NOT NULL CHECK (status IN ('starting','claimed','running','awaiting_human','awaiting_approval','stalled',
                      'completed_gate_passed','completed_gate_failed','failed','cancelled','superseded')),
  lease_expires_at  INTEGER NOT NULL,
  heartbeat_at      INTEGER,
  started_at        INTEGER NOT NULL,
  handed_off_at     INTEGER,
  ended_at          INTEGER,
  updated_at        INTEGER NOT NULL,
  session_kind      TEXT NOT NULL,
  session_ref       TEXT NOT NULL,
  interactive_url   TEXT NOT NULL,
  worktree_path     TEXT NOT NULL,
  branch            TEXT NOT NULL,
  base_commit       TEXT NOT NULL,
  head_commit       TEXT NOT NULL,
  resume_of_run_id  TEXT NOT NULL,
  end_reason        TEXT NOT NULL,
  tokens_input      INTEGER NOT NULL,
  tokens_output     INTEGER NOT NULL,
  tokens_total      INTEGER NOT NULL,
  tokens_incomplete INTEGER NOT NULL,
  metadata          TEXT NOT NULL,
  UNIQUE (assignment_id, attempt)
);
-- One run per assignment occupies a slot; the next one starts when its end is proven.
CREATE UNIQUE INDEX runs_one_open ON runs (assignment_id) WHERE ended_at IS NULL;
CREATE INDEX runs_open ON runs (team_id) WHERE ended_at IS NULL;
CREATE INDEX runs_binding ON runs (binding_id);

CREATE TABLE tasks (
  id           TEXT PRIMARY KEY,
  run_id       TEXT NOT NULL,
  incarnation  INTEGER NOT NULL,
  fence_hash   TEXT NOT NULL,
  status       TEXT NOT NULL CHECK (status IN ('live','vanished','completed')),
  expires_at   INTEGER NOT NULL,
  heartbeat_at INTEGER NOT NULL,
  version      INTEGER NOT NULL
);
CREATE UNIQUE INDEX tasks_run ON tasks (run_id) WHERE run_id <> '';
CREATE INDEX tasks_expiry ON tasks (expires_at) WHERE status = 'live';

CREATE TABLE bindings (
  id            TEXT PRIMARY KEY,
  kind          TEXT NOT NULL CHECK (kind IN ('worker','integrator')),
  workspace_id  TEXT NOT NULL,
  team_id       TEXT NOT NULL,
  assignment_id TEXT NOT NULL,
  actor_id      TEXT NOT NULL REFERENCES actors (id),
  node_id       TEXT NOT NULL,
  adapter_kind  TEXT NOT NULL,
  thread_id     TEXT NOT NULL,
  generation    INTEGER NOT NULL,
  token_hash    TEXT NOT NULL UNIQUE,
  status        TEXT NOT NULL CHECK (status IN ('active','closed')),
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL
);
CREATE UNIQUE INDEX bindings_worker ON bindings (assignment_id) WHERE kind = 'worker' AND status = 'active';
CREATE UNIQUE INDEX bindings_integrator ON bindings (team_id) WHERE kind = 'integrator' AND status = 'active';
CREATE UNIQUE INDEX bindings_thread ON bindings (thread_id) WHERE thread_id <> '';

CREATE TABLE turns (
  id                TEXT PRIMARY KEY,
  thread_id         TEXT NOT NULL,
  binding_id        TEXT NOT NULL REFERENCES bindings (id),
  generation        INTEGER NOT NULL,
  run_id            TEXT NOT NULL,
  cause_id          TEXT NOT NULL,
  status            TEXT NOT NULL CHECK (status IN ('active','completed','interrupted','failed','lost')),
  error             TEXT NOT NULL,
  error_kind        TEXT NOT NULL,
  started_at        INTEGER NOT NULL,
  progress_at       INTEGER NOT NULL,
  ended_at          INTEGER,
  tokens_input      INTEGER NOT NULL,
  tokens_output     INTEGER NOT NULL,
  tokens_total      INTEGER NOT NULL,
  tokens_incomplete INTEGER NOT NULL,
  last_item         TEXT NOT NULL,
  items             INTEGER NOT NULL
);
CREATE INDEX turns_run ON turns (run_id, started_at);
CREATE INDEX turns_binding ON turns (binding_id, started_at);

CREATE TABLE commands (
  id                  TEXT PRIMARY KEY,
  type                TEXT NOT NULL CHECK (type IN ('start_assignment','resume_assignment','nudge_review','interrupt_run','refresh_capabilities')),
  target              TEXT NOT NULL,
  cause               TEXT NOT NULL,
  attempt             INTEGER NOT NULL,
  state               TEXT NOT NULL CHECK (state IN ('intended','done','failed','unknown')),
  workspace_id        TEXT NOT NULL,
  team_id             TEXT NOT NULL,
  assignment_id       TEXT NOT NULL,
  assignment_revision INTEGER NOT NULL,
  run_id              TEXT NOT NULL,
  binding_id          TEXT NOT NULL,
  node_id             TEXT NOT NULL,
  target_actor_id     TEXT NOT NULL,
  adapter_kind        TEXT NOT NULL,
  idempotency_key     TEXT NOT NULL,
  prompt_kind         TEXT NOT NULL,
  event_ids           TEXT NOT NULL,
  reason              TEXT NOT NULL,
  owner               TEXT NOT NULL,
  result              TEXT NOT NULL,
  error               TEXT NOT NULL,
  not_before          INTEGER,
  created_at          INTEGER NOT NULL,
  started_at          INTEGER,
  ended_at            INTEGER,
  UNIQUE (type, target, cause, attempt)
);
CREATE INDEX commands_open ON commands (assignment_id, type) WHERE state IN ('intended','unknown');
CREATE INDEX commands_team ON commands (team_id, type, created_at);
CREATE INDEX commands_run ON commands (run_id, created_at);

CREATE TABLE outbox (
  id           TEXT PRIMARY KEY,
  binding_id   TEXT NOT NULL REFERENCES bindings (id),
  generation   INTEGER NOT NULL,
  thread_id    TEXT NOT NULL,
  command_id   TEXT NOT NULL,
  run_id       TEXT NOT NULL,
  kind         TEXT NOT NULL,
  text         TEXT NOT NULL,
  state        TEXT NOT NULL CHECK (state IN ('pending','sending','delivered','failed','dropped')),
  owner        TEXT NOT NULL,
  attempts     INTEGER NOT NULL,
  turn_id      TEXT NOT NULL,
  reason       TEXT NOT NULL,
  not_before   INTEGER,
  created_at   INTEGER NOT NULL,
  delivered_at INTEGER
);
CREATE INDEX outbox_pending ON outbox (thread_id, created_at) WHERE state IN ('pending','sending');

CREATE TABLE events (
  sequence            INTEGER PRIMARY KEY AUTOINCREMENT,
  id                  TEXT NOT NULL UNIQUE,
  workspace_id        TEXT NOT NULL,
  team_id             TEXT NOT NULL,
  assignment_id       TEXT NOT NULL,
  run_id              TEXT NOT NULL,
  type                TEXT NOT NULL,
  status              TEXT NOT NULL CHECK (status IN ('proposed','observed','completed_gate_passed','completed_gate_failed',
                        'integrator_accepted','integrator_rejected','needs_fix')),
  actor_id            TEXT NOT NULL,
  actor_role          TEXT NOT NULL,
  payload             TEXT NOT NULL,
  reviewed_event_id   TEXT NOT NULL,
  assignment_revision INTEGER NOT NULL,
  created_at          INTEGER NOT NULL
);
CREATE INDEX events_assignment ON events (assignment_id, sequence);
CREATE INDEX events_run ON events (run_id, sequence) WHERE run_id <> '';
CREATE INDEX events_team ON events (team_id, sequence);
-- One decision per reviewed event, whoever races.
CREATE UNIQUE INDEX events_one_decision ON events (reviewed_event_id) WHERE type = 'integrator_review';
-- +goose StatementBegin
CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER events_no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
-- +goose StatementEnd

CREATE TABLE interventions (
  id            TEXT PRIMARY KEY,
  workspace_id  TEXT NOT NULL,
  team_id       TEXT NOT NULL,
  assignment_id TEXT NOT NULL,
  run_id        TEXT NOT NULL,
  kind          TEXT NOT NULL,
  prompt        TEXT NOT NULL,
  packet        TEXT NOT NULL,
  requested_by  TEXT NOT NULL,
  status        TEXT NOT NULL CHECK (status IN ('open','answered','closed')),
  response      TEXT NOT NULL,
  responded_by  TEXT NOT NULL,
  created_at    INTEGER NOT NULL,
  answered_at   INTEGER
);
CREATE INDEX interventions_open ON interventions (team_id, created_at) WHERE status = 'open';
CREATE INDEX interventions_run ON interventions (run_id);

CREATE TABLE requests (
  scope      TEXT NOT NULL,
  request_id TEXT NOT NULL,
  operation  TEXT NOT NULL,
  hash       TEXT NOT NULL,
  answer     TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (scope, request_id)
) WITHOUT ROWID;

CREATE TABLE wakeups (
  workflow_id  TEXT PRIMARY KEY,
  kind         TEXT NOT NULL,
  subject      TEXT NOT NULL,
  generation   INTEGER NOT NULL,
  acknowledged INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL
);
CREATE INDEX wakeups_due ON wakeups (updated_at) WHERE generation > acknowledged;

-- +goose Up
-- Times are integer milliseconds since the epoch, UTC. JSON is text. Words compare
-- and sort by their bytes, as in SQLite, whatever the database's own collation.
CREATE TABLE meta (
  key   TEXT COLLATE "C" PRIMARY KEY,
  value TEXT COLLATE "C" NOT NULL
);

CREATE TABLE workspaces (
  id             TEXT COLLATE "C" PRIMARY KEY,
  name           TEXT COLLATE "C" NOT NULL,
  repo_root      TEXT COLLATE "C" NOT NULL,
  git_common_dir TEXT COLLATE "C" NOT NULL,
  default_branch TEXT COLLATE "C" NOT NULL,
  node_id        TEXT COLLATE "C" NOT NULL,
  status         TEXT COLLATE "C" NOT NULL CHECK (status IN ('active','archived')),
  max_runs       BIGINT NOT NULL,
  metadata       TEXT COLLATE "C" NOT NULL,
  version        BIGINT NOT NULL,
  created_at     BIGINT NOT NULL,
  updated_at     BIGINT NOT NULL
);
CREATE UNIQUE INDEX workspaces_root ON workspaces (node_id, repo_root) WHERE status = 'active' AND repo_root <> '';

CREATE TABLE actors (
  id           TEXT COLLATE "C" PRIMARY KEY,
  role         TEXT COLLATE "C" NOT NULL CHECK (role IN ('agent','integrator','human','node')),
  kind         TEXT COLLATE "C" NOT NULL,
  display_name TEXT COLLATE "C" NOT NULL,
  provider     TEXT COLLATE "C" NOT NULL,
  status       TEXT COLLATE "C" NOT NULL CHECK (status IN ('active','unavailable')),
  capabilities TEXT COLLATE "C" NOT NULL,
  last_seen_at BIGINT NOT NULL,
  created_at   BIGINT NOT NULL,
  updated_at   BIGINT NOT NULL
);

CREATE TABLE teams (
  id             TEXT COLLATE "C" PRIMARY KEY,
  workspace_id   TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id),
  name           TEXT COLLATE "C" NOT NULL,
  owner_actor_id TEXT COLLATE "C" NOT NULL REFERENCES actors (id),
  status         TEXT COLLATE "C" NOT NULL CHECK (status IN ('active','archived')),
  loop           TEXT COLLATE "C" NOT NULL,
  settings       TEXT COLLATE "C" NOT NULL,
  version        BIGINT NOT NULL,
  created_at     BIGINT NOT NULL,
  updated_at     BIGINT NOT NULL
);

CREATE TABLE nodes (
  id           TEXT COLLATE "C" PRIMARY KEY,
  name         TEXT COLLATE "C" NOT NULL,
  incarnation  BIGINT NOT NULL,
  max_runs     BIGINT NOT NULL,
  probes       TEXT COLLATE "C" NOT NULL,
  heartbeat_at BIGINT NOT NULL,
  created_at   BIGINT NOT NULL,
  updated_at   BIGINT NOT NULL
);

CREATE TABLE assignments (
  id                  TEXT COLLATE "C" PRIMARY KEY,
  workspace_id        TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id),
  team_id             TEXT COLLATE "C" NOT NULL REFERENCES teams (id),
  title               TEXT COLLATE "C" NOT NULL,
  status              TEXT COLLATE "C" NOT NULL CHECK (status IN ('proposed','ready','claimed','running','awaiting_human','awaiting_approval',
                        'awaiting_review','needs_fix','blocked','accepted','rejected','cancelled','superseded')),
  priority            BIGINT NOT NULL,
  created_by          TEXT COLLATE "C" NOT NULL REFERENCES actors (id),
  active_run_id       TEXT COLLATE "C" NOT NULL,
  claimed_by          TEXT COLLATE "C" NOT NULL,
  lease_expires_at    BIGINT,
  revision            BIGINT NOT NULL CHECK (revision >= 1),
  allowed_paths       TEXT COLLATE "C" NOT NULL,
  acceptance_criteria TEXT COLLATE "C" NOT NULL,
  metadata            TEXT COLLATE "C" NOT NULL,
  handoff_event_id    TEXT COLLATE "C" NOT NULL,
  superseded_by       TEXT COLLATE "C" NOT NULL,
  deferred_reason     TEXT COLLATE "C" NOT NULL,
  created_at          BIGINT NOT NULL,
  updated_at          BIGINT NOT NULL,
  completed_at        BIGINT
);
CREATE INDEX assignments_order ON assignments (team_id, status, priority DESC, updated_at, id);
CREATE INDEX assignments_workspace ON assignments (workspace_id, status);

CREATE TABLE dependencies (
  assignment_id TEXT COLLATE "C" NOT NULL REFERENCES assignments (id),
  depends_on    TEXT COLLATE "C" NOT NULL REFERENCES assignments (id),
  PRIMARY KEY (assignment_id, depends_on),
  CHECK (assignment_id <> depends_on)
);
CREATE INDEX dependencies_reverse ON dependencies (depends_on);

CREATE TABLE runs (
  id                TEXT COLLATE "C" PRIMARY KEY,
  assignment_id     TEXT COLLATE "C" NOT NULL REFERENCES assignments (id),
  workspace_id      TEXT COLLATE "C" NOT NULL,
  team_id           TEXT COLLATE "C" NOT NULL,
  actor_id          TEXT COLLATE "C" NOT NULL REFERENCES actors (id),
  node_id           TEXT COLLATE "C" NOT NULL,
  binding_id        TEXT COLLATE "C" NOT NULL,
  attempt           BIGINT NOT NULL,
  status            TEXT COLLATE "C" NOT NULL CHECK (status IN ('starting','claimed','running','awaiting_human','awaiting_approval','stalled',
                      'completed_gate_passed','completed_gate_failed','failed','cancelled','superseded')),
  lease_expires_at  BIGINT NOT NULL,
  heartbeat_at      BIGINT,
  started_at        BIGINT NOT NULL,
  handed_off_at     BIGINT,
  ended_at          BIGINT,
  updated_at        BIGINT NOT NULL,
  session_kind      TEXT COLLATE "C" NOT NULL,
  session_ref       TEXT COLLATE "C" NOT NULL,
  interactive_url   TEXT COLLATE "C" NOT NULL,
  worktree_path     TEXT COLLATE "C" NOT NULL,
  branch            TEXT COLLATE "C" NOT NULL,
  base_commit       TEXT COLLATE "C" NOT NULL,
  head_commit       TEXT COLLATE "C" NOT NULL,
  resume_of_run_id  TEXT COLLATE "C" NOT NULL,
  end_reason        TEXT COLLATE "C" NOT NULL,
  tokens_input      BIGINT NOT NULL,
  tokens_output     BIGINT NOT NULL,
  tokens_total      BIGINT NOT NULL,
  tokens_incomplete BOOLEAN NOT NULL,
  metadata          TEXT COLLATE "C" NOT NULL,
  UNIQUE (assignment_id, attempt)
);
-- One run per assignment occupies a slot; the next one starts when its end is proven.
CREATE UNIQUE INDEX runs_one_open ON runs (assignment_id) WHERE ended_at IS NULL;
CREATE INDEX runs_open ON runs (team_id) WHERE ended_at IS NULL;
CREATE INDEX runs_binding ON runs (binding_id);

CREATE TABLE tasks (
  id           TEXT COLLATE "C" PRIMARY KEY,
  run_id       TEXT COLLATE "C" NOT NULL,
  incarnation  BIGINT NOT NULL,
  fence_hash   TEXT COLLATE "C" NOT NULL,
  status       TEXT COLLATE "C" NOT NULL CHECK (status IN ('live','vanished','completed')),
  expires_at   BIGINT NOT NULL,
  heartbeat_at BIGINT NOT NULL,
  version      BIGINT NOT NULL
);
CREATE UNIQUE INDEX tasks_run ON tasks (run_id) WHERE run_id <> '';
CREATE INDEX tasks_expiry ON tasks (expires_at) WHERE status = 'live';

CREATE TABLE bindings (
  id            TEXT COLLATE "C" PRIMARY KEY,
  kind          TEXT COLLATE "C" NOT NULL CHECK (kind IN ('worker','integrator')),
  workspace_id  TEXT COLLATE "C" NOT NULL,
  team_id       TEXT COLLATE "C" NOT NULL,
  assignment_id TEXT COLLATE "C" NOT NULL,
  actor_id      TEXT COLLATE "C" NOT NULL REFERENCES actors (id),
  node_id       TEXT COLLATE "C" NOT NULL,
  adapter_kind  TEXT COLLATE "C" NOT NULL,
  thread_id     TEXT COLLATE "C" NOT NULL,
  generation    BIGINT NOT NULL,
  token_hash    TEXT COLLATE "C" NOT NULL UNIQUE,
  status        TEXT COLLATE "C" NOT NULL CHECK (status IN ('active','closed')),
  created_at    BIGINT NOT NULL,
  updated_at    BIGINT NOT NULL
);
CREATE UNIQUE INDEX bindings_worker ON bindings (assignment_id) WHERE kind = 'worker' AND status = 'active';
CREATE UNIQUE INDEX bindings_integrator ON bindings (team_id) WHERE kind = 'integrator' AND status = 'active';
CREATE UNIQUE INDEX bindings_thread ON bindings (thread_id) WHERE thread_id <> '';

CREATE TABLE turns (
  id                TEXT COLLATE "C" PRIMARY KEY,
  thread_id         TEXT COLLATE "C" NOT NULL,
  binding_id        TEXT COLLATE "C" NOT NULL REFERENCES bindings (id),
  generation        BIGINT NOT NULL,
  run_id            TEXT COLLATE "C" NOT NULL,
  cause_id          TEXT COLLATE "C" NOT NULL,
  status            TEXT COLLATE "C" NOT NULL CHECK (status IN ('active','completed','interrupted','failed','lost')),
  error             TEXT COLLATE "C" NOT NULL,
  error_kind        TEXT COLLATE "C" NOT NULL,
  started_at        BIGINT NOT NULL,
  progress_at       BIGINT NOT NULL,
  ended_at          BIGINT,
  tokens_input      BIGINT NOT NULL,
  tokens_output     BIGINT NOT NULL,
  tokens_total      BIGINT NOT NULL,
  tokens_incomplete BOOLEAN NOT NULL,
  last_item         TEXT COLLATE "C" NOT NULL,
  items             BIGINT NOT NULL
);
CREATE INDEX turns_run ON turns (run_id, started_at);
CREATE INDEX turns_binding ON turns (binding_id, started_at);

CREATE TABLE commands (
  id                  TEXT COLLATE "C" PRIMARY KEY,
  type                TEXT COLLATE "C" NOT NULL CHECK (type IN ('start_assignment','resume_assignment','nudge_review','interrupt_run','refresh_capabilities')),
  target              TEXT COLLATE "C" NOT NULL,
  cause               TEXT COLLATE "C" NOT NULL,
  attempt             BIGINT NOT NULL,
  state               TEXT COLLATE "C" NOT NULL CHECK (state IN ('intended','done','failed','unknown')),
  workspace_id        TEXT COLLATE "C" NOT NULL,
  team_id             TEXT COLLATE "C" NOT NULL,
  assignment_id       TEXT COLLATE "C" NOT NULL,
  assignment_revision BIGINT NOT NULL,
  run_id              TEXT COLLATE "C" NOT NULL,
  binding_id          TEXT COLLATE "C" NOT NULL,
  node_id             TEXT COLLATE "C" NOT NULL,
  target_actor_id     TEXT COLLATE "C" NOT NULL,
  adapter_kind        TEXT COLLATE "C" NOT NULL,
  idempotency_key     TEXT COLLATE "C" NOT NULL,
  prompt_kind         TEXT COLLATE "C" NOT NULL,
  event_ids           TEXT COLLATE "C" NOT NULL,
  reason              TEXT COLLATE "C" NOT NULL,
  owner               TEXT COLLATE "C" NOT NULL,
  result              TEXT COLLATE "C" NOT NULL,
  error               TEXT COLLATE "C" NOT NULL,
  not_before          BIGINT,
  created_at          BIGINT NOT NULL,
  started_at          BIGINT,
  ended_at            BIGINT,
  UNIQUE (type, target, cause, attempt)
);
CREATE INDEX commands_open ON commands (assignment_id, type) WHERE state IN ('intended','unknown');
CREATE INDEX commands_team ON commands (team_id, type, created_at);
CREATE INDEX commands_run ON commands (run_id, created_at);

CREATE TABLE outbox (
  id           TEXT COLLATE "C" PRIMARY KEY,
  binding_id   TEXT COLLATE "C" NOT NULL REFERENCES bindings (id),
  generation   BIGINT NOT NULL,
  thread_id    TEXT COLLATE "C" NOT NULL,
  command_id   TEXT COLLATE "C" NOT NULL,
  run_id       TEXT COLLATE "C" NOT NULL,
  kind         TEXT COLLATE "C" NOT NULL,
  text         TEXT COLLATE "C" NOT NULL,
  state        TEXT COLLATE "C" NOT NULL CHECK (state IN ('pending','sending','delivered','failed','dropped')),
  owner        TEXT COLLATE "C" NOT NULL,
  attempts     BIGINT NOT NULL,
  turn_id      TEXT COLLATE "C" NOT NULL,
  reason       TEXT COLLATE "C" NOT NULL,
  not_before   BIGINT,
  created_at   BIGINT NOT NULL,
  delivered_at BIGINT
);
CREATE INDEX outbox_pending ON outbox (thread_id, created_at) WHERE state IN ('pending','sending');

CREATE TABLE events (
  sequence            BIGINT PRIMARY KEY,
  id                  TEXT COLLATE "C" NOT NULL UNIQUE,
  workspace_id        TEXT COLLATE "C" NOT NULL,
  team_id             TEXT COLLATE "C" NOT NULL,
  assignment_id       TEXT COLLATE "C" NOT NULL,
  run_id              TEXT COLLATE "C" NOT NULL,
  type                TEXT COLLATE "C" NOT NULL,
  status              TEXT COLLATE "C" NOT NULL CHECK (status IN ('proposed','observed','completed_gate_passed','completed_gate_failed',
                        'integrator_accepted','integrator_rejected','needs_fix')),
  actor_id            TEXT COLLATE "C" NOT NULL,
  actor_role          TEXT COLLATE "C" NOT NULL,
  payload             TEXT COLLATE "C" NOT NULL,
  reviewed_event_id   TEXT COLLATE "C" NOT NULL,
  assignment_revision BIGINT NOT NULL,
  created_at          BIGINT NOT NULL
);
CREATE INDEX events_assignment ON events (assignment_id, sequence);
CREATE INDEX events_run ON events (run_id, sequence) WHERE run_id <> '';
CREATE INDEX events_team ON events (team_id, sequence);
-- One decision per reviewed event, whoever races.
CREATE UNIQUE INDEX events_one_decision ON events (reviewed_event_id) WHERE type = 'integrator_review';
-- +goose StatementBegin
CREATE FUNCTION events_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'events are append-only' USING ERRCODE = 'restrict_violation';
END $$;
-- +goose StatementEnd
CREATE TRIGGER events_no_update BEFORE UPDATE ON events FOR EACH ROW EXECUTE FUNCTION events_append_only();
CREATE TRIGGER events_no_delete BEFORE DELETE ON events FOR EACH ROW EXECUTE FUNCTION events_append_only();
CREATE TRIGGER events_no_truncate BEFORE TRUNCATE ON events FOR EACH STATEMENT EXECUTE FUNCTION events_append_only();
-- A sequence is given only under the writers' lock, which is held to the commit. So
-- events become visible in their order, and a reader that has seen one never finds an
-- earlier one later, also where somebody else writes than cox.
-- +goose StatementBegin
CREATE FUNCTION events_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('cox ledger ' || TG_TABLE_SCHEMA, 0));
  NEW.sequence := (SELECT coalesce(max(sequence), 0) + 1 FROM events);
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER events_in_order BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION events_in_order();

CREATE TABLE interventions (
  id            TEXT COLLATE "C" PRIMARY KEY,
  workspace_id  TEXT COLLATE "C" NOT NULL,
  team_id       TEXT COLLATE "C" NOT NULL,
  assignment_id TEXT COLLATE "C" NOT NULL,
  run_id        TEXT COLLATE "C" NOT NULL,
  kind          TEXT COLLATE "C" NOT NULL,
  prompt        TEXT COLLATE "C" NOT NULL,
  packet        TEXT COLLATE "C" NOT NULL,
  requested_by  TEXT COLLATE "C" NOT NULL,
  status        TEXT COLLATE "C" NOT NULL CHECK (status IN ('open','answered','closed')),
  response      TEXT COLLATE "C" NOT NULL,
  responded_by  TEXT COLLATE "C" NOT NULL,
  created_at    BIGINT NOT NULL,
  answered_at   BIGINT
);
CREATE INDEX interventions_open ON interventions (team_id, created_at) WHERE status = 'open';
CREATE INDEX interventions_run ON interventions (run_id);

CREATE TABLE requests (
  scope      TEXT COLLATE "C" NOT NULL,
  request_id TEXT COLLATE "C" NOT NULL,
  operation  TEXT COLLATE "C" NOT NULL,
  hash       TEXT COLLATE "C" NOT NULL,
  answer     TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (scope, request_id)
);

CREATE TABLE wakeups (
  workflow_id  TEXT COLLATE "C" PRIMARY KEY,
  kind         TEXT COLLATE "C" NOT NULL,
  subject      TEXT COLLATE "C" NOT NULL,
  generation   BIGINT NOT NULL,
  acknowledged BIGINT NOT NULL,
  updated_at   BIGINT NOT NULL
);
CREATE INDEX wakeups_due ON wakeups (updated_at) WHERE generation > acknowledged;

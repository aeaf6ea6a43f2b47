-- +goose Up
-- NULL is what the workspace says.
ALTER TABLE assignments ADD COLUMN worktree INTEGER;

-- The worktree of an assignment that works apart from the repository's main tree.
CREATE TABLE worktrees (
  assignment_id TEXT PRIMARY KEY REFERENCES assignments (id),
  workspace_id  TEXT NOT NULL REFERENCES workspaces (id),
  team_id       TEXT NOT NULL,
  node_id       TEXT NOT NULL,
  root          TEXT NOT NULL,
  path          TEXT NOT NULL,
  branch        TEXT NOT NULL,
  base_commit   TEXT NOT NULL,
  generation    INTEGER NOT NULL,
  state         TEXT NOT NULL CHECK (state IN ('planned','making','made','ready','removing','removed')),
  prepared_run  TEXT NOT NULL,
  dirty         INTEGER NOT NULL,
  files         TEXT NOT NULL,
  dirt_hash     TEXT NOT NULL,
  reason        TEXT NOT NULL,
  discard       TEXT NOT NULL,
  branch_kept   INTEGER NOT NULL,
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  removed_at    INTEGER
);
CREATE INDEX worktrees_workspace ON worktrees (workspace_id, state);

-- Hooks that runs and worktrees owe, and how they went.
CREATE TABLE hook_runs (
  id            TEXT PRIMARY KEY,
  hook          TEXT NOT NULL CHECK (hook IN ('after_create','before_run','after_run','before_remove')),
  workspace_id  TEXT NOT NULL,
  team_id       TEXT NOT NULL,
  assignment_id TEXT NOT NULL,
  run_id        TEXT NOT NULL,
  node_id       TEXT NOT NULL,
  state         TEXT NOT NULL CHECK (state IN ('owed','running','done','failed','skipped')),
  attempts      INTEGER NOT NULL,
  exit_code     INTEGER NOT NULL,
  output        TEXT NOT NULL,
  created_at    INTEGER NOT NULL,
  started_at    INTEGER,
  ended_at      INTEGER
);
CREATE INDEX hook_runs_owed ON hook_runs (assignment_id, hook) WHERE state IN ('owed','running');

-- +goose Up
-- NULL is what the workspace says.
ALTER TABLE assignments ADD COLUMN worktree BOOLEAN;

-- The worktree of an assignment that works apart from the repository's main tree.
CREATE TABLE worktrees (
  assignment_id TEXT COLLATE "C" PRIMARY KEY REFERENCES assignments (id),
  workspace_id  TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id),
  team_id       TEXT COLLATE "C" NOT NULL,
  node_id       TEXT COLLATE "C" NOT NULL,
  root          TEXT COLLATE "C" NOT NULL,
  path          TEXT COLLATE "C" NOT NULL,
  branch        TEXT COLLATE "C" NOT NULL,
  base_commit   TEXT COLLATE "C" NOT NULL,
  generation    BIGINT NOT NULL,
  state         TEXT COLLATE "C" NOT NULL CHECK (state IN ('planned','making','made','ready','removing','removed')),
  prepared_run  TEXT COLLATE "C" NOT NULL,
  dirty         BIGINT NOT NULL,
  files         TEXT COLLATE "C" NOT NULL,
  dirt_hash     TEXT COLLATE "C" NOT NULL,
  reason        TEXT COLLATE "C" NOT NULL,
  discard       TEXT COLLATE "C" NOT NULL,
  branch_kept   BOOLEAN NOT NULL,
  created_at    BIGINT NOT NULL,
  updated_at    BIGINT NOT NULL,
  removed_at    BIGINT
);
CREATE INDEX worktrees_workspace ON worktrees (workspace_id, state);

-- Hooks that runs and worktrees owe, and how they went.
CREATE TABLE hook_runs (
  id            TEXT COLLATE "C" PRIMARY KEY,
  hook          TEXT COLLATE "C" NOT NULL CHECK (hook IN ('after_create','before_run','after_run','before_remove')),
  workspace_id  TEXT COLLATE "C" NOT NULL,
  team_id       TEXT COLLATE "C" NOT NULL,
  assignment_id TEXT COLLATE "C" NOT NULL,
  run_id        TEXT COLLATE "C" NOT NULL,
  node_id       TEXT COLLATE "C" NOT NULL,
  state         TEXT COLLATE "C" NOT NULL CHECK (state IN ('owed','running','done','failed','skipped')),
  attempts      BIGINT NOT NULL,
  exit_code     BIGINT NOT NULL,
  output        TEXT COLLATE "C" NOT NULL,
  created_at    BIGINT NOT NULL,
  started_at    BIGINT,
  ended_at      BIGINT
);
CREATE INDEX hook_runs_owed ON hook_runs (assignment_id, hook) WHERE state IN ('owed','running');

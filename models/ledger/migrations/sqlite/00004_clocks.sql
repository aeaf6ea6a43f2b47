-- +goose Up
-- What a workspace says about clocks, caps and isolation; '{}' is every default.
ALTER TABLE workspaces ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';

-- The clocks of a turn: the last sign of any kind, since when it is watched without
-- a gap, what its total counts from, and the clock that ran out ('' none).
ALTER TABLE turns ADD COLUMN sign_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN watched_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN total_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN stale TEXT NOT NULL DEFAULT '';
UPDATE turns SET sign_at = progress_at, watched_from = progress_at, total_from = started_at;
CREATE INDEX turns_active ON turns (started_at) WHERE status = 'active';

-- Until when the login of a node's adapter is held after a usage limit.
CREATE TABLE accounts (
  id         TEXT PRIMARY KEY,
  node_id    TEXT NOT NULL,
  held_until INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);

-- Identical failures in a row of an assignment, or across a team.
CREATE TABLE breakers (
  id            TEXT PRIMARY KEY,
  workspace_id  TEXT NOT NULL,
  team_id       TEXT NOT NULL,
  assignment_id TEXT NOT NULL,
  fingerprint   TEXT NOT NULL,
  count         INTEGER NOT NULL,
  spread        INTEGER NOT NULL,
  last_subject  TEXT NOT NULL,
  last_at       INTEGER NOT NULL,
  tripped       INTEGER NOT NULL,
  reason        TEXT NOT NULL
);
CREATE INDEX breakers_tripped ON breakers (last_at) WHERE tripped = 1;

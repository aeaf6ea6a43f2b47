-- +goose Up
-- What a workspace says about clocks, caps and isolation; '{}' is every default.
ALTER TABLE workspaces ADD COLUMN settings TEXT COLLATE "C" NOT NULL DEFAULT '{}';

-- The clocks of a turn: the last sign of any kind, since when it is watched without
-- a gap, what its total counts from, and the clock that ran out ('' none).
ALTER TABLE turns ADD COLUMN sign_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN watched_from BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN total_from BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN stale TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE turns SET sign_at = progress_at, watched_from = progress_at, total_from = started_at;
CREATE INDEX turns_active ON turns (started_at) WHERE status = 'active';

-- Until when the login of a node's adapter is held after a usage limit.
CREATE TABLE accounts (
  id         TEXT COLLATE "C" PRIMARY KEY,
  node_id    TEXT COLLATE "C" NOT NULL,
  held_until BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);

-- Identical failures in a row of an assignment, or across a team.
CREATE TABLE breakers (
  id            TEXT COLLATE "C" PRIMARY KEY,
  workspace_id  TEXT COLLATE "C" NOT NULL,
  team_id       TEXT COLLATE "C" NOT NULL,
  assignment_id TEXT COLLATE "C" NOT NULL,
  fingerprint   TEXT COLLATE "C" NOT NULL,
  count         BIGINT NOT NULL,
  spread        BOOLEAN NOT NULL,
  last_subject  TEXT COLLATE "C" NOT NULL,
  last_at       BIGINT NOT NULL,
  tripped       BOOLEAN NOT NULL,
  reason        TEXT COLLATE "C" NOT NULL
);
CREATE INDEX breakers_tripped ON breakers (last_at) WHERE tripped;

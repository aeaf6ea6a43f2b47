-- +goose Up
-- What a person told a team's loop to hold, as JSON; NULL for nothing.
ALTER TABLE teams ADD COLUMN pause TEXT COLLATE "C";

-- Conditions that people are told about, each latched from its rise to its end.
CREATE TABLE alerts (
  id         TEXT COLLATE "C" PRIMARY KEY,
  node_id    TEXT COLLATE "C" NOT NULL,
  kind       TEXT COLLATE "C" NOT NULL CHECK (kind IN ('needs_you','all_done','limit_hit','parked')),
  subject    TEXT COLLATE "C" NOT NULL,
  summary    TEXT COLLATE "C" NOT NULL,
  raised_at  BIGINT NOT NULL,
  cleared_at BIGINT
);
CREATE UNIQUE INDEX alerts_raised ON alerts (node_id, kind, subject) WHERE cleared_at IS NULL;

-- What the notify command of a node is to be told, once each.
CREATE TABLE notices (
  id         TEXT COLLATE "C" PRIMARY KEY,
  node_id    TEXT COLLATE "C" NOT NULL,
  kind       TEXT COLLATE "C" NOT NULL,
  change     TEXT COLLATE "C" NOT NULL CHECK (change IN ('raised','cleared')),
  payload    TEXT COLLATE "C" NOT NULL,
  state      TEXT COLLATE "C" NOT NULL CHECK (state IN ('pending','running','done','failed')),
  attempts   INTEGER NOT NULL,
  error      TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  ended_at   BIGINT
);
CREATE INDEX notices_open ON notices (node_id, created_at) WHERE state IN ('pending','running');

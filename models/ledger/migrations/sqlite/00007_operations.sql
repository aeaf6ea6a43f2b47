-- +goose Up
-- What a person told a team's loop to hold, as JSON; NULL for nothing.
ALTER TABLE teams ADD COLUMN pause TEXT;

-- Conditions that people are told about, each latched from its rise to its end.
CREATE TABLE alerts (
  id         TEXT PRIMARY KEY,
  node_id    TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('needs_you','all_done','limit_hit','parked')),
  subject    TEXT NOT NULL,
  summary    TEXT NOT NULL,
  raised_at  INTEGER NOT NULL,
  cleared_at INTEGER
);
CREATE UNIQUE INDEX alerts_raised ON alerts (node_id, kind, subject) WHERE cleared_at IS NULL;

-- What the notify command of a node is to be told, once each.
CREATE TABLE notices (
  id         TEXT PRIMARY KEY,
  node_id    TEXT NOT NULL,
  kind       TEXT NOT NULL,
  change     TEXT NOT NULL CHECK (change IN ('raised','cleared')),
  payload    TEXT NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('pending','running','done','failed')),
  attempts   INTEGER NOT NULL,
  error      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  ended_at   INTEGER
);
CREATE INDEX notices_open ON notices (node_id, created_at) WHERE state IN ('pending','running');

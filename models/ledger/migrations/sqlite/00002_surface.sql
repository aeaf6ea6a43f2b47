-- +goose Up
-- What a client called its updates of a run: the key makes a repeated one safe,
-- whoever races.
CREATE TABLE run_updates (
  run_id           TEXT NOT NULL REFERENCES runs (id),
  kind             TEXT NOT NULL CHECK (kind IN ('human_brief_updated','attention_raised')),
  client_update_id TEXT NOT NULL,
  hash             TEXT NOT NULL,
  event_id         TEXT NOT NULL,
  created_at       INTEGER NOT NULL,
  PRIMARY KEY (run_id, kind, client_update_id)
) WITHOUT ROWID;

CREATE INDEX events_attention ON events (team_id, sequence) WHERE type = 'attention_raised';

ALTER TABLE teams ADD COLUMN phase_key TEXT NOT NULL DEFAULT '';

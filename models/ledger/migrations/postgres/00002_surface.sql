-- +goose Up
-- What a client called its updates of a run: the key makes a repeated one safe,
-- whoever races.
CREATE TABLE run_updates (
  run_id           TEXT COLLATE "C" NOT NULL REFERENCES runs (id),
  kind             TEXT COLLATE "C" NOT NULL CHECK (kind IN ('human_brief_updated','attention_raised')),
  client_update_id TEXT COLLATE "C" NOT NULL,
  hash             TEXT COLLATE "C" NOT NULL,
  event_id         TEXT COLLATE "C" NOT NULL,
  created_at       BIGINT NOT NULL,
  PRIMARY KEY (run_id, kind, client_update_id)
);

CREATE INDEX events_attention ON events (team_id, sequence) WHERE type = 'attention_raised';

ALTER TABLE teams ADD COLUMN phase_key TEXT COLLATE "C" NOT NULL DEFAULT '';

-- +goose Up
-- What a run's turns did, one short line each; the whole text stays with Codex.
CREATE TABLE run_items (
  sequence   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run_id     TEXT COLLATE "C" NOT NULL REFERENCES runs (id),
  turn_id    TEXT COLLATE "C" NOT NULL,
  item_id    TEXT COLLATE "C" NOT NULL,
  type       TEXT COLLATE "C" NOT NULL,
  status     TEXT COLLATE "C" NOT NULL,
  summary    TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  UNIQUE (turn_id, item_id)
);
CREATE INDEX run_items_run ON run_items (run_id, sequence);

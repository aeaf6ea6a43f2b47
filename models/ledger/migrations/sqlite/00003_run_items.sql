-- +goose Up
-- What a run's turns did, one short line each; the whole text stays with Codex.
CREATE TABLE run_items (
  sequence   INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id     TEXT NOT NULL REFERENCES runs (id),
  turn_id    TEXT NOT NULL,
  item_id    TEXT NOT NULL,
  type       TEXT NOT NULL,
  status     TEXT NOT NULL,
  summary    TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (turn_id, item_id)
);
CREATE INDEX run_items_run ON run_items (run_id, sequence);

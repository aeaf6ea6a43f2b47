-- +goose Up
-- Requests of agents' hosts that wait, or waited, for a person, one for each
-- intervention of such a kind. The host's id of a request is unique within its turn.
CREATE TABLE approvals (
  id           TEXT PRIMARY KEY REFERENCES interventions (id),
  run_id       TEXT NOT NULL REFERENCES runs (id),
  node_id      TEXT NOT NULL,
  adapter_kind TEXT NOT NULL,
  thread_id    TEXT NOT NULL,
  turn_id      TEXT NOT NULL,
  request_id   TEXT NOT NULL,
  kind         TEXT NOT NULL CHECK (kind IN ('command','file_change','permissions','tool','input')),
  risk         TEXT NOT NULL,
  state        TEXT NOT NULL CHECK (state IN ('open','answered','sent','resolved','gone')),
  verdict      TEXT NOT NULL CHECK (verdict IN ('','accept','decline','answer')),
  words        TEXT NOT NULL,
  expires_at   INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  sent_at      INTEGER,
  ended_at     INTEGER,
  UNIQUE (thread_id, turn_id, request_id)
) WITHOUT ROWID;
CREATE INDEX approvals_due ON approvals (node_id, state) WHERE state IN ('open','answered','sent');
CREATE INDEX approvals_run ON approvals (run_id);

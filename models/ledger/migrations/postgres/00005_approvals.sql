-- +goose Up
-- Requests of agents' hosts that wait, or waited, for a person, one for each
-- intervention of such a kind. The host's id of a request is unique within its turn.
CREATE TABLE approvals (
  id           TEXT COLLATE "C" PRIMARY KEY REFERENCES interventions (id),
  run_id       TEXT COLLATE "C" NOT NULL REFERENCES runs (id),
  node_id      TEXT COLLATE "C" NOT NULL,
  adapter_kind TEXT COLLATE "C" NOT NULL,
  thread_id    TEXT COLLATE "C" NOT NULL,
  turn_id      TEXT COLLATE "C" NOT NULL,
  request_id   TEXT COLLATE "C" NOT NULL,
  kind         TEXT COLLATE "C" NOT NULL CHECK (kind IN ('command','file_change','permissions','tool','input')),
  risk         TEXT COLLATE "C" NOT NULL,
  state        TEXT COLLATE "C" NOT NULL CHECK (state IN ('open','answered','sent','resolved','gone')),
  verdict      TEXT COLLATE "C" NOT NULL CHECK (verdict IN ('','accept','decline','answer')),
  words        TEXT COLLATE "C" NOT NULL,
  expires_at   BIGINT NOT NULL,
  created_at   BIGINT NOT NULL,
  sent_at      BIGINT,
  ended_at     BIGINT,
  UNIQUE (thread_id, turn_id, request_id)
);
CREATE INDEX approvals_due ON approvals (node_id, state) WHERE state IN ('open','answered','sent');
CREATE INDEX approvals_run ON approvals (run_id);

-- +goose Up
-- ended is the generation at which the workflow was last allowed to end: behind the
-- generation it has to be alive. jam says why a workflow does not read, '' while it does.
ALTER TABLE wakeups ADD COLUMN ended INTEGER NOT NULL DEFAULT 0;
ALTER TABLE wakeups ADD COLUMN jam TEXT NOT NULL DEFAULT '';
CREATE INDEX wakeups_living ON wakeups (workflow_id) WHERE ended < generation;

-- +goose Up
-- What a workspace says about clocks, caps and isolation; '{}' is every default.
ALTER TABLE workspaces ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';

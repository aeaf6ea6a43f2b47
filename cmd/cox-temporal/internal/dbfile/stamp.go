package dbfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"coxswain/models"
)

// Identity is what a server must share with the one that made a database.
type Identity struct {
	ServerVersion string // the Temporal server's version, such as "1.32.0"
	HistoryShards int32  // fixed for the life of a database
}

// Stamp is the content of the small file beside a database.
type Stamp struct {
	ServerVersion string    `json:"server_version"`
	HistoryShards int32     `json:"history_shards"`
	ClusterID     string    `json:"cluster_id"`
	CreatedAt     time.Time `json:"created_at"`
}

// newStamp stamps a database that is about to be made, with a cluster id of its own.
func newStamp(want Identity) Stamp {
	return Stamp{
		ServerVersion: want.ServerVersion,
		HistoryShards: want.HistoryShards,
		ClusterID:     uuid.NewString(),
		CreatedAt:     time.Now().UTC().Truncate(time.Second),
	}
}

// stampPath names the stamp of a database.
func stampPath(database string) string { return database + ".json" }

// readStamp reads the stamp of an existing database.
func readStamp(database string) (Stamp, error) {
	var s Stamp
	raw, err := os.ReadFile(stampPath(database))
	if errors.Is(err, fs.ErrNotExist) {
		return s, models.Errorf(models.CodeEngineUnavailable, "%s has no stamp %s beside it, so the server version that made it is unknown", database, filepath.Base(stampPath(database))).
			With("path", database).
			Hint("name another --db-filename, or move %s away to start with a new database", database)
	}
	if err != nil {
		return s, fmt.Errorf("read stamp: %w", err)
	}
	if err := json.Unmarshal(raw, &s); err != nil || s.ClusterID == "" {
		return s, models.Errorf(models.CodeEngineUnavailable, "the stamp %s cannot be read", stampPath(database)).
			With("path", stampPath(database)).Because(err).
			Hint("restore it from a backup, or move %s and its stamp away to start with a new database", database)
	}
	return s, nil
}

// check refuses a database that another version or shard count has made.
func (s Stamp) check(database string, want Identity) error {
	got := Identity{ServerVersion: s.ServerVersion, HistoryShards: s.HistoryShards}
	if got == want {
		return nil
	}
	return models.Errorf(models.CodeEngineUnavailable,
		"%s was made by Temporal server %s with %d history shard(s); this is server %s with %d, and it cannot upgrade the file",
		database, got.ServerVersion, got.HistoryShards, want.ServerVersion, want.HistoryShards).
		With("path", database).With("database_version", got.ServerVersion).With("server_version", want.ServerVersion).
		Hint("start it with the cox-temporal that has server %s, or name another --db-filename: the ledger rebuilds its workflows there", got.ServerVersion)
}

// write puts the stamp beside the database, whole or not at all.
func (s Stamp) write(database string) error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write stamp: %w", err)
	}
	temporary := stampPath(database) + ".new"
	if err := os.WriteFile(temporary, append(raw, '\n'), fileMode); err != nil {
		return fmt.Errorf("write stamp: %w", err)
	}
	if err := os.Rename(temporary, stampPath(database)); err != nil {
		return fmt.Errorf("write stamp: %w", err)
	}
	return nil
}

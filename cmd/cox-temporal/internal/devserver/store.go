package devserver

import (
	"maps"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/config"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/searchattribute/sadefs"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"google.golang.org/protobuf/types/known/durationpb"

	"coxswain/cmd/cox-temporal/internal/dbfile"
	"coxswain/cmd/cox-temporal/internal/options"
	"coxswain/models"
)

const (
	clusterName = "active"

	// historyShards is fixed for the life of a database; one is right for one
	// process.
	historyShards = 1

	// retention is how long a closed workflow stays readable.
	retention = 30 * 24 * time.Hour
)

// prepareStore makes the database and the namespaces that are missing, and
// returns how the server opens it.
func prepareStore(file *dbfile.File, o options.Options) (*config.SQL, error) {
	store := memoryStore(o.Pragmas)
	if file != nil {
		store = fileStore(file.Path(), o.Pragmas)
		if file.Fresh() {
			if err := file.Create(createSchema); err != nil {
				return nil, err
			}
		}
	}
	return store, createNamespaces(store, o.Namespaces, o.SearchAttributes)
}

// memoryStore is a database of its own for every start.
func memoryStore(pragmas map[string]string) *config.SQL {
	return sqlite(uuid.NewString(), map[string]string{"mode": "memory", "cache": "shared"}, pragmas)
}

// fileStore is a file that commits to a write-ahead log: a commit that the
// machine's power loss may undo (synchronous NORMAL) is one that the ledger
// repeats, and it halves the time of every call.
func fileStore(path string, pragmas map[string]string) *config.SQL {
	attributes := map[string]string{"mode": "rwc", "journal_mode": "wal", "synchronous": "normal"}
	return sqlite(uriPath(path), attributes, pragmas)
}

func sqlite(name string, attributes, pragmas map[string]string) *config.SQL {
	maps.Copy(attributes, pragmas)
	return &config.SQL{PluginName: sqliteplugin.PluginName, DatabaseName: name, ConnectAttributes: attributes}
}

// uriPath escapes a path for SQLite's file URI, in which '?' and '#' end the
// path and '%' begins a code.
func uriPath(path string) string {
	return strings.NewReplacer("%", "%25", "?", url.QueryEscape("?"), "#", url.QueryEscape("#")).Replace(path)
}

// createSchema fills an empty file with the server's tables. It does not use a
// write-ahead log, so that the file alone is the whole database.
func createSchema(path string) error {
	return sqliteschema.SetupSchema(sqlite(uriPath(path), map[string]string{"mode": "rw"}, nil))
}

// createNamespaces adds the namespaces that are missing, complete with their
// search attributes: a client may connect before anything could be added
// through the API. Existing namespaces are left as they are, to be brought up
// to date when the server runs.
func createNamespaces(store *config.SQL, names []string, attributes map[string]enumspb.IndexedValueType) error {
	for attribute := range attributes {
		if sadefs.IsReserved(attribute) {
			return models.Invalid("search-attribute", "%s is a name of the server's own", attribute)
		}
	}
	configs := make([]*sqliteschema.NamespaceConfig, len(names))
	for i, name := range names {
		c, err := sqliteschema.NewNamespaceConfig(clusterName, name, false, attributes)
		if err != nil {
			return models.Invalid("search-attribute", "namespace %s cannot have them", name).Because(err)
		}
		c.Detail.Config.Retention = durationpb.New(retention)
		configs[i] = c
	}
	if err := sqliteschema.CreateNamespaces(store, configs...); err != nil {
		return unavailable("the namespaces cannot be created", err)
	}
	return nil
}

// clusterID returns the id that belongs to the database.
func clusterID(file *dbfile.File) string {
	if file == nil {
		return uuid.NewString()
	}
	return file.ClusterID()
}

package options

import (
	"encoding/json"

	enumspb "go.temporal.io/api/enums/v1"
)

// DefaultPort is the frontend's port when none is given, and UIPortOffset what
// is added to it for the Web UI's: the ports of `temporal server start-dev`.
const (
	DefaultPort      = 7233
	UIPortOffset     = 1000
	DefaultNamespace = "default"
)

// Options is everything that a server is started with.
type Options struct {
	IP       string // loopback address of the gRPC frontend; default 127.0.0.1
	Port     int    // its port; 0 picks a free one; default 7233
	UIIP     string // loopback address of the Web UI; default IP
	UIPort   int    // its port; 0 picks a free one; default Port+1000, or 0 when that is no port
	Headless bool   // no Web UI

	Namespaces       []string                            // at least one; default "default"
	SearchAttributes map[string]enumspb.IndexedValueType // added to every namespace of the list
	DynamicConfig    map[string]json.RawMessage          // server settings by key, over our own
	Database         string                              // path of the SQLite file; empty is in memory
	Pragmas          map[string]string                   // SQLite pragmas by lower-case name, over our own

	LogLevel      string // debug, info, warn (default), error or never
	LogFormat     string // text (default) or json
	JSON          bool   // one JSON document on stdout, also on failure
	ExitWithStdin bool   // stop when standard input ends
}

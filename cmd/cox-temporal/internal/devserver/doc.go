// Package devserver runs one Temporal server with its Web UI inside this
// process, on loopback and over SQLite. It is the only package that imports
// go.temporal.io/server and ui-server.
//
//	             Start                      Stop (≤ StopLimit)
//	(nothing) ───────────▶ ready ───────────────────────▶ (nothing)
//	     ▲                   │
//	     └── any error ◀─────┘ Failed
//
// Start goes down one list, and on an error back up it: hold the database file,
// find the ports free, write the address into the lock, make the database and
// its namespaces, start the four services, wait until the frontend is healthy,
// bring retention and search attributes up to date, serve the Web UI.
//
// Invariants:
//   - every listener is on a loopback address;
//   - one process per database file, and only a database that the same server
//     version made (package dbfile);
//   - the Web UI has no listener of its own: its handler runs in this process
//     behind package guard, so there is no second, unguarded port to find. The
//     frontend's HTTP API and pprof are not started at all;
//   - nothing calls home: the server's version check and the UI's news are off;
//   - retention, namespaces and search attributes are what the options say
//     after every start, also on a file that an older release made.
package devserver

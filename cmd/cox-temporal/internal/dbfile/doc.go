// Package dbfile owns the files of one Temporal database on disk: the database
// itself, the lock that lets one server at a time have it, and the stamp that
// says which server made it.
//
//	temporal.db        the database, mode 0600, with SQLite's -wal and -shm
//	temporal.db.lock   held while a server runs; names its pid and address
//	temporal.db.json   the stamp: server version, shard count, cluster id
//
// A database goes one way:
//
//	absent ──Create──▶ present ──Acquire by the same version──▶ present
//	                      └─────Acquire by another version────▶ refused, unchanged
//
// Invariants:
//   - the lock is taken before anything else is read or written, and it is the
//     operating system's: a killed process leaves none behind;
//   - the database appears under its name only complete and after its stamp, so
//     a crash while creating leaves nothing to be mistaken for a database;
//   - a refused database is not opened and its stamp is not touched. The server
//     runs no schema upgrades on SQLite, so another version's file is never
//     safe to use.
package dbfile

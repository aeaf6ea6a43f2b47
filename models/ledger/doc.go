// Package ledger is the only SQL of Coxswain and the only place where anything
// is decided: who holds a claim, which command is planned, whether a decision
// counts. It works with the workflow engine stopped.
//
// Invariants:
//
//   - Tx is the only door for writes. Before it: the secret check, hashing and
//     canonical paths. In it: one clock reading, the change, its events, its
//     request record and its wake-ups, all or nothing. Never in it: Git, RPC, a
//     file walk.
//   - Writers are serialised: on SQLite by a blocking file lock with a deadline, then
//     by an immediate transaction; on Postgres by one advisory lock of the schema,
//     taken under READ COMMITTED before anything is read. A reader never blocks a
//     writer.
//   - What differs between the databases is a store; all other SQL is said once.
//   - Every write re-reads the schema version; a process older than the schema
//     stops with SCHEMA_VERSION_UNSUPPORTED.
//   - Events are append-only, globally ordered by sequence, and become visible in
//     that order.
//   - Only Plan creates commands.
//   - A workflow is woken by raising its generation in wakeups, and by nothing
//     else; the row carries no state and no authority.
//   - Tokens are derived from a 0600 key file, beside the ledger or, for one on a
//     server, in the state directory; tables keep hashes only.
//
// A command:
//
//	Plan ─▶ intended ──begin──▶ intended(owner) ──▶ done
//	            ▲                    │  ├─────────▶ failed   (nothing happened)
//	            └──── re-planned ────┘  └─────────▶ unknown  (read the world first)
package ledger

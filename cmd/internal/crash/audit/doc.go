// Package audit tells from evidence alone whether a world kept the promises of the
// loop: nothing lost, nothing twice. It knows nothing of how the world was run.
//
//	ledger rows ──┐
//	journal ──────┤
//	histories ────┼──▶ Check(Evidence) ──▶ findings: a code, whom it is about, why
//	requests ─────┤
//	processes ────┘
//
// Invariants:
//
//   - Checks are pure: no clock, no I/O, and the same evidence gives the same
//     findings in the same order.
//   - Every source is checked against another one: what the ledger says of a thread
//     against the thread's own history, and the history against the ledger.
//   - A surplus is excused by a recorded crash only, and only where one can cause it.
package audit

// Command cox-bench measures the product and prints one JSON document: the
// machine, the time, and a row for each figure with its target. Progress goes to
// stderr. It is run by `make bench`, never by a test, since nothing that is timed
// may decide whether a change is right.
//
//	measures ──▶ rows ──▶ document
//	   │
//	   ├─ in process: one ledger call against the same statements bare
//	   ├─ children of itself: many processes on one ledger file
//	   ├─ both on the Postgres that COX_BENCH_DB names, if any
//	   ├─ queries over large ledgers
//	   └─ cox and cox-temporal as processes
//
// Invariants:
//
//   - A ratio compares two things measured in turns in the same run, so that a
//     busy machine weighs on both alike.
//   - The bare statements are recorded from the product's own call in the same
//     run, never written down here, so that they cannot fall behind it.
//   - A measure that fails is a row without a figure that is not met, and the exit
//     code is 1. A missed target alone is no failure.
//   - Everything is written to one temporary folder, which is removed; every
//     process that was started is gone at the end.
package main

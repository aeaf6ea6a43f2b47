// Package failpoint marks the places at which a crash test may end a process: one
// before and one after each effect.
//
//	process ──Hit(point)──▶ socket of a controller ── closes the connection: go on
//	                                              └─ kills the process, or others first
//
// Invariants:
//
//   - Only a build with the tag failpoints holds the marks: in every other build Hit
//     is empty and nothing is read, not even the environment.
//   - Every point of the table is placed, and every placed one is in the table; a
//     test reads the source to make sure.
//   - A point decides nothing: without a controller, and after its answer, the
//     process goes on as if nothing had been.
package failpoint

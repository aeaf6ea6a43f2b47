// Package crash runs worlds whose processes are killed on purpose and lets the
// auditor judge what is left.
//
//	seed ──▶ Plan: kills of a world ──▶ controller ◀──Hit(point)── worker, cox mcp
//	                                        │ kill -9
//	                                        ▼
//	     cox up ─┬─ cox-temporal      worker, cox-temporal, app-server, cox mcp,
//	             ├─ cox worker ──▶    a fake's agent: one of them, or two at once
//	             └─ (managed app-server)
//
// A world is a state directory, a repository and a team whose assignments cover a
// life: accepted, fixed and accepted, rejected, cancelled in the middle of a turn,
// asked about, dependent on another one, and handed off only after a reminder. Its
// processes are the real ones, started by `cox up`, which restarts what it keeps; the
// person is played by the world, with the same commands that a person has.
//
// Invariants:
//
//   - What is killed follows from the seed and the world's number alone. When it is
//     killed follows from the points that the processes pass.
//   - A kill counts for an arrow when a process of its kind was there and was killed
//     while the point held it back.
//   - A world is judged after `cox down`, when nothing of it may run any more.
package crash

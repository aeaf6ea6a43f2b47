// Package managed keeps the one `codex app-server` of a node whose turns outlive
// the worker. It is a process of its own session, spoken to over a Unix socket.
//
//	Open ─▶ record? ──none, or its process has ended──▶ start ─▶ connect
//	           │
//	           └─its process runs ──fits──▶ connect (adopted)
//	                     └─other home or socket ─▶ end it ─▶ start ─▶ connect
//
// After an upgrade of Codex the server of before is adopted as well, so that its turns
// go on; it is Outdated, and to be stopped once it is idle.
//
// The record names the process by its id, its start and the boot of the machine,
// which together no other process ever has.
//
// Invariants:
//
//   - A state directory has at most one server: whoever looks for, starts or stops
//     it holds the lock of its folder, and its record is on disk before Codex runs
//     (the process waits for that, and ends with a starter that dies before).
//   - Only a process that is provably the recorded one is connected to or
//     signalled. Whatever else has its id is left alone.
//   - The socket lies in a folder of mode 0700 and is connected to only when it and
//     its folder belong to this user and nobody else may use them; on Linux the
//     process behind it must be the recorded one.
//   - The server reads nothing, and writes to a file that Trim keeps small.
package managed

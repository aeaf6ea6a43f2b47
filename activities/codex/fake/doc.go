// Package fake is a host of Codex threads without Codex: scripted, persistent
// and honest about processes. It fulfils codex.Adapter, so that the loop, the
// delivery of prompts and the recovery after a crash run end to end where no
// Codex is installed, in demos and in tests.
//
// Its worker and integrator are separate processes, one for each turn, that act
// only through the coordination server named in the thread's configuration and
// by changing files. RunAgent is that process.
//
//	caller ──▶ host ──stdin: request, steers──▶ agent ──MCP──▶ cox mcp ──▶ ledger
//	             │  ◀──stdout: events──────────   │
//	             ▼                                ▼
//	      <dir>/<thread>.json               the workspace
//
// A turn:
//
//	StartTurn ─▶ user message stored ─▶ agent runs ─┬─ says completed ─▶ completed
//	                                                ├─ says failed, dies or exits ≠ 0 ─▶ failed
//	                                                ├─ InterruptTurn ─▶ interrupted
//	                                                └─ host closed or killed ─▶ reads interrupted
//
// Invariants:
//
//   - What was reported is on disk: an item is stored (temporary file, fsync,
//     rename, fsync of the folder) before its event. A thread without a turn is
//     in memory only and vanishes with the host, as in Codex.
//   - One host holds a thread at a time: a file lock is kept while it is loaded.
//   - A turn that reads as ended has no process left: the agent's group and the
//     groups of its commands are killed first. So no terminal outlives a turn.
//   - A killed host takes its agents along: they get SIGTERM on Linux and read
//     the end of their input everywhere, and end their own commands.
//   - Nothing is drawn from a clock or a counter that restarts: ids are UUIDs of
//     version 7.
//   - No event is reported once Close has begun, as with Codex.
//
// An agent that asks for leave (the directive @ask) is denied where the thread asks
// nobody, and else waits for the verdict of Options.Policy or of a person; a request
// ends with its turn.
//
// The fake has no model and no sandbox: ThreadSpec.Model means nothing to it, its file
// changes keep to Writable and DenyPaths by themselves,
// and Probe says that nothing else holds its commands.
package fake

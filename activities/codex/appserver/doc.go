// Package appserver is the host of real Codex threads: a `codex app-server`, either a
// child process spoken to in JSON lines over its standard streams (Open), or a server
// that somebody keeps, over a WebSocket on a Unix socket (Connect).
//
//	caller ─▶ Host ─▶ rpc ─▶ stream ─▶ stdin, socket  ┐
//	            ▲       │                              │ codex app-server
//	 events ◀─ hub ◀────┴───── stream ◀ stdout, socket ┘
//
// A host's life:
//
//	Open: spawn ─▶ initialize ─▶ open ──Close────────────▶ ended (Err nil)
//	        │           │          └─EOF, exit, bad frame─▶ ended (Err says why)
//	        └───────────┴─▶ startup_failed, with the end of stderr
//
// Invariants:
//
//   - One reader takes messages off the stream; it never waits for a caller. It
//     waits only for a subscriber whose queue is full, which then slows Codex
//     down instead of filling memory.
//   - One message is at most MaxMessage bytes; a longer one ends the host.
//     stderr is always drained, and only its end is kept.
//   - Every request has a deadline; when the host ends, all that are open fail
//     with codex.ErrClosed. No request is repeated here.
//   - Every request of the server is decided by the policy within
//     Options.AnswerTimeout, never for the session, then reported and logged. One
//     that needs a person is kept and answered by AnswerRequest, once; it ends with
//     its turn, and a server that shows it again makes it answerable again.
//   - A server cuts off a host that takes no messages for long; its threads are
//     attached again by the next one. It gets no signal from here.
//   - The child has a process group of its own, which Close and every failure
//     end whole. On Linux it also dies with its parent.
//   - The whole configuration of a thread goes along at every start and resume,
//     and a thread that did not take the permission profile is not handed out.
//     The user's config.toml is never written.
package appserver

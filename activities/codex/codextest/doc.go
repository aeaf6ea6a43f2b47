// Package codextest proves hosts of Codex threads. It holds a scripted Responses
// server that plays the model behind the real Codex, the means to run Codex
// hermetically, and one conformance suite that every host passes.
//
//	test ──▶ Conformance ──▶ host under test ──▶ codex app-server ──HTTP──▶ Server(Model)
//	                              │                                             │
//	                              └──────────── or: fake ◀── directive ─────────┘
//
// Invariants:
//
//   - A Model is a pure function of one request: which texts and results the
//     history holds. It keeps no state, so parallel threads cannot mix.
//   - Every request is in the server's log before it is answered.
//   - Nothing but loopback is contacted and nothing outside the test's folder
//     is written: Codex gets a home, a CODEX_HOME and a configuration of its own
//     with every feature off that calls out.
//   - Waiting is for events with a deadline, never for a time.
package codextest

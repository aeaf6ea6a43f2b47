// Package codex states the contract between Coxswain and Codex: what a host of
// Codex threads can be asked, what it reports, and what its errors leave open.
// Sub-packages fulfil it (appserver, fake), and codextest proves them with one
// conformance suite.
//
// Invariants:
//
//   - Whoever sends a text proves its delivery by finding the client message id
//     in the thread's history; a response is not a receipt.
//   - An interrupt is done when the turn reads as ended.
//   - Every error says whether the effect may have happened (Happened).
//   - A host reads without bound on line count, with bound on memory; it drains
//     stderr, owns stdin and the process group of what it starts, and answers
//     every request of its server.
//
// A turn, as a host reports it:
//
//	StartTurn ─▶ turn_started ─▶ item_completed(userMessage, client id) ─▶ item_completed*
//	          ─▶ tokens* ─▶ turn_ended(completed | interrupted | failed)
package codex

// Package live proves the whole product on the real Codex: the cox and
// cox-temporal executables, a Codex app-server with a home of its own, and a
// scripted model behind it. It has tests alone.
//
//	test ─▶ cox up ─▶ cox-temporal
//	           └────▶ cox worker ─▶ codex app-server ──HTTP──▶ scripted model
//	                                     └─▶ cox mcp (one per thread)
//
// Invariants:
//
//   - What a thread was told is read from the model's request log, which holds
//     each thread's whole history as Codex sends it; the ledger's records are
//     then compared with it.
//   - A model is a pure function of one request. Where a thread behaves
//     differently the second time, it is because its history says so.
//   - Home, Codex home, state, repository, ports and temporary files belong to one
//     test and end with it. Nothing but loopback is contacted.
//   - Without the pinned Codex or the executables a test is skipped with the
//     reason; under CI=true or COX_LIVE=1 (make live) it fails.
package live

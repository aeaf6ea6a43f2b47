// Package e2e holds the end-to-end tests of cox: real processes, as a user starts
// them, on the fake adapter and the embedded Temporal.
//
//	go test ─▶ cox up │ cox worker │ cox loop … ─▶ cox-temporal
//	   │                    └─▶ fake agents ─▶ cox mcp ─▶ ledger
//	   └─ asserts on exit codes, documents, the repository, thread histories,
//	      the ledger's events and Temporal's own records
//
// Invariants of the tests:
//
//   - Every test has a home, XDG folders and a TMPDIR of its own below t.TempDir,
//     and ends only processes that it started.
//   - At its end no process is left whose environment names the test's folder.
//   - Everything waits for a condition, with a deadline; nothing sleeps.
//
// COX_BIN and COX_TEMPORAL_BIN name built executables; without the first the tests
// build cox, without the second they look into bin. COX_E2E_SEED repeats one crash,
// COX_E2E_SEEDS=n runs n of them, COX_E2E_SHOTS keeps the pictures of the Web UI.
package e2e

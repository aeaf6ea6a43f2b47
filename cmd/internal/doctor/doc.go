// Package doctor looks at everything that cox needs on this host and names the
// remedy of what is missing.
//
// Invariants:
//
//   - It needs neither a ledger nor a Codex nor a network, and says what to do
//     without them.
//   - It prints and returns nothing private: no key, no login, no password.
package doctor

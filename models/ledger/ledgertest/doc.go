// Package ledgertest is the conformance suite of the ledger. Whatever stores it,
// the suite must pass: it states what a caller of package ledger can rely on, one
// named test per behaviour. Times come from a clock that the tests move.
package ledgertest

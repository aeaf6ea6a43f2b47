// Package options turns the command line of cox-temporal into one checked value.
//
// The flags are those of `temporal server start-dev` that people and the SDK's
// testsuite.StartDevServer use, and a few of our own (--json,
// --exit-with-stdin). Every flag that is accepted has an effect; the others are
// refused by the parser.
//
// Invariants: an Options that FromContext returned is complete (defaults
// filled in) and safe (loopback addresses only); nothing was opened, bound or
// written to check it.
package options

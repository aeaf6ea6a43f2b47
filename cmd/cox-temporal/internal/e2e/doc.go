// Package e2e tests the built executable from outside, with the SDK that its
// users have. It imports neither the server nor the packages that do, so it
// compiles in seconds and runs under the race detector.
//
// The executable is the one that COX_TEMPORAL_BIN names; without it, one is
// built once per run, which takes minutes when the build cache is empty (raise
// -timeout then).
package e2e

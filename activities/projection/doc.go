// Package projection writes what a ledger holds for accepted into a repository,
// as files for readers. They are never read back: the ledger alone decides.
//
// Invariants:
//
//   - The same snapshot gives the same bytes, and a file whose bytes would not
//     change is left alone, so that Git sees a change only where there is one.
//   - A reader sees the old file or the new one, never a part of either.
//   - Nothing is written outside the folder of the workspace, into its Git
//     directory, or through a symlink.
package projection

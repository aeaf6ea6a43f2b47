// Package policyfile reads the file that says what happens to the requests of
// agents' hosts, and keeps the policy that is in force.
//
// Invariants:
//
//   - A file that is not there asks nobody and accepts nothing.
//   - A file that agents may be able to write is no policy: one inside a registered
//     workspace, or one that others than its owner may write, is refused.
//   - A changed file is taken up at the next use. One that is refused changes
//     nothing: the last good policy stays in force, and the log says so once.
package policyfile

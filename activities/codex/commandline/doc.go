// Package commandline reads a command line of an agent: which commands it holds,
// through shells, pipes and substitutions, and whether it is one plain command
// whose words can be compared.
//
// Invariants:
//
//   - Nothing is run, expanded or looked up; the environment plays no part.
//   - What cannot be read is said (Line.Doubts) and never left out: an empty Doubts
//     means that Commands holds every command that the line can run, except those
//     that a program starts by itself.
//   - Line.Words are given for one plain command only: literal words, no
//     redirection, no assignment, no substitution, at most one shell around it.
package commandline

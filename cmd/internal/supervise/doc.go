// Package supervise starts the processes of `cox up` and stops them again: all
// that it started, and nothing else.
//
//	Start ──▶ ready line on stdout ──▶ running ──exit──▶ restarted after a back-off
//	                                      │
//	                                    Stop: SIGTERM, then SIGKILL to the group
//
// Invariants:
//
//   - A child has a process group of its own, so that Ctrl-C of the terminal
//     reaches the supervisor only, which stops the children in order.
//   - On Linux a child gets SIGTERM when the supervisor dies, however it dies.
//   - Output of children goes to files or to the given writer, never to stdout.
package supervise

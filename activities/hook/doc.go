// Package hook runs the hooks of a workspace: commands of its owner, outside every
// sandbox.
//
//	worker ─pipe─▶ cox hook-guard ─▶ /bin/sh -c COMMAND (a process group of its own)
//
// Invariants:
//
//   - A hook never outlives its worker: the guard kills the hook's whole group when
//     its pipe from the worker ends, however the worker ended, at the hook's timeout,
//     and when the hook itself is done.
//   - A hook sees a short list of variables and those of the call, and nothing of the
//     worker's other environment.
//   - Output is bounded in memory; its end is kept.
package hook

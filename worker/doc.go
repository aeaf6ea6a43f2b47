// Package worker is one node's process: it serves the workflow and node queues,
// relays the ledger's wake-ups to the engine, watches turns, and owns the
// adapter hosts.
//
//	            ┌─ relay ──────▶ engine ──▶ workflows ──▶ activities ─┐
//	ledger ◀────┤                                                      ├──▶ hosts ──▶ threads
//	            └─ observer ◀──────────────── events ──────────────────┘
//
// Invariants:
//
//   - One worker process per node: a file lock, and an incarnation that rises at
//     each start.
//   - Only the relay starts and signals workflows. It repeats a wake-up with
//     back-off until the workflow's own read has recorded its generation.
//   - The observer writes facts (turns, progress, tokens, limits); it decides
//     nothing and infers no acceptance.
//   - One host per adapter kind, opened at first use, shared by activities and
//     observer, reopened with back-off when it ends.
//   - Stop order: relay and poller, queues, hosts, client, lock. Turns of a
//     stdio host end with it and read as lost at the next start; those of a
//     server on a socket go on and are attached again.
//   - A worker that is told to drain begins no turn any more and goes on with
//     everything else.
package worker

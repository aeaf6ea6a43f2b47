// Package models is the language of Coxswain: its types, state tables and pure
// rules. It imports the standard library only, does no I/O and reads no clock;
// times and identifiers come in as arguments. The ledger calls the rules inside
// its transactions, and workflows may call them because they are deterministic.
//
// An assignment's life:
//
//	ready ──claim──▶ claimed ──heartbeat──▶ running ──handoff──▶ awaiting_review
//	  ▲                 │                     │  ▲                   │   │   │
//	  │                 └────intervention─────┤  └──answer──┐        │   │   └─▶ accepted
//	  │                                       ▼             │        │   └─────▶ rejected
//	  │                                  awaiting_human ────┘        ▼
//	  └───────────────────────(next run claims)────────────────── needs_fix
//
//	any live status ──▶ cancelled | superseded
//
// A run's life:
//
//	starting ─▶ claimed ─▶ running ⇄ awaiting_human ─▶ completed_gate_passed
//	    │          └──────────┴────────────┴─────────▶ completed_gate_failed
//	    └─▶ failed | cancelled | superseded
//
// A run occupies a slot until its EndedAt is set, which happens only when the
// end of its turn or process is proven.
package models

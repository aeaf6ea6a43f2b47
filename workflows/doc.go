// Package workflows holds the durable workflows: time and effects. They decide
// nothing; each looks at the ledger, carries out the commands addressed to it,
// and rests.
//
//	        ┌────────────────────────────────────────────┐
//	wake ──▶│ look (acknowledges the generation) ──▶ act │──▶ nothing due ──▶ wait for
//	        └────────────────────────────────────────────┘    wake or deadline ──┐
//	           ▲                                                                 │
//	           └─────────────────────────────────────────────────────────────────┘
//	                     done ──▶ Rest: refused when the generation moved ──▶ end
//
// Invariants:
//
//   - Inputs are ids. No start, signal or query carries state or authority.
//   - A timer only wakes; the ledger is read again before anything is done.
//   - A workflow ends or continues-as-new only after Rest said that nothing was
//     raised since its last look, so that no wake-up is lost.
//   - An idle workflow writes no history.
//   - Nothing cancels what a workflow does. A cancel in the Web UI is told to the
//     ledger: an assignment is called off, a loop turned off; elsewhere it means
//     nothing. The stop of a worker is never a cancel.
//   - Cards, memos and failures carry ids, states and counts.
package workflows

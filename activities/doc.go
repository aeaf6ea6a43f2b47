// Package activities holds the effects and ledger calls that workflows ask for.
// Methods are thin: they parse, call the ledger or a host, and answer.
//
// Control activities are ledger calls only and run on the ledger's queue. Node
// activities touch Codex, Git or files and run on the queue of the node that
// holds the workspace.
//
// Invariants:
//
//   - Before an effect the attempt owns its command or message in the ledger; a
//     later attempt takes it over and reads the world first.
//   - An activity that ends without an error has recorded its outcome. An error
//     means that the outcome is open and the next attempt finds it out.
//   - Inputs and results carry ids, states and counts, never prompts or texts.
package activities

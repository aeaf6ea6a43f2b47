// Package prompts renders every text that Coxswain sends into a Codex thread:
// one embedded template and one typed input per prompt kind, and the developer
// instructions of a thread.
//
//	ledger rows ──▶ typed input ──Validate──▶ template ──▶ outbox item ──▶ thread
//	                                 │
//	                  line, quoted, code, fenced (quote.go)
//
// Invariants:
//
//   - Rendering is pure: the same input gives the same text, byte for byte, so
//     a retried command sends what the first attempt sent.
//   - Every text that comes from outside (titles, criteria, paths, notes,
//     questions, answers, project documents) is quoted so that it cannot leave
//     its place: a single-line field stays on its line, a longer text stays in
//     a fence longer than any run of backticks in it.
//   - Every list and text is bounded, and says so where it was cut; the worker
//     reads the whole from its assignment. A prompt carries pointers to project
//     documents, never their content (seed 000, prompt builder). The one
//     exception is AGENTS.md in the developer instructions, because Codex reads
//     it only in projects that it trusts.
//   - Tools are named in full with their MCP server: a model whose tools are
//     deferred sees the server's name only.
package prompts

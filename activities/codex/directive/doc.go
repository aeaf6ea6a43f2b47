// Package directive is the tiny language in which a test or a demo tells a
// scripted agent what to do. Both agents understand it: the scripted Responses
// server of codextest, which plays the model behind the real Codex, and the
// fake host's agent. It has no dependency but the standard library.
//
// A directive is a line of the user's text that begins with "@" and a verb:
//
//	@say hello world          an agent message
//	@run sleep 30             a shell command in the thread's folder
//	@ask rm -r build          a shell command outside the sandbox, if it is accepted
//	@write notes/a.txt text   a file with the rest of the line and a newline
//	@tool name {"a":1}        a call of the coordination server's tool
//	@fail 429                 the model answers with this HTTP status
//	@hang                     the model never answers
//
// Invariants:
//
//   - Steps are played in order. Directives of the newest user message alone
//     count: a steer with directives replaces what was left of the former ones.
//   - fail and hang end the list; what follows them is never played.
//   - A turn whose last step is not say ends with the message "done".
//   - A line with an unknown verb, or with white space before "@", is text.
//   - A text without any directive is no script (Parse returns nil): the agent
//     then behaves as its own rules say.
//   - A failed command or tool does not stop the list; the agent goes on.
package directive

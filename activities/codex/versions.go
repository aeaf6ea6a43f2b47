package codex

// KnownVersions are the Codex versions whose protocol was seen to be what this package
// expects, oldest first; the last one is the tested one. Another one is tried all the
// same; its probe decides.
func KnownVersions() []string { return []string{TestedVersion} }

package main

import (
	"fmt"
	"strings"

	"coxswain/models"
)

const errorsHead = `# Errors

Every failure has one of these codes. ` + "`--json`" + ` prints it on stdout as
` + "`{\"ok\":false,\"error\":{\"code\",\"message\",\"next\",\"details\"}}`" + `; the tools of ` + "`cox mcp`" + ` answer with the same
document. What the error itself names as the next step fits better than what stands here.
` + "`cox explain CODE`" + ` shows an entry on the terminal.

This page is made from the code: ` + "`make docs`" + `.
`

// errorsPage is docs/errors.md.
func errorsPage() string {
	var b strings.Builder
	b.WriteString(errorsHead)
	b.WriteString("\n| code | exit code | meaning |\n|---|---|---|\n")
	for _, f := range models.Catalogue() {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %d | %s |\n", f.Code, strings.ToLower(string(f.Code)), f.Exit, f.Meaning)
	}
	for _, f := range models.Catalogue() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\nCauses:\n\n", f.Code, f.Meaning)
		for _, cause := range f.Causes {
			fmt.Fprintf(&b, "- %s\n", cause)
		}
		fmt.Fprintf(&b, "\nWhat helps: %s.\n", f.Next)
	}
	return b.String()
}

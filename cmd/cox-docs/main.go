// Command cox-docs writes what the documents take from the code: docs/errors.md, and
// the tables of README.md between their marks. It is run in the root of the
// repository by `make docs`; a test compares the committed files with what it gives.
package main

import (
	"fmt"
	"os"
)

func main() {
	for _, p := range pages() {
		if err := write(p); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// page is a document whose text, or a part of it, comes from the code.
type page struct {
	path   string // from the root of the repository
	render func(before string) (string, error)
}

func pages() []page {
	return []page{
		{"docs/errors.md", func(string) (string, error) { return errorsPage(), nil }},
		{"README.md", readme},
		{"docs/operations.md", operations},
	}
}

// current reads what is committed; nothing for a page that is not there yet.
func current(path string) (string, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return "", nil
	}
	return string(text), err
}

func write(p page) error {
	before, err := current(p.path)
	if err != nil {
		return err
	}
	after, err := p.render(before)
	if err != nil || after == before {
		return err
	}
	return os.WriteFile(p.path, []byte(after), 0o600)
}

package main

import (
	"path/filepath"
	"testing"
)

func TestDocumentsAreWhatTheCodeGives(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	for _, p := range pages() {
		before, err := current(p.path)
		if err != nil {
			t.Fatal(err)
		}
		after, err := p.render(before)
		if err != nil {
			t.Fatal(err)
		}
		if after != before {
			t.Errorf("%s is not what the code gives: run make docs", p.path)
		}
	}
}

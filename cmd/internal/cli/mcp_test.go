package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
)

// Once frames were served, an error is told on stderr and by the exit code: a
// document among the frames would be none.
func TestNoDocumentFollowsFrames(t *testing.T) {
	env := map[string]string{"HOME": t.TempDir(), "COX_JSON": "1"}
	lookup := func(k string) (string, bool) { v, ok := env[k]; return v, ok }
	line := io.LimitReader(spaces{}, 17<<20) // more than a server reads as one line
	var out, errs bytes.Buffer
	code := Main(context.Background(), []string{"cox", "mcp", "--actor", "ada"}, lookup, IO{In: line, Out: &out, Err: &errs})
	if code != exitUsage || !strings.Contains(errs.String(), "a line is longer") {
		t.Errorf("exit %d: %s", code, errs.String())
	}
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":null,"error":`) {
		t.Errorf("want one frame, have %q", got)
	}
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte(" "), len(p))), nil }

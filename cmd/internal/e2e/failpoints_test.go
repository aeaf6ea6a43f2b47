package e2e_test

import (
	"bytes"
	"os"
	"testing"

	"coxswain/models/ledger/failpoint"
)

// A released cox holds no failpoint: neither the variable that would control it nor
// the name of any point is in the program.
func TestReleaseHoldsNoFailpoint(t *testing.T) {
	program, err := os.ReadFile(built.cox)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{failpoint.Variable, failpoint.SocketName, string(failpoint.InterruptSending)} {
		if bytes.Contains(program, []byte(word)) {
			t.Errorf("%s holds %q", built.cox, word)
		}
	}
}

package ledgertest

import (
	"bytes"
	"encoding/json"
)

// sameJSON compares two values as they are written.
func sameJSON(e *env, what string, have, want any) {
	e.Helper()
	h, err := json.MarshalIndent(have, "", " ")
	e.ok(err)
	w, err := json.MarshalIndent(want, "", " ")
	e.ok(err)
	if !bytes.Equal(h, w) {
		e.Fatalf("%s:\nhave %s\nwant %s", what, h, w)
	}
}

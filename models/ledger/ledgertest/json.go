package ledgertest

import "encoding/json"

// sameJSON compares two values as they are written.
func sameJSON(e *env, what string, have, want any) {
	e.Helper()
	h, err := json.MarshalIndent(have, "", " ")
	e.ok(err)
	w, err := json.MarshalIndent(want, "", " ")
	e.ok(err)
	if string(h) != string(w) {
		e.Fatalf("%s:\nhave %s\nwant %s", what, h, w)
	}
}

func ptr[T any](v T) *T { return &v }

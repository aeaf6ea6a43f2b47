package command

import (
	"encoding/json"
	"errors"
	"fmt"

	"coxswain/models"
)

// failure is the document printed on stdout when JSON was asked for.
type failure struct {
	OK    bool        `json:"ok"`
	Error errorFields `json:"error"`
}

type errorFields struct {
	Code    models.Code    `json:"code"`
	Message string         `json:"message"`
	Next    string         `json:"next,omitempty"`
	Details map[string]any `json:"details,omitempty"`
}

// fail prints an error, in words on stderr and as JSON on stdout when asked,
// and returns the exit code.
func (p *program) fail(err error) int {
	f := errorFields{Code: models.CodeOf(err), Message: err.Error()}
	if e, ok := errors.AsType[*models.Error](err); ok {
		f.Next, f.Details = e.Next, e.Details
	}
	fmt.Fprintf(p.Err, "cox-temporal: %s\n", f.Message)
	if f.Next != "" {
		fmt.Fprintf(p.Err, "next: %s\n", f.Next)
	}
	if p.json {
		if encodeErr := json.NewEncoder(p.Out).Encode(failure{Error: f}); encodeErr != nil {
			fmt.Fprintf(p.Err, "cox-temporal: %v\n", encodeErr)
		}
	}
	return int(f.Code.Exit())
}

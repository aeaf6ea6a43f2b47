// Package errorwords lets the test harnesses of every surface hold each failure
// that they see, wanted or not, against the catalogue of errors.
//
//	cli scripts, e2e, mcp ──▶ Check ──▶ models.Catalogue
//
// Invariant: what a command prints as a failure has a code that the catalogue
// explains, a message, and the exit code that the catalogue gives.
package errorwords

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"coxswain/models"
)

// Unknown stands for an exit code that there is none of, as with tools.
const Unknown = -1

// document is what every failure looks like.
type document struct {
	OK    *bool `json:"ok"`
	Error *struct {
		Code    models.Code `json:"code"`
		Message string      `json:"message"`
	} `json:"error"`
}

// Check reads the documents that a command printed and returns an error for the
// first failure among them that is not as the catalogue says. Text that is no JSON
// is for people and passes. exit is the command's exit code, or Unknown.
func Check(stdout []byte, exit int) error {
	if !bytes.HasPrefix(bytes.TrimSpace(stdout), []byte("{")) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(stdout))
	// The end, or a text that is cut off or of another shape, ends it: none of them is
	// a failure's document.
	for d := (document{}); decoder.Decode(&d) == nil; d = (document{}) {
		if err := d.check(exit); err != nil {
			return err
		}
	}
	return nil
}

func (d document) check(exit int) error {
	if d.OK == nil || *d.OK {
		return nil
	}
	if d.Error == nil || d.Error.Code == "" {
		return errors.New("a failure names no code")
	}
	facts, known := d.Error.Code.Facts()
	switch {
	case !known:
		return fmt.Errorf("%s is not in the catalogue of errors", d.Error.Code)
	case d.Error.Message == "":
		return fmt.Errorf("%s comes without a message", d.Error.Code)
	case exit != Unknown && exit != int(facts.Exit):
		return fmt.Errorf("%s ended with exit code %d, the catalogue says %d", d.Error.Code, exit, facts.Exit)
	}
	return nil
}

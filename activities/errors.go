package activities

import (
	"errors"
	"strconv"

	"go.temporal.io/sdk/temporal"

	"coxswain/models"
)

// failure maps an error to what Temporal records and retries: refusals of the
// ledger are not retried, a busy ledger or an unavailable host is. The record
// carries code and message, never a cause with outside text.
func failure(err error) error {
	if err == nil {
		return nil
	}
	if _, mapped := errors.AsType[*temporal.ApplicationError](err); mapped {
		return err
	}
	code := models.CodeOf(err)
	message := string(code)
	if typed, ok := errors.AsType[*models.Error](err); ok {
		message = typed.Message
	}
	return temporal.NewApplicationErrorWithOptions(message, string(code), temporal.ApplicationErrorOptions{
		NonRetryable: !retryable(code), Category: temporal.ApplicationErrorCategoryUnspecified, Cause: cause(code, err),
	})
}

// cause keeps the text of an internal error, which nothing else describes.
func cause(code models.Code, err error) error {
	if code == models.CodeInternal {
		return errors.New(err.Error())
	}
	return nil
}

func retryable(code models.Code) bool {
	switch code {
	case models.CodeLedgerBusy, models.CodeLedgerUnavailable, models.CodeAdapterUnavailable, models.CodeEngineUnavailable,
		models.CodeInternal, models.CodeInterrupted:
		return true
	default:
		return false
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

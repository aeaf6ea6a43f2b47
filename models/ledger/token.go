package ledger

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"coxswain/models"
)

// derive makes a token or fence from the ledger's key. The same words give the
// same token, so that nothing secret has to be stored to repeat it.
func (l *Ledger) derive(words ...string) string {
	mac := hmac.New(sha256.New, l.key)
	for _, w := range words {
		mac.Write([]byte(strconv.Itoa(len(w)) + ":" + w))
	}
	return hex.EncodeToString(mac.Sum(nil))
}

func hashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// BindingToken is the token that `cox mcp` of a binding proves itself with. Only
// a process that can read the key file can make it.
func (l *Ledger) BindingToken(bindingID string, generation int) string {
	return l.derive("binding", bindingID, strconv.Itoa(generation))
}

// Bound finds the active binding of a token and the principal that it proves. A
// wrong or outdated token is FORBIDDEN.
func (l *Ledger) Bound(ctx context.Context, token string) (models.Binding, models.Principal, error) {
	b, found, err := find[models.Binding](l.read(ctx), "token_hash = ? AND status = 'active'", hashToken(token))
	if err != nil {
		return b, models.Principal{}, err
	}
	if !found {
		return b, models.Principal{}, models.Forbidden("the token names no active binding of this ledger").
			Hint("the thread was replaced or its work ended; stop here")
	}
	role := models.RoleAgent
	if b.Kind == models.BindingIntegrator {
		role = models.RoleIntegrator
	}
	return b, models.Principal{ActorID: b.ActorID, Role: role, BindingID: b.ID}, nil
}

// CheckTurn refuses a call from a turn that is over or that belongs to another
// binding. A turn that the ledger does not know passes: the observer may record
// it after its first call. Errors: FORBIDDEN.
func (l *Ledger) CheckTurn(ctx context.Context, b models.Binding, turnID string) error {
	turn, found, err := find[models.Turn](l.read(ctx), "id = ?", turnID)
	if err != nil || !found {
		return err
	}
	if turn.BindingID != b.ID {
		return models.Forbidden("the call comes from a turn of another thread").With("turn_id", turnID).
			Hint("use the coxswain tools only in the thread that was started for the work")
	}
	if turn.Status.Ended() {
		return models.Forbidden("the call comes from a turn that is %s", turn.Status).With("turn_id", turnID).
			Hint("stop here; the thread goes on when it gets its next message")
	}
	return nil
}

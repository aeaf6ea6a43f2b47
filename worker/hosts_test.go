package worker

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"

	"coxswain/activities/codex"
	"coxswain/models"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// dialled returns hosts whose dial gives the listed adapters one after the other,
// nil for a failure.
func dialled(r *rig, give ...*scripted) (h *hosts, dials *int) {
	n := 0
	return r.newHosts(func(context.Context, string) (codex.Adapter, error) {
		n++
		if n > len(give) || give[n-1] == nil {
			return nil, errors.New("no such file")
		}
		return give[n-1], nil
	}), &n
}

func TestOneHostIsSharedAndReplacedWhenItEnds(t *testing.T) {
	r := newRig(t)
	first, second := newScripted(), newScripted()
	h, dials := dialled(r, first, second)
	for range 3 {
		if _, err := h.Host(t.Context(), models.AdapterKindFake); err != nil {
			t.Fatal(err)
		}
	}
	if *dials != 1 || !slices.Equal(first.resumed, []string{"th"}) {
		t.Errorf("dialled %d times, attached %v", *dials, first.resumed)
	}
	close(first.done)
	h.reopen(t.Context())
	if *dials != 2 || !slices.Equal(second.resumed, []string{"th"}) {
		t.Errorf("after its end: dialled %d times, attached %v", *dials, second.resumed)
	}
	r.ok(h.close())
	if _, err := h.Host(t.Context(), models.AdapterKindFake); !second.closed || !models.IsCode(err, models.CodeAdapterUnavailable) {
		t.Errorf("after the stop: closed %t, %v", second.closed, err)
	}
	close(second.done)
}

func TestAHostThatFailsIsTriedAgainWhileThreadsDependOnIt(t *testing.T) {
	r := newRig(t)
	host := newScripted()
	defer close(host.done)
	h, dials := dialled(r, nil, host)
	if _, err := h.Host(t.Context(), models.AdapterKindFake); !models.IsCode(err, models.CodeAdapterUnavailable) {
		t.Fatalf("a missing adapter says %v", err)
	}
	if _, err := h.Host(t.Context(), models.AdapterKindFake); err == nil || *dials != 1 {
		t.Errorf("tried %d times without a pause, %v", *dials, err)
	}
	r.until("the host is not opened again", func() bool { h.reopen(t.Context()); return len(h.open) == 1 })
	if *dials != 2 || !slices.Equal(host.resumed, []string{"th"}) || len(h.absent()) != 0 {
		t.Errorf("dialled %d times, attached %v, absent %v", *dials, host.resumed, h.absent())
	}
}

// A thread that could not be attached is attached later: nobody would see its turn end.
func TestAThreadThatWasNotAttachedIsAttachedLater(t *testing.T) {
	r := newRig(t)
	host := newScripted()
	defer close(host.done)
	host.refuse = []error{errors.New("busy")}
	h, dials := dialled(r, host)
	if _, err := h.Host(t.Context(), models.AdapterKindFake); err != nil || len(host.resumed) != 0 {
		t.Fatalf("attached %v, %v", host.resumed, err)
	}
	for range 2 {
		h.attachRest(t.Context())
	}
	if *dials != 1 || !slices.Equal(host.resumed, []string{"th"}) {
		t.Errorf("dialled %d times, attached %v", *dials, host.resumed)
	}
}

func TestAHostThatNobodyNeedsStaysAway(t *testing.T) {
	r := newRig(t)
	host := newScripted()
	h, dials := dialled(r, host, newScripted())
	if _, err := h.Host(t.Context(), models.AdapterKindFake); err != nil {
		t.Fatal(err)
	}
	r.ok(r.l.EndRun(t.Context(), r.run.ID, "over"))
	r.ok(r.l.LoseTurn(t.Context(), "th", "tu"))
	close(host.done)
	h.reopen(t.Context())
	if *dials != 1 {
		t.Errorf("dialled %d times", *dials)
	}
}

func TestAnUnknownAdapterIsRefused(t *testing.T) {
	r := newRig(t)
	h := r.newHosts(nil)
	if _, err := h.openKind(t.Context(), "carrier_pigeon"); !models.IsCode(err, models.CodeInvalidArgument) {
		t.Errorf("%v", err)
	}
}

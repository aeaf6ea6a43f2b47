package bounded_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"coxswain/cmd/cox-temporal/internal/bounded"
	"coxswain/models"
)

func TestCallThatEndsGivesItsOwnError(t *testing.T) {
	want := errors.New("disk full")
	if err := bounded.Call("stop", time.Minute, func() error { return want }); !errors.Is(err, want) {
		t.Errorf("error is %v", err)
	}
	if err := bounded.Call("stop", time.Minute, func() error { return nil }); err != nil {
		t.Errorf("error is %v", err)
	}
}

func TestCallThatHangsIsGivenUp(t *testing.T) {
	release, ended := make(chan struct{}), make(chan struct{})
	err := bounded.Call("stopping the services", time.Millisecond, func() error { defer close(ended); <-release; return nil })
	if !models.IsCode(err, models.CodeEngineUnavailable) || !strings.Contains(err.Error(), "stopping the services did not end within 1ms") {
		t.Errorf("error is %v", err)
	}
	close(release)
	<-ended // a late end blocks nothing
}

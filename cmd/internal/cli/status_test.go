package cli

import (
	"strings"
	"testing"

	"coxswain/models"
	"coxswain/models/ledger"
)

func TestWakeUpsAloneWaitForAWorkerThatRuns(t *testing.T) {
	shown := func(commands, wakeups int, working bool) string {
		var out strings.Builder
		var s ledger.Status
		s.Pending.Commands, s.Pending.Wakeups = commands, wakeups
		(&printer{out: &out}).waiting(s, working)
		return out.String()
	}
	if text := shown(0, 1, false); text != "" {
		t.Errorf("with no worker it says %q", text)
	}
	if text := shown(0, 1, true); !strings.Contains(text, "0 commands, 0 messages, 1 wake-up\n") {
		t.Errorf("with a worker it says %q", text)
	}
	if text := shown(1, 2, false); !strings.Contains(text, "1 command, 0 messages, 2 wake-ups\n") {
		t.Errorf("with a command it says %q", text)
	}
}

func TestSentencesEndWithoutABlank(t *testing.T) {
	e := models.Event{Type: models.EventTurnEnded, Payload: map[string]any{"status": "completed"}}
	if got := sentence(e); got != "turn completed" {
		t.Errorf("%q", got)
	}
}

package fake_test

import (
	"context"
	"testing"

	"coxswain/activities/codex"
	"coxswain/activities/codex/codextest"
	"coxswain/activities/codex/fake"
)

func TestConformance(t *testing.T) {
	codextest.Conformance(t, func(t *testing.T) codextest.Setup {
		dir := t.TempDir()
		return codextest.Setup{
			Spec: codex.ThreadSpec{CWD: t.TempDir(), Writable: true, TempDir: t.TempDir()},
			Open: func(ctx context.Context) (codex.Adapter, error) {
				return fake.Open(ctx, fake.Options{Dir: dir, Agent: agentCommand(), Policy: codextest.AskPeople})
			},
		}
	})
}

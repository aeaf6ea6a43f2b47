package activities_test

import (
	"os"
	"testing"

	"coxswain/activities/hook"
)

// The test binary plays cox hook-guard, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "hook-guard" {
		os.Exit(hook.Guard(os.Stdin, os.Stdout, os.Args[len(os.Args)-1]))
	}
	os.Exit(m.Run())
}

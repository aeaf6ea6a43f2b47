package cli

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"

	"go.temporal.io/sdk/temporal"

	"coxswain/activities/codex"
	"coxswain/models/ledger"
)

// Version is the release; the build sets it with -ldflags -X.
var Version = "dev"

func versionLeaf() leaf {
	return leaf{
		name: "version", usage: "print the version", example: "cox version --json",
		about: "Prints the release, the commit it was built from, the ledger schema it writes, and the versions\nof Codex and of Temporal's SDK that it was built and tested with.",
		run:   version,
	}
}

func version(_ context.Context, in *call) error {
	commit := buildCommit()
	doc := fields{"version": map[string]any{
		"version": Version, "commit": commit, "go": runtime.Version(),
		"platform": runtime.GOOS + "/" + runtime.GOARCH, "schema": ledger.SchemaVersion,
		"codex":    fields{"pinned": codex.TestedVersion, "known": codex.KnownVersions()},
		"temporal": fields{"sdk": temporal.SDKVersion},
	}}
	return in.answer(doc, func(p *printer) {
		p.line("cox %s", Version)
		p.facts("commit", commit, "go", runtime.Version(), "platform", runtime.GOOS+"/"+runtime.GOARCH, "schema", ledger.SchemaVersion,
			"codex", strings.Join(codex.KnownVersions(), ", "), "temporal sdk", temporal.SDKVersion)
	})
}

// buildCommit is the revision that the Go tool recorded, "" outside a checkout.
func buildCommit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

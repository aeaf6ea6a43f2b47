package commandline

import (
	"path/filepath"

	"coxswain/models"
)

// Request is the request to run a command line in a folder.
func Request(command, cwd string) models.ApprovalRequest {
	l := Parse(command)
	if cwd != "" {
		cwd = filepath.Clean(cwd)
	}
	return models.ApprovalRequest{
		Kind: models.RequestCommand, Command: command, CWD: cwd,
		Argv: l.Words, Commands: l.Commands, Doubts: l.Doubts, Destroys: l.Empties,
	}
}

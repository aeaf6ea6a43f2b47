package crash

import (
	"context"
	"path/filepath"
	"strings"

	"coxswain/activities/gitscope"
	"coxswain/cmd/internal/crash/audit"
	"coxswain/models"
	"coxswain/models/ledger"
)

// Names of a world's rows.
const (
	workspaceID = "site"
	teamID      = "crew"
)

// role is what an assignment is there for; assignments are named by it.
type role string

// The roles cover a life.
const (
	accepted  role = "accept" // handed off and accepted
	fixed     role = "fix"    // needs_fix first, then accepted
	rejected  role = "reject"
	cancelled role = "cancel" // called off in the middle of a turn
	asking    role = "ask"    // asks a person, and works after the answer
	dependent role = "depend" // starts when another one is accepted
	reminded  role = "remind" // hands off only after a reminder
)

// part is one assignment of the scene.
type part struct {
	id        string
	role      role
	behaviour string // of the fake's agents
	want      audit.Want
}

// scene are the assignments of a world. They are told apart by their roles, in the
// model behind a real Codex too.
func scene() []part {
	var out []part
	add := func(r role, n, behaviour string, status models.AssignmentStatus, claims int) {
		id := string(r) + "-" + n
		out = append(out, part{id, r, behaviour, audit.Want{AssignmentID: id, Status: status, Claims: claims}})
	}
	add(asking, "1", "ask", models.AssignmentAccepted, 1)
	add(cancelled, "1", "hang", models.AssignmentCancelled, 1)
	add(fixed, "1", "needs_fix_once", models.AssignmentAccepted, 2)
	add(accepted, "1", "", models.AssignmentAccepted, 1)
	add(reminded, "1", "no_handoff_once", models.AssignmentAccepted, 1)
	add(rejected, "1", "reject", models.AssignmentRejected, 1)
	add(dependent, "1", "", models.AssignmentAccepted, 1)
	add(cancelled, "2", "hang", models.AssignmentCancelled, 1)
	add(asking, "2", "ask", models.AssignmentAccepted, 1)
	return out
}

// shortScene are the parts of a life that a slice shows.
func shortScene() []part {
	var out []part
	for _, p := range scene() {
		switch p.id {
		case "ask-1", "cancel-1", "fix-1", "accept-1":
			out = append(out, p)
		}
	}
	return out
}

func roleOf(assignmentID string) role {
	name, _, _ := strings.Cut(assignmentID, "-")
	return role(name)
}

// person is who acts in a world.
func person() *ledger.Call {
	return ledger.As(models.Principal{ActorID: "human:crash", Role: models.RoleHuman})
}

// create writes workspace, team and assignments.
func create(ctx context.Context, l *ledger.Ledger, repo, stateDir string, parts []part) error {
	found, err := gitscope.Discover(ctx, repo)
	if err != nil {
		return err
	}
	if _, err := l.RegisterWorkspace(ctx, person(), ledger.NewWorkspace{
		ID: workspaceID, Name: "Site", RepoRoot: found.Root, GitCommonDir: found.CommonDir, DefaultBranch: "main",
		NodeID: ledger.LocalNodeID(stateDir),
	}); err != nil {
		return err
	}
	if _, err := l.CreateTeam(ctx, person(), ledger.NewTeam{ID: teamID, WorkspaceID: workspaceID, Name: "Crew"}); err != nil {
		return err
	}
	for n, p := range parts {
		base := 0
		a := models.NewAssignment{
			ID: p.id, WorkspaceID: workspaceID, TeamID: teamID, Title: "Write the file of " + p.id, Priority: len(parts) - n,
			AllowedPaths: []string{workFile(p.id)}, AcceptanceCriteria: []string{"The file of " + p.id + " has its line."}, Metadata: map[string]any{},
		}
		if p.behaviour != "" {
			a.Metadata["fake"] = map[string]any{"behaviour": p.behaviour}
		}
		if p.role == dependent {
			a.DependsOn = []string{string(accepted) + "-1"}
		}
		if _, err := l.CreateAssignment(ctx, person(), a, &base); err != nil {
			return err
		}
	}
	return nil
}

// workFile is the one allowed path of an assignment.
func workFile(assignmentID string) string { return filepath.Join("src", assignmentID+".txt") }

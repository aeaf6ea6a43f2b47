package main

import (
	"context"
	"errors"
	"fmt"

	"coxswain/models"
	"coxswain/models/ledger"
)

// The place and the people of every measure.
const (
	space = "bench"
	crew  = "bench-crew"
	held  = "held-assignment"
)

var (
	person = models.Principal{ActorID: "human:bench", Role: models.RoleHuman}
	agent  = models.Principal{ActorID: "bench-worker", Role: models.RoleAgent}
)

// openScene opens a ledger with a workspace and a team; nodeID may be "".
func openScene(ctx context.Context, path, root, nodeID string) (*ledger.Ledger, error) {
	return openSceneAt(ctx, ledger.Options{Path: path}, root, nodeID)
}

func openSceneAt(ctx context.Context, o ledger.Options, root, nodeID string) (*ledger.Ledger, error) {
	l, err := ledger.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	_, err = l.RegisterWorkspace(ctx, ledger.As(person), ledger.NewWorkspace{ID: space, RepoRoot: root, NodeID: nodeID})
	if err == nil {
		_, err = l.CreateTeam(ctx, ledger.As(person), ledger.NewTeam{ID: crew, WorkspaceID: space})
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// create makes one assignment as a person does by the command line, with a
// request id.
func create(ctx context.Context, l *ledger.Ledger, id string, dependsOn ...string) error {
	_, err := l.CreateAssignment(ctx, ledger.As(person).Request("request-"+id), models.NewAssignment{
		ID: id, TeamID: crew, Title: "Measure the ledger", AllowedPaths: []string{"src/measure"},
		AcceptanceCriteria: []string{"The figure is known."}, DependsOn: dependsOn,
	}, nil)
	return err
}

// hold makes one claimed assignment and returns its run.
func hold(ctx context.Context, l *ledger.Ledger) (runID string, err error) {
	if err := create(ctx, l, held); err != nil {
		return "", err
	}
	c, err := l.ClaimAssignment(ctx, ledger.As(agent), ledger.ClaimRequest{AssignmentID: held})
	return c.Run.ID, err
}

func heartbeat(ctx context.Context, l *ledger.Ledger, runID string) error {
	_, err := l.HeartbeatRun(ctx, ledger.As(agent), runID, "still measuring")
	return err
}

func createNumbered(ctx context.Context, l *ledger.Ledger, name string, n int) error {
	return create(ctx, l, fmt.Sprintf("%s-%d", name, n))
}

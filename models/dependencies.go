package models

import (
	"fmt"
	"slices"
	"strings"
)

// FindCycle follows the edges of a graph from one node and returns the first
// cycle that leads back to it, beginning and ending with the node, or nil. edges
// lists what each node depends on. The answer is the same for the same edges.
func FindCycle(edges map[string][]string, from string) []string {
	parent, todo := map[string]string{}, []string{from}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		for _, next := range edges[at] {
			if next == from {
				return pathBack(parent, from, at)
			}
			if _, seen := parent[next]; !seen {
				parent[next] = at
				todo = append(todo, next)
			}
		}
	}
	return nil
}

// pathBack lists the way from a node to the one that closes its cycle.
func pathBack(parent map[string]string, from, last string) []string {
	path := []string{from}
	for at := last; at != from; at = parent[at] {
		path = append(path, at)
	}
	path = append(path, from)
	slices.Reverse(path)
	return path
}

// Blocker is an assignment that another one waits for.
type Blocker struct {
	ID     string
	Status AssignmentStatus
}

// EndedBlocker tells whether one of the blockers can never be accepted any more,
// and then what a person does about it.
func EndedBlocker(id string, waits []Blocker) (next string, ended bool) {
	for _, b := range waits {
		if b.Status.Terminal() {
			return fmt.Sprintf("cox assignment cancel %s; cox assignment create makes one that does not wait for %s", id, b.ID), true
		}
	}
	return "", false
}

// waitReason says what a blocked assignment waits for, and what helps where that
// will never come.
func waitReason(id string, waits []Blocker) string {
	names := make([]string, len(waits))
	for i, b := range waits {
		names[i] = b.ID
		if b.Status.Terminal() {
			names[i] += " (" + string(b.Status) + ")"
		}
	}
	reason := "dependency: waits for " + strings.Join(names, ", ")
	if next, ended := EndedBlocker(id, waits); ended {
		reason += ", which will not be accepted; next: " + next
	}
	return reason
}

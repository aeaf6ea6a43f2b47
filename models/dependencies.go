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
	ID        string
	Status    AssignmentStatus
	DependsOn string // the dependency, which the blocker may have replaced
}

// EndedBlocker tells whether one of the blockers can never be accepted any more,
// and then what a person does about it.
func EndedBlocker(id string, waits []Blocker) (next string, ended bool) {
	for _, b := range waits {
		if b.Status.Terminal() {
			return fmt.Sprintf("cox assignment edit --remove-depends-on %s %s; or cox assignment cancel --reason \"…\" %s", b.DependsOn, id, id), true
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

// FindCycles returns the cycles of a graph that lead through one of the nodes, each
// once, at the first of its nodes in the given order.
func FindCycles(edges map[string][]string, nodes []string) [][]string {
	knotted := unsortable(edges)
	var out [][]string
	for _, node := range nodes {
		if !knotted[node] {
			continue
		}
		path := FindCycle(edges, node)
		for _, id := range path {
			delete(knotted, id)
		}
		if path != nil {
			out = append(out, path)
		}
	}
	return out
}

// unsortable are the nodes that are left when every node whose dependencies are all
// gone has been taken away: those on a cycle, and those that depend on one.
func unsortable(edges map[string][]string) map[string]bool {
	waiting, dependents, free := map[string]int{}, map[string][]string{}, []string{}
	for node, on := range edges {
		for _, other := range on {
			waiting[node]++
			dependents[other] = append(dependents[other], node)
			if len(edges[other]) == 0 && len(dependents[other]) == 1 {
				free = append(free, other)
			}
		}
	}
	for len(free) > 0 {
		node := free[0]
		free = free[1:]
		for _, d := range dependents[node] {
			if waiting[d]--; waiting[d] == 0 {
				delete(waiting, d)
				free = append(free, d)
			}
		}
	}
	left := make(map[string]bool, len(waiting))
	for node := range waiting {
		left[node] = true
	}
	return left
}

package models

import "slices"

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

package models_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"coxswain/models"
)

func TestFindCycle(t *testing.T) {
	for _, c := range []struct {
		edges map[string][]string
		want  []string
	}{
		{map[string][]string{}, nil},
		{map[string][]string{"a": {"b"}, "b": {"c"}}, nil},
		{map[string][]string{"a": {"a"}}, []string{"a", "a"}},
		{map[string][]string{"a": {"x", "b"}, "b": {"c"}, "c": {"a"}}, []string{"a", "b", "c", "a"}},
		{map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"b"}}, nil}, // a cycle that does not lead back
	} {
		if got := models.FindCycle(c.edges, "a"); !slices.Equal(got, c.want) {
			t.Errorf("FindCycle(%v) = %v, want %v", c.edges, got, c.want)
		}
	}
}

// The path that is found consists of edges and closes; where none is found, the
// node cannot be reached from itself.
func TestFindCycleFollowsEdges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		node := rapid.IntRange(0, 7)
		edges := map[string][]string{}
		reach := [8][8]bool{}
		for range rapid.IntRange(0, 16).Draw(t, "edges") {
			from, to := node.Draw(t, "from"), node.Draw(t, "to")
			edges[fmt.Sprint(from)] = append(edges[fmt.Sprint(from)], fmt.Sprint(to))
			reach[from][to] = true
		}
		for k := range 8 {
			for i := range 8 {
				for j := range 8 {
					reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
				}
			}
		}
		path := models.FindCycle(edges, "0")
		if (path != nil) != reach[0][0] {
			t.Fatalf("path %v, but reachable is %v", path, reach[0][0])
		}
		for i := 1; i < len(path); i++ {
			if !slices.Contains(edges[path[i-1]], path[i]) {
				t.Fatalf("%v does not follow the edges", path)
			}
		}
		if path != nil && (path[0] != "0" || path[len(path)-1] != "0") {
			t.Fatalf("%v does not close", path)
		}
	})
}

func BenchmarkFindCycle5000(b *testing.B) {
	edges := map[string][]string{}
	for i := range 5000 {
		from := fmt.Sprintf("task-%d", i)
		edges[from] = append(edges[from], fmt.Sprintf("task-%d", i+1))
	}
	for b.Loop() {
		if models.FindCycle(edges, "task-0") != nil {
			b.Fatal("there is no cycle")
		}
	}
}

//go:build !failpoints

package failpoint

// Placed tells whether this build holds the points.
const Placed = false

// Hit passes a point. In this build it is empty.
func Hit(Point) {}

// Command cox-crash kills the processes of real worlds at every arrow of an
// assignment's life and audits what is left. `make crash` builds what it needs.
//
// It prints its seed, each world as it ends, the kills per arrow, and one JSON
// document. It exits with 1 when a world broke a promise or an arrow got too few
// kills. The same seed goes on where it was stopped; one world alone can be repeated.
package main

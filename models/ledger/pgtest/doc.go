// Package pgtest gives tests a Postgres of their own: a throwaway cluster from the
// installed binaries, in a temporary folder, on a socket that nobody else finds. It
// is started at the first need of a test binary and stopped by Main.
package pgtest

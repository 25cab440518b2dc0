// Package long holds the flag of tests that take minutes: go test -long, for the packages whose tests import
// this one. Without it a test runs a part of its cases, or says that it was skipped. ".ci/run long" runs them
// with it.
package long

import (
	"flag"
	"testing"
)

var given = flag.Bool("long", false, "run all cases and what takes minutes")

// Tests reports whether tests may take minutes. The flags must have been parsed.
func Tests() bool { return *given }

// Only skips a test that is run with the flag alone. It says what takes so long.
func Only(t testing.TB, what string) {
	t.Helper()
	if !*given {
		t.Skip("without -long: " + what)
	}
}

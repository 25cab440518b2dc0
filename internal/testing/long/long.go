// Package long says which tests are left out of go test ./..., which takes some minutes. What takes seconds
// and finds what a change seldom breaks runs in CI, on each change: where the variable CI is set, as CI=1 go
// test does. What takes minutes runs with the flag -long, for the packages whose tests import this one.
// Without them a test runs a part of its cases, or says that it was skipped. ".ci/run" sets the variable,
// ".ci/run long" gives the flag.
package long

import (
	"flag"
	"os"
	"testing"
)

var given = flag.Bool("long", false, "run all cases and what takes minutes")

// Tests reports whether tests may take minutes. The flags must have been parsed.
func Tests() bool { return *given }

// CI reports whether tests may take seconds: all but those that may take minutes. The flags must have been
// parsed.
func CI() bool { return *given || os.Getenv("CI") != "" }

// Only skips a test that is run with the flag alone. It says what takes so long.
func Only(t testing.TB, what string) {
	t.Helper()
	if !*given {
		t.Skip("without -long: " + what)
	}
}

// InCI skips a test that is run in CI, or with the flag, alone. It says what takes so long.
func InCI(t testing.TB, what string) {
	t.Helper()
	if !CI() {
		t.Skip("without CI=1: " + what)
	}
}

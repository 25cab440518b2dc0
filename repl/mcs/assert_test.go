package main

import (
	"strings"
	"testing"
)

// An assertion that does not hold ends a session with an error, so that a build can rely on it.
func TestAssertionsEndTheSession(t *testing.T) {
	const spins = "func spin(n int) (x int) { for i := range n { x += i }; return x }\n"
	for _, tt := range []struct {
		cell, says string
		code       int
	}{
		{"%bench -t 300ms -assert 'short <= 0.5*long' short := spin(10) ; long := spin(20000)", "short <= 0.5*long: true (short takes ", 0},
		{"%bench -t 300ms -assert 'long <= 0.5*short' short := spin(10) ; long := spin(20000)", "long <= 0.5*short: false (long takes ", 1},
		{"%timeit -t 300ms -assert 'spin(20000) < 1ns' spin(20000)", "spin(20000) < 1ns: false (spin(20000) takes ", 1},
		{"%timeit -t 50ms -assert 'spin(10) < short' spin(10)", `-assert: got "short", want a number, a duration, or a case (spin(10)) with a factor`, 1},
	} {
		t.Run(tt.cell, func(t *testing.T) {
			stdout, stderr, code := mcs(t, t.TempDir(), spins+tt.cell+"\n", "run", "-")
			if text := strings.Join(strings.Fields(stdout+stderr), " "); code != tt.code || !strings.Contains(text, tt.says) {
				t.Errorf("mcs run: code %d, want %d with %q in\n%s%s", code, tt.code, tt.says, stdout, stderr)
			}
			// A file that is tested allows any figures, and so the same text: an error ends it nevertheless.
			dir := writeFiles(t, map[string]string{"fast.mcs": spins + "// %%\n" + tt.cell + "\n// > ...\n"})
			stdout, stderr, code = mcs(t, dir, "", "test", "fast.mcs")
			if says := "FAIL  fast.mcs"; code != tt.code || strings.Contains(stdout, says) != (code != 0) {
				t.Errorf("mcs test: code %d, want %d\n%s%s", code, tt.code, stdout, stderr)
			}
		})
	}
}

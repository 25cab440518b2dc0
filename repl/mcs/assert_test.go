package main

import (
	"fmt"
	"strings"
	"testing"
)

// An assertion that does not hold ends a session with an error, so that a build can rely on it.
func TestAssertionsEndTheSession(t *testing.T) {
	t.Parallel()
	const spins = "func spin(n int) (x int) { for i := range n { x += i }; return x }\n"
	for _, tt := range []struct {
		cell, says string
		code       int
	}{
		{"%bench -t TIME -assert 'short <= 0.5*long' short := spin(10) ; long := spin(20000)", "short <= 0.5*long: true (short takes ", 0},
		{"%bench -t TIME -assert 'long <= 0.5*short' short := spin(10) ; long := spin(20000)", "long <= 0.5*short: false (long takes ", 1},
		{"%timeit -t TIME -assert 'spin(20000) < 1ns' spin(20000)", "spin(20000) < 1ns: false (spin(20000) takes ", 1},
		{"%timeit -t 50ms -assert 'spin(10) < short' spin(10)", `-assert: got "short", want a number, a duration, or a case (spin(10)) with a factor`, 1},
	} {
		t.Run(tt.cell, func(t *testing.T) {
			// A file that is tested allows any figures, and so the same text: an error ends it nevertheless.
			var wrong string
			for _, budget := range []string{"300ms", "3s", "30s"} { // on a busy machine little tells too little
				cell := spins + strings.Replace(tt.cell, "TIME", budget, 1) + "\n"
				dir := writeFiles(t, map[string]string{"fast.mcs": "// %%\n" + cell + "// > ...\n"})
				stdout, stderr, code := mcs(t, dir, cell, "run", "-")
				tested, _, testCode := mcs(t, dir, "", "test", "fast.mcs")
				text := strings.Join(strings.Fields(stdout+stderr), " ")
				if code == tt.code && testCode == code && strings.Contains(text, tt.says) && strings.Contains(tested, "FAIL  fast.mcs") == (code != 0) {
					return
				}
				wrong = fmt.Sprintf("mcs run: code %d, want %d with %q in\n%s%s\nmcs test: code %d\n%s", code, tt.code, tt.says, stdout, stderr, testCode, tested)
			}
			t.Error(wrong)
		})
	}
}

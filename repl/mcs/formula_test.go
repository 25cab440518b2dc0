package main

import (
	"strings"
	"testing"
)

// A formula of tensors may begin with a parenthesis wherever a person types one.
func TestFormulasBeginWithParentheses(t *testing.T) {
	const formula = "(x + 1) * (x + 2)"
	const want = "[ 2  6 12]"
	for _, c := range []struct{ name, stdin, want string }{
		{"a line", formula, want},
		{"an index", "((x + 1) * (x + 2))[1]", "\n6"},
		{"a comparison", "(x > 0) & (x < 2)", "[false  true false]"},
		{"%time", "%time " + formula, want},
		{"%timeit", "%timeit " + formula, "1 launch"},
		{"%kernels", "%kernels " + formula, "1 launch"},
	} {
		out, errs, code := mcs(t, t.TempDir(), "x := tensor.Range(3)\n"+c.stdin+"\n")
		if code != 0 || !strings.Contains(out, c.want) {
			t.Errorf("%s: got %s%s, want %s", c.name, out, errs, c.want)
		}
	}
	if out, errs, code := mcs(t, t.TempDir(), "", "-e", "x := tensor.Range(3)", "-e", formula); code != 0 || !strings.Contains(out, want) {
		t.Errorf("-e: got %s%s, want %s", out, errs, want)
	}
}

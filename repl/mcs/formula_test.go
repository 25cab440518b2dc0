package main

import (
	"os"
	"strings"
	"testing"
)

// A formula of tensors may begin with a parenthesis wherever a person types one.
func TestFormulasBeginWithParentheses(t *testing.T) {
	t.Parallel()
	const formula = "(x + 1) * (x + 2)"
	const want = "[ 2  6 12]"
	for _, c := range []struct{ name, stdin, want string }{
		{"a line", formula, want},
		{"an index", "((x + 1) * (x + 2))[1]", "\n6"},
		{"a comparison", "(x > 0) & (x < 2)", "[false  true false]"},
		{"%time", "%time " + formula, want},
		{"%timeit", "%timeit -t 20ms " + formula, "1 launch"},
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

// A line that Go can read and whose names the session has is Go: the shell would make a file of a comparison.
func TestNegationsAreGo(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"b": "important\n"})
	out, errs, code := mcs(t, dir, "a, b, ok := 3, 2, true\nx := tensor.Range(2)\n!(a > b)\n!ok\n!(x > 0)\n!strings.Contains(`ab`, `c`)\n! echo asked {a}\n!cat b\n")
	if want := "false\nfalse\nbool[2] cpu 2 B\n[ true false]\ntrue\nasked 3\nimportant\n"; code != 0 || out != want {
		t.Errorf("got %s%s, want %s", out, errs, want)
	}
	if want := "!(a > b) is Go here, as its names are; ! (a > b) asks the shell\n"; errs != want {
		t.Errorf("got the notice %q, want %q once", errs, want)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("got the files %v, %v, want b alone", files, err)
	}
}

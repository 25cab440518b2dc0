package session

import (
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/repl/cell"
)

// TestLeftOutErrorsEnd puts a call that returns an error, too, wherever an expression can stand in a
// statement: the check ends each time, and only an assignment of the call's own results is completed.
func TestLeftOutErrorsEnd(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, `func one() (int, error) { return 1, nil }`, `func two() (int, int, error) { return 1, 2, nil }`,
		`func open() (*strings.Builder, error) { return nil, nil }`, `func fails() error { return nil }`, `a, b := 1, 2`, `xs, m := []int{1}, map[int]int{}`)
	statements := []string{"x := $", "x, y := $", "a = $", "a, b = $", "a += $", "a <<= $", "var x = $", "var x int = $", "var x, y = $", "xs[0] = $", "m[$] = 1", "xs[$]++",
		"$", "x := 1; x = $", "for i := $; i < 1; i++ {}", "if x := $; x > 0 {}", "switch x := $; x {}", "{ x := $; _ = x }", "defer println($)", "go println($)", "return $",
		"_ = $", "x, _ := $", "l: x := $", "for range $ {}", "x := $\ny := x + 1\nz := $", "f := func() int { x := $; return x }", "f := func() int { return $ }", "_ = func() { a, b = $ }"}
	exprs := []string{"$", "($)", "$ + 1", "1 + $", "-$", "$ + $", "$.Len()", "$.x", "[]int{$}", "[]int{$}[0]", "xs[$]", "xs[$:]", "m[$]", "int64($)", "append(xs, $)",
		"len($)", "*$", "&$", "<-$", "$.(int)", "$()", "func() int { n := $; return n }()", "func() { a = $ }", "struct{ x int }{$}", "map[int]int{$: $}", "max($, 1)", "println($)", "new($)"}
	calls := []string{"one()", "two()", "open()", "fails()", "strconv.Atoi(\"1\")", "missing()"}
	n := 0
	for _, statement := range statements {
		for _, expr := range exprs {
			for _, call := range calls {
				if n++; n%5 != 0 && !long.Tests() { // no list has a multiple of five, so each meets each
					continue
				}
				src := strings.ReplaceAll(statement, "$", strings.ReplaceAll(expr, "$", call))
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					_, err := s.compiler.Check(s.compiler.World.Stage(), 1, src, cell.Join(cell.Split(src)))
					if err != nil && strings.Contains(err.Error(), "__") {
						t.Errorf("%s: %v", src, err)
					}
				}()
				select {
				case <-ended:
				case <-time.After(time.Minute):
					t.Fatalf("the check of %q does not end", src)
				}
			}
		}
	}
}

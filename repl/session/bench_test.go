package session

import (
	"context"
	"fmt"
	"testing"
)

// BenchmarkCell is the cost of a trivial cell in a session that has run some before: it must not depend on
// how many.
func BenchmarkCell(b *testing.B) {
	for _, before := range []int{10, 20000} {
		b.Run(fmt.Sprint(before), func(b *testing.B) {
			s, out := newSession(b, Options{})
			ctx := context.Background()
			run := func(cell string) {
				if r := s.Run(ctx, cell); r.Err != nil {
					b.Fatal(r.Err)
				}
				out.Reset()
			}
			for i := range before {
				switch i % 5 {
				case 0:
					run(fmt.Sprintf("v%d := %d", i, i))
				case 1:
					run(fmt.Sprintf("func f%d(n int) int { return n + v%d }", i, i-1))
				case 2:
					run(fmt.Sprintf("f%d(%d)", i-1, i))
				case 3:
					run("x := fmt.Sprint(len(strings.Fields(`a b`)))")
				case 4:
					run(fmt.Sprintf("type T%d struct{ A, B int }", i))
				}
			}
			for b.Loop() {
				run("y := 1 + len(x)")
			}
		})
	}
}

// A trivial cell makes few objects: what it does not mention, such as lists, results, types and pointers,
// costs it nothing.
func TestTrivialCellMakesFewObjects(t *testing.T) {
	s, out := newSession(t, Options{})
	run := func(cell string) {
		if r := s.Run(t.Context(), cell); r.Err != nil {
			t.Fatal(r.Err)
		}
		out.Reset()
	}
	run("x := `abc`")
	if n := testing.AllocsPerRun(50, func() { run("y := 1 + len(x)") }); n > 610 {
		t.Errorf("it makes %.0f objects, want at most 610", n)
	}
}

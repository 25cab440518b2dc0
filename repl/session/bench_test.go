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
	if n := testing.AllocsPerRun(50, func() { run("y := 1 + len(x)") }); n > 620 {
		t.Errorf("it makes %.0f objects, want at most 620", n)
	}
}

// BenchmarkTensorNotation is the cost of a cell of 20 statements that each use the one before, with operators
// and indices and with the methods that they stand for.
func BenchmarkTensorNotation(b *testing.B) {
	for _, c := range []struct{ name, line string }{
		{"operators", "x%d := 2*x%d[:, 1:] - x%[2]d[:, 0:1] + 1\n"},
		{"methods", "x%d := x%d.I(\":, 1:\").Mul(2).Sub(x%[2]d.I(\":, 0:1\")).Add(1)\n"},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, out := newSession(b, Options{})
			cell := ""
			for i := range 20 {
				cell += fmt.Sprintf(c.line, i+1, i)
			}
			for _, text := range []string{"x0 := tensor.Ones(2, 40)", cell} {
				if r := s.Run(context.Background(), text); r.Err != nil {
					b.Fatal(r.Err)
				}
			}
			for b.Loop() {
				if r := s.Run(context.Background(), cell); r.Err != nil {
					b.Fatal(r.Err)
				}
				out.Reset()
			}
		})
	}
}

package gofile_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/repl/script/gofile"
	"github.com/mcs-notebook/mcs/repl/session"
)

// printing are cells whose results are printed.
var printing = []string{
	"x := 1",
	"x := x + 1",
	"x = 7",
	"var x int",
	"var x = x * 2",
	"var x, q = 5, 6",
	"x, y := y, x",
	"x, w := x+1, 3",
	`x := "text"`,
	"x := []int{1, 2}",
	"y := 2",
	"y++",
	"fmt.Println(x)",
	"fmt.Println(x, y)",
	"fmt.Println(y)",
	"func f() int { return 1 }",
	"func f() int { return 2 }",
	"func f() int { return y }",
	"func f(n int) int { return n }",
	"fmt.Println(f())",
	"fmt.Println(f(3))",
	"g := f",
	"g := func() int { return f() + y }",
	"fmt.Println(g())",
	"func h() int { return f() + y }",
	"fmt.Println(h())",
	"type T struct{ A int }\nfunc (t T) Get() int { return t.A + y }",
	"t := T{y}",
	"fmt.Println(t, t.Get())",
	"p := &y\n*p += 10",
	"fmt.Println(*p)",
	"defer fmt.Println(`deferred`, y)",
	"for i := range 2 {\n\tdefer fmt.Println(`deferred`, i, y)\n}",
	"func() { defer fmt.Println(`inner`); y = 4 }()",
	"for i := range 3 {\n\ty += i\n}",
	"if y := 9; y > 1 {\n\tfmt.Println(y)\n}",
	"n := strconv.Atoi(`12`)",
	"n, err := strconv.Atoi(`13`)",
	"fmt.Println(n)",
	"err := errors.New(`mine`)",
	"fmt.Println(err)",
	"n := strconv.Atoi(`x`)",
	"m := map[string]int{`a`: y}",
	"m[`a`]++; fmt.Println(m)",
	"const k = 3",
	"fmt.Println(k + y)",
	"func gen[E any](e E) E { return e }",
	"fmt.Println(gen(y))",
	"{\n\tx := 3\n\tfmt.Println(x)\n}",
	"c := []func() int{f, h}\nfmt.Println(c[0](), c[1]())",
	"_ = x",
	"a, b := 1, 2; a, b = b, a; fmt.Println(a, b)",
	"switch {\ncase y > 3:\n\tfmt.Println(`large`)\ndefault:\n\tfmt.Println(`small`)\n}",
	"println := 3\nfmt.Println(println)",
}

// TestProgramsDoWhatSessionsDid: random sessions print in the program that they are exported as what they
// printed.
func TestProgramsDoWhatSessionsDid(t *testing.T) {
	n, made := 60, 0
	if long.Tests() {
		n = 1500
	}
	for i := range n {
		r := rand.New(rand.NewPCG(11, uint64(i)))
		var out bytes.Buffer
		s, err := session.New(session.Options{Stdout: &out, Stderr: &bytes.Buffer{}})
		if err != nil {
			t.Fatal(err)
		}
		cells := []string{"x, y := 1, 0"}
		for range 2 + r.IntN(8) {
			cells = append(cells, printing[r.IntN(len(printing))])
		}
		var kept []string
		for _, c := range cells {
			before := out.Len()
			if res := s.Run(context.Background(), c); res.Err == nil {
				kept = append(kept, c)
			} else {
				out.Truncate(before)
			}
		}
		s.Close()
		src, err := gofile.Program(kept)
		if err != nil {
			continue
		}
		made++
		var got, errs bytes.Buffer
		session.RunProgram(context.Background(), []session.ProgramFile{{Name: "main.go", Source: src}}, session.Options{Stdout: &got, Stderr: &errs})
		if got.String() != out.String() {
			t.Errorf("%q:\nsession %q\nprogram %q %s\n%s", kept, out.String(), got.String(), errs.String(), src)
		}
	}
	if t.Logf("%d of %d sessions are programs", made, n); made < n/2 {
		t.Errorf("only %d of %d sessions are programs", made, n)
	}
}

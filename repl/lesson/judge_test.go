package lesson

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
	"github.com/mcs-notebook/mcs/repl/session"
)

const judged = `// %%
scale := 2

// %% exercise dot
func dot(x, y tensor.Tensor) tensor.Tensor {
	return x
}
`

const judgedKey = `// %% check dot
import "math"

check.Close(t, dot(tensor.Ones(3), tensor.Full(math.Abs(-2), 3)), 6*SECRET)
secret := len("abc")

// %% solution dot
SECRET := 1.0
func dot(x, y tensor.Tensor) tensor.Tensor { return x.Mul(y).Sum() }
`

// TestJudge: answers, and what is said of them. None of the check is.
func TestJudge(t *testing.T) {
	l, err := New(mcsfile.Parse("l.mcs", judged), mcsfile.Parse("l.key.mcs", judgedKey))
	if err != nil {
		t.Fatal(err)
	}
	const right = "func dot(x, y tensor.Tensor) tensor.Tensor { return x.Mul(y).Sum() }"
	for _, c := range []struct{ name, answer, want string }{
		{"right", right, ""},
		{"right, with a name of the check's", "secret := \"mine\"\n" + right, ""},
		{"another value", "func dot(x, y tensor.Tensor) tensor.Tensor { return x.Sum() }", "got 3, want 6"},
		{"another shape", "func dot(x, y tensor.Tensor) tensor.Tensor { return x.Mul(y) }", "got shape [3], want []"},
		{"another type", "func dot(x, y float64) float64 { return x*y }", "dot is not of the type that is asked for: got func(x float64, y float64) float64, want func dot(x, y tensor.Tensor) tensor.Tensor"},
		{"another name", "func product(x, y tensor.Tensor) tensor.Tensor { return x }", "dot is not declared, and the exercise asks for it"},
		{"a panic", "func dot(x, y tensor.Tensor) tensor.Tensor {\n\tpanic(\"oh\")\n}", "panic: oh"},
		{"a panic of the engine", "func dot(x, y tensor.Tensor) tensor.Tensor { return x.MatMul(tensor.Ones(4, 4)) }", "matmul"},
		{"os.Exit", "func dot(x, y tensor.Tensor) tensor.Tensor { os.Exit(0); return x }", "os.Exit"},
		{"an endless loop", "func dot(x, y tensor.Tensor) tensor.Tensor { for {}; return x }", "interrupted"},
		{"a package is hidden", "check := 1\n" + right, "declares check, which the check needs as it was"},
		{"an import hides it", "import check \"strings\"\n" + right, "declares check"},
		{"a name of Go is hidden", "len := func(string) int { return 1 }\n" + right, "declares len"},
		{"an import of the check's is hidden", "math := 1\n" + right, "declares math"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var printed strings.Builder
			s, err := session.New(session.Options{Stdout: &printed})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			for _, cell := range []string{"SECRET := 1.0", "fmt.Println(1)", c.answer} {
				if r := s.Run(ctx, cell); r.Err != nil {
					t.Fatal(r.Err)
				}
			}
			names, cells := len(s.Vars()), len(s.History())
			if c.name == "an endless loop" {
				ctx, cancel = context.WithTimeout(ctx, time.Second)
				defer cancel()
			}
			err = l.Judge(ctx, s, &l.Exercises[0])
			refusal := new(Refusal)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("got %v, want none", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "SECRET")):
				t.Errorf("got %v, want %s", err, c.want)
			case err != nil && !errors.As(err, &refusal) && !errors.Is(err, session.ErrInterrupted):
				t.Errorf("got a %T", err)
			}
			if len(s.Vars()) != names || len(s.History()) != cells || s.Next() != 4 || printed.String() != "1\n" {
				t.Errorf("the session is another: %v, next %d, printed %q", s.Vars(), s.Next(), printed.String())
			}
		})
	}
}

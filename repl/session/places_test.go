package session

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/profile"
)

// Tensors know the line of the cell that has made them, in functions of cells, too. Where two lines may be
// meant, both are named.
func TestPlaces(t *testing.T) {
	const linear = "func linear(x, w tensor.Tensor) tensor.Tensor {\n\ty := x.MatMul(w)\n\treturn y.Silu()\n}"
	for _, c := range []struct {
		name  string
		cells []string
		want  string
	}{
		{"one cell", []string{"x := tensor.Randn(2, 3).Eval()\ny := x.Exp()\ny.Sum().Plan()"}, "In[1]:2 exp, In[1]:3 sum"},
		{"an earlier cell", []string{"x := tensor.Randn(2, 3).Eval()", "y := x.Exp()", "y.Plan()"}, "In[2]:1 exp"},
		{"a function", []string{linear, "x := tensor.Randn(2, 3).Eval()", "linear(x, x.Transpose().Eval()).Plan()"}, "In[1]:2 matmul, In[1]:3 silu"},
		{"what is done with a function's result", []string{linear, "x := tensor.Randn(2, 3).Eval(); w := x.Transpose().Eval()", "linear(x, w).Sum().Plan()"},
			"In[1]:2 matmul, In[1]:3 silu, In[3]:1 sum"},
		{"the same operation in a function and behind its call", []string{linear, "x := tensor.Randn(2, 3).Eval(); w := x.Transpose().Eval()", "linear(x, w).Silu().Plan()"},
			"In[1]:2 matmul, In[1]:3 or In[3]:1 silu"},
		{"a function that calls another one", []string{linear, "func twice(x, w tensor.Tensor) tensor.Tensor {\n\n\treturn linear(x, w).Exp()\n}",
			"x := tensor.Randn(2, 3).Eval(); w := x.Transpose().Eval()", "twice(x, w).Plan()"}, "In[1]:2 matmul, In[1]:3 silu, In[2]:3 exp"},
		{"a method", []string{"type net struct{ w tensor.Tensor }\nfunc (n net) apply(x tensor.Tensor) tensor.Tensor {\n\treturn x.MatMul(n.w)\n}",
			"n := net{tensor.Randn(3, 4).Eval()}\nx := tensor.Randn(2, 3).Eval()\nn.apply(x).Plan()"}, "In[1]:3 matmul"},
		{"a literal", []string{"f := func(x tensor.Tensor) tensor.Tensor {\n\treturn x.Exp()\n}", "x := tensor.Randn(2).Eval()\nf(x).Plan()"}, "In[1]:2 exp"},
		{"a loop", []string{"x := tensor.Randn(2).Eval()\nfor range 3 {\n\tx = x.Sin()\n}\nx.Plan()"}, "In[1]:3 sin"},
		{"a gradient", []string{"w := tensor.Ones(3).Param()\nloss := w.Exp().Sum()\ng := tensor.Grad(loss, w)\ng[0].Plan()"}, "In[1]:2 backward of exp, In[1]:2 exp"},
		{"a goroutine", []string{"var y tensor.Tensor; x := tensor.Randn(2).Eval()\ndone := make(chan bool)\ngo func() {\n\ty = x.Exp()\n\tclose(done)\n}()\n<-done\ny.Plan()"},
			"In[1] exp"},
	} {
		s, _ := newSession(t, Options{})
		var shown string
		for _, cell := range c.cells {
			r := s.Run(t.Context(), cell)
			if r.Err != nil {
				t.Fatalf("%s: %v", c.name, r.Err)
			}
			if len(r.Shown) > 0 {
				shown = r.Shown[len(r.Shown)-1].Text(0)
			}
		}
		var from []string
		for line := range strings.SplitSeq(strings.ReplaceAll(shown, `\n`, "\n"), "\n") {
			if text, ok := strings.CutPrefix(strings.TrimSpace(line), "from "); ok {
				from = append(from, text)
			}
		}
		slices.Sort(from)
		if got := strings.Join(slices.Compact(from), ", "); got != c.want {
			t.Errorf("%s: got %q, want %q, of\n%s", c.name, got, c.want, shown)
		}
	}
}

// Evaluations of code that is followed know the lines that are under way, in a loop whose lines take turns,
// when the same line is reached on another way, in a literal and in a goroutine, too. What they compute knows
// the lines that made it.
func TestStacks(t *testing.T) {
	s, _ := newSession(t, Options{})
	for _, cell := range []string{
		"func leaf(x tensor.Tensor) {\n\tx.Exp().Eval()\n\tx.Sin().Eval()\n}",
		"func one(x tensor.Tensor) {\n\tleaf(x)\n}\nfunc two(x tensor.Tensor) {\n\tx.Cos().Eval()\n\tleaf(x)\n}",
		"x := tensor.Ones(3).Eval()\nfunc run(n int) {\n\tfor range n {\n\t\tone(x)\n\t\ttwo(x)\n\t}\n}",
		"func away() {\n\tdone := make(chan bool)\n\tgo func() {\n\t\tleaf(x)\n\t\tdone <- true\n\t}()\n\t<-done\n}\nnear := func() {\n\tx.Tan().Eval()\n}",
		"func double(x tensor.Tensor) tensor.Tensor {\n\treturn x.MatMul(x.Transpose())\n}\nm := tensor.Ones(80, 80).Eval()",
	} {
		if r := s.Run(t.Context(), cell); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	turn := []string{"In[5]:1 In[3]:4 In[2]:2 In[1]:2", "In[5]:1 In[3]:4 In[2]:2 In[1]:3",
		"In[5]:1 In[3]:5 In[2]:5", "In[5]:1 In[3]:5 In[2]:6 In[1]:2", "In[5]:1 In[3]:5 In[2]:6 In[1]:3"}
	for _, c := range []struct {
		statements  string
		evals, made []string // made: nil, as evals
	}{
		{"run(12)", slices.Repeat(turn, 12), nil},
		{"away()", []string{"In[4]:4 In[1]:2", "In[4]:4 In[1]:3"}, nil},
		{"near()", []string{"In[5]:1 In[4]:10"}, nil},
		{"y := double(m); y.Eval()", []string{"In[5]:1"}, []string{"In[5]:1 In[5]:2"}},
	} {
		stmt, err := s.Compile(c.statements)
		if err != nil {
			t.Fatal(err)
		}
		record := profile.RecordTraced(t.Context(), func(ctx context.Context) {
			sampling := s.Sample(func() time.Duration { return time.Hour })
			defer sampling.Stop()
			if _, err := stmt.Run(ctx, 1); err != nil {
				t.Fatal(err)
			}
		})
		var evals, made []string
		for _, e := range record.Trace.Evals {
			evals = append(evals, strings.Join(e.Stack, " "))
		}
		for _, l := range record.Trace.Launches {
			for _, stack := range l.Makers() {
				made = append(made, strings.Join(stack, " "))
			}
		}
		if c.made == nil {
			c.made = c.evals
		}
		if !slices.Equal(evals, c.evals) || !slices.Equal(made, c.made) {
			t.Errorf("%s: asked for by %q, made by %q, want %q, %q", c.statements, evals, made, c.evals, c.made)
		}
	}
}

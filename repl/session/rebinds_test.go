package session

import (
	"strings"
	"testing"
)

// A parameter whose name is given to what is computed from it is named once, with the line that changes the
// parameter itself. Tensors that were none are left alone.
func TestParameterRebound(t *testing.T) {
	const grad = "g := tensor.Grad(w.Square().Sum(), w)[0]"
	for _, c := range []struct {
		name  string
		cells []string
		want  string // the notice, or nothing
	}{
		{"an operator", []string{"w := tensor.Ones(3).Param()", grad, "w -= 0.1*g"}, "In[3]:1 gave its name to a new tensor, which depends on all that came before. w.Set(w - 0.1*g) changes"},
		{"a difference", []string{"w := tensor.Ones(3).Param()", grad, "w -= g - 1"}, "w.Set(w - (g - 1)) changes"},
		{"a factor", []string{"w := tensor.Ones(3).Param()", "w *= 2"}, "w.Set(w * 2) changes"},
		{"a method", []string{"w := tensor.Ones(3).Param()", grad, "w = w.Sub(g.Mul(0.1))"}, "w.Set(w.Sub(g.Mul(0.1))) changes"},
		{"a loop in the same cell", []string{"w := tensor.Ones(3).Param()\nfor range 3 {\n\t" + grad + "\n\tw -= 0.1*g\n}"}, "In[1]:4 gave"},
		{"a function", []string{"w := tensor.Ones(3).Param()", "func step() {\n\t" + grad + "\n\tw -= 0.1*g\n}", "step()"}, "w is no parameter now: In[2]:3 gave its name"},
		{"a function that another calls", []string{"w := tensor.Ones(3).Param()", "func step() { w = w.Sub(1) }", "func all() { step() }", "all()"}, "In[2]:1 gave its name"},
		{"a function that is not called", []string{"w := tensor.Ones(3).Param()", "func step() { w -= 1 }"}, ""},
		{"a function's own", []string{"func step(w tensor.Tensor) {\n\t" + grad + "\n\tw -= 0.1*g\n}", "w := tensor.Ones(3).Param()", "step(w)"},
			"w of step is another tensor after In[1]:3: the one that its caller gives it stays as it was. w.Set(w - 0.1*g) changes that itself"},
		{"a function's own, in a loop", []string{"func fit(w tensor.Tensor) (loss float64) {\n\tfor range 3 {\n\t\tl := w.Square().Sum()\n\t\tw -= 0.1*tensor.Grad(l, w)[0]\n\t\tloss = l.Item()\n\t}\n\treturn\n}", "w := tensor.Ones(1)"}, "w of fit is another tensor after In[1]:4"},
		{"a function that returns it", []string{"func step(w tensor.Tensor) tensor.Tensor {\n\t" + grad + "\n\tw -= 0.1*g\n\treturn w\n}", "w := tensor.Ones(3).Param()\nv := step(w)"}, ""},
		{"a function that keeps it", []string{"kept := []tensor.Tensor{}", "func step(w tensor.Tensor) {\n\t" + grad + "\n\tw -= 0.1*g\n\tkept = append(kept, w)\n}", "w := tensor.Ones(3)"}, ""},
		{"a function that takes no gradient", []string{"func f(w tensor.Tensor) float64 { w = w.Add(1); return w.Sum().Item() }", "w := tensor.Ones(3).Param()", "f(w)"}, ""},
		{"a function that writes an element", []string{"func f(w tensor.Tensor) { w[0] = -1 }", "w := tensor.Ones(3)", "f(w)"},
			"w of f is another tensor after In[1]:1: the one that its caller gives it stays as it was. return w gives the new one back"},
		{"a function that returns what it wrote", []string{"func f(w tensor.Tensor) tensor.Tensor { w[0] = -1; return w }", "w := tensor.Ones(3)", "w = f(w)"}, ""},
		{"set", []string{"w := tensor.Ones(3).Param()", grad, "w.Set(w - 0.1*g)"}, ""},
		{"made one again", []string{"w := tensor.Ones(3).Param()", grad, "w -= g\nw = w.Param()"}, ""},
		{"no parameter", []string{"w := tensor.Ones(3)", "w -= 0.1*w", "w = w.Add(1)"}, ""},
		{"something else", []string{"w := tensor.Ones(3).Param()", "w = tensor.Zeros(3)"}, ""},
		{"within a function", []string{"w := tensor.Ones(3).Param()", "func() {\n\tw := w\n\tw -= 1\n}()"}, ""},
	} {
		s, said := newSession(t, Options{})
		for _, cell := range append(c.cells, "w.Shape()") {
			if r := s.Run(t.Context(), cell); r.Err != nil {
				t.Fatalf("%s: %v", c.name, r.Err)
			}
		}
		got := said.String()
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	s, said := newSession(t, Options{})
	for _, cell := range []string{"w := tensor.Ones(3).Param()", "w -= 1", "w = w.Param()", "w -= 1"} {
		s.Run(t.Context(), cell)
	}
	if n := strings.Count(said.String(), "is no parameter now"); n != 1 {
		t.Errorf("said %d times, want once", n)
	}
}

// Go's ^ is no power: the error says what is.
func TestPowerOfHabit(t *testing.T) {
	s, _ := newSession(t, Options{})
	s.Run(t.Context(), "x := tensor.Full(3, 2)")
	if r := s.Run(t.Context(), "x ^ 2"); r.Err == nil || !strings.Contains(r.Err.Error(), "x.Pow(2) is a power") {
		t.Errorf("got %v, want that x.Pow(2) is a power", r.Err)
	}
	if r := s.Run(t.Context(), "x.Pow(2).Sum().Item() + x.Square().Sum().Item()"); r.Err != nil || !strings.HasPrefix(r.Shown[0].Text(0), "36") {
		t.Errorf("got %v and %v, want 36", r.Shown, r.Err)
	}
}

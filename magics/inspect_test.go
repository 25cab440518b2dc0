package magics

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/engine/tensor/methods"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session"
)

func TestStatistics(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float32
		want   string // of a page of 40 columns
	}{
		{"small", []float32{0, 1, 2, 3}, "min 0 · max 3 · mean 1.5 · std 1.118 · 1\nzero · 0 NaN · 0 Inf\n0 █     █      █     █ 3"},
		{"not finite", []float32{1, float32(math.NaN()), float32(math.Inf(-1)), 1}, "min 1 · max 1 · mean 1 · std 0 · 0 zero\n· 1 NaN · 1 Inf"},
		{"nothing finite", []float32{float32(math.NaN())}, "0 zero · 1 NaN · 0 Inf"},
		{"empty", nil, "no elements"},
	} {
		s := statistics(tensor.From(c.values, len(c.values)))
		if got := s.text(40); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	if got := statistics(tensor.From([]complex64{3 + 4i, 0})).text(60); !strings.HasPrefix(got, "of |z|: min 0 · max 5 ·") {
		t.Errorf("complex numbers: got\n%s", got)
	}
	total := 0
	s := statistics(tensor.Arange(0, 3*statsChunk+7, 1))
	for _, n := range s.bins {
		total += n
	}
	if want := 3*statsChunk + 7; s.count != want || total != want || s.min != 0 || s.max != float64(want-1) || math.Abs(s.mean-float64(want-1)/2) > 1 {
		t.Errorf("several chunks: got %+v", s)
	}
}

// What name? and name?? show, as far as it must not vary.
func TestInspection(t *testing.T) {
	asItIs := func(v display.Value, _ int) display.Value { return v } // for its other renderings
	s, err := session.New(session.Options{Commands: Table{}, Render: asItIs})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	show := func(cell string) display.Value {
		r := s.Run(t.Context(), cell)
		if r.Err != nil {
			t.Fatalf("%s: %v", cell, r.Err)
		}
		if len(r.Shown) == 0 {
			return nil
		}
		return r.Shown[len(r.Shown)-1]
	}
	show("x := tensor.From([]float32{1, 2, 3, 4}, 2, 2)\ny := x.MatMul(x)\nlist := make([]string, 90)\nmlp := nn.NewLinear(2, 3)")
	show("// scale multiplies.\nfunc scale(v, by float64) float64 { return v * by }\ntype Point struct {\n\tX int // across\n}")
	for _, c := range []struct {
		cell string
		want []string
		not  string
	}{
		{"x?", []string{"x  tensor.Tensor   var, In[1]:1", "f32[2 2] cpu, 16 B, evaluated", "min 1 · max 4 · mean 2.5", "[[1. 2.]", "linear algebra           MatMul Outer", "x?? shows all"}, "type Tensor struct"},
		{"y?", []string{"not evaluated: ?? shows its plan"}, "min"},
		{"y??", []string{"1 launch on cpu", "v0 = matmul(a0, a0) f32[2 2]"}, "methods"},
		{"scale?", []string{"scale  func(v float64, by float64) float64   func, In[2]:2", "scale multiplies."}, "return"},
		{"scale??", []string{"func scale(v, by float64) float64 { return v * by }"}, "no source"},
		{"Point??", []string{"type Point struct {"}, ""},
		{"mlp?", []string{"parameter  type      elements  trained", "weight", "6 parameters, 6 trained"}, ""},
		{"for?", []string{"for   keyword", "for i, v := range x"}, ""},
		{"strings?", []string{"functions (", "strings?? shows all"}, "func Clone"},
		{"strings??", []string{"Clone(s string) string", "Clone returns a fresh copy of s."}, "shows all"},
		{"len??", []string{"no source: it is part of the language"}, ""},
		{"nn.Linear.Forward??", []string{"func (l *Linear) Forward(x tensor.Tensor) tensor.Tensor {"}, ""},
	} {
		v := show(c.cell)
		for _, width := range []int{40, 80} {
			for _, line := range strings.Split(v.Text(width), "\n") {
				if width == 80 && len([]rune(line)) > 100 && !strings.Contains(c.cell, "??") {
					t.Errorf("%s: %d columns in %q", c.cell, len([]rune(line)), line)
				}
			}
		}
		text := v.Text(100)
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", c.cell, want, text)
			}
		}
		if c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s: %q in\n%s", c.cell, c.not, text)
		}
		if n := strings.Count(text, "\n"); n > 36 && !strings.HasSuffix(c.cell, "??") {
			t.Errorf("%s: %d lines do not fit a screen", c.cell, n)
		}
	}
}

// The methods of a tensor stand in groups, the ones that people need first, on any screen.
func TestMethodsByPurpose(t *testing.T) {
	s, err := session.New(session.Options{Commands: Table{}, Render: func(v display.Value, _ int) display.Value { return v }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r := s.Run(t.Context(), "x := tensor.Ones(3)"); r.Err != nil {
		t.Fatal(r.Err)
	}
	for _, cell := range []string{"x?", "x??", "tensor.Tensor?"} {
		r := s.Run(t.Context(), cell)
		if r.Err != nil || len(r.Shown) == 0 {
			t.Fatalf("%s: %v", cell, r.Err)
		}
		for _, width := range []int{40, 80} {
			text := r.Shown[0].Text(width)
			if cell == "x?" && strings.Count(text, "\n") > 52 {
				t.Errorf("%s at %d columns has %d lines", cell, width, strings.Count(text, "\n"))
			}
			if cell == "x??" { // its plan
				continue
			}
			for _, line := range strings.Split(text, "\n") {
				if runewidth.StringWidth(line) > width && !strings.HasSuffix(line, "unexported fields") {
					t.Errorf("%s at %d columns: %q", cell, width, line)
				}
			}
			for _, g := range methods.Groups {
				_, after, ok := strings.Cut(text, "\n    "+g.Title)
				if !ok || !slices.Contains(strings.Fields(after)[:1], g.Names[0]) {
					t.Errorf("%s at %d columns: no %s, beginning with %s, in\n%s", cell, width, g.Title, g.Names[0], text)
				}
			}
		}
	}
}

func TestColumns(t *testing.T) {
	names := strings.Fields("a bb ccc dddd eeeee")
	for _, c := range []struct {
		width, rows int
		want        string
	}{
		{80, 5, "  a      bb     ccc    dddd   eeeee"},
		{16, 5, "  a      dddd\n  bb     eeeee\n  ccc"},
		{5, 2, "  a\n  bb\n  … 3 more"},
	} {
		if got := columns(names, c.width, c.rows); got != c.want {
			t.Errorf("%d columns, %d rows: got\n%s\nwant\n%s", c.width, c.rows, got, c.want)
		}
	}
}

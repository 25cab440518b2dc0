package tensor

import (
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A goroutine may have looked up what a tensor holds, and not yet made anything of it, when a compiled
// function gives the tensor a new value elsewhere in memory: it goes on with the new value, in each way in
// which a node is used.
func TestLookedUpBeforeACompiledStep(t *testing.T) {
	for name, use := range map[string]func(n *ir.Node) []float32{
		"a reading":    func(n *ir.Node) []float32 { return FromBytes(dtype.F32, hostBytes(n), 4).Floats() },
		"a snapshot":   func(n *ir.Node) []float32 { return wrap(n).Floats() },
		"a view":       func(n *ir.Node) []float32 { return wrap(apply(ir.Reshape, ir.Attr{Shape: []int{2, 2}}, n)).Floats() },
		"an operation": func(n *ir.Node) []float32 { return wrap(apply(ir.Mul, ir.Attr{}, n, Ones(4).node("mul"))).Floats() },
		"what is set":  func(n *ir.Node) []float32 { return wrap(share("set", n, n)).Floats() },
		"a printed value": func(n *ir.Node) []float32 {
			return FromBytes(dtype.F32, shownValues(n, [][]int{{0, 1, 2, 3}}), 4).Floats()
		},
	} {
		for before := range 4 {
			w := From([]float64{1, 2, 3, 4}).Param()
			step := Compile(func(...Tensor) []Tensor {
				w.Set(w.Mul(2))
				return nil
			})
			for range before {
				step()
			}
			want := w.Mul(4).Floats()
			step() // gives w a value that no operation has read
			n := w.node("test")
			step()
			var got []float32
			if err := Try(func() { got = use(n) }); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s, after %d calls: got %v, %v, want %v", name, before, got, err, want)
			}
		}
	}
}

// The same where a compiled function has looked the tensor up and not yet begun to compute: the function for
// the varying number is called in between.
func TestCompiledBesideACompiledStep(t *testing.T) {
	for name, c := range map[string]struct {
		of       func(w, x Tensor) Tensor
		argument bool
	}{
		"by a handle":    {of: func(w, x Tensor) Tensor { return w.Mul(x) }},
		"as an argument": {of: func(w, x Tensor) Tensor { return w.Mul(x) }, argument: true},
		"transposed":     {of: func(w, x Tensor) Tensor { return w.Reshape(2, 2).Transpose().MatMul(Ones(2, 2)).Mul(x) }},
		"twice":          {of: func(w, x Tensor) Tensor { return w.Mul(x).Sub(w.Sum()) }},
	} {
		w := From([]float64{1, 2, 3, 4}).Param()
		step := Compile(func(...Tensor) []Tensor {
			w.Set(w.Mul(2))
			return nil
		})
		between := false
		f := Compile(func(args ...Tensor) []Tensor {
			w := w
			if c.argument {
				w = args[0]
			}
			return []Tensor{c.of(w, Varying(func() float64 {
				if between {
					between = false
					step()
				}
				return 1
			}))}
		})
		var args []Tensor
		if c.argument {
			args = []Tensor{w}
		}
		for range 5 { // the fourth and the sixth call are not traced
			f(args...)
			step()
		}
		want := c.of(From(w.Mul(4).Floats()), Ones()).Floats()
		step() // gives w a value that no operation has read
		between = true
		var got []float32
		if err := Try(func() { got = f(args...)[0].Floats() }); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, want)
		}
		if between {
			t.Errorf("%s: no step was made in between", name)
		}
	}
}

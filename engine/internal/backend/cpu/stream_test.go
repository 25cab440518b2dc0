package cpu

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// TestStreamsChangeNoResult computes the same with stores to the caches and past them.
func TestStreamsChangeNoResult(t *testing.T) {
	defer func(old func() int) { streamBytes = old }(streamBytes)
	shape := []int{1050, 1000}
	for _, c := range []struct {
		op   ir.Op
		kind backend.Kind
	}{{ir.Add, backend.Map}, {ir.Softmax, backend.Row}, {ir.SoftmaxGrad, backend.Row}} {
		b := newBuilder(c.kind, 1)
		in := backend.Inst{Op: c.op, DType: dtype.F32, Shape: shape, Args: []backend.Ref{b.in(dtype.F32, shape...)}}
		if c.op != ir.Softmax {
			in.Args = append(in.Args, b.in(dtype.F32, shape...))
		}
		b.out(b.inst(in))
		b.g.Outputs[0].Final = true
		var results [2][][]byte
		for i, least := range []int{0, math.MaxInt} {
			streamBytes = func() int { return least }
			if got := streams(&b.g, &b.g.Outputs[0]); got != (i == 0) {
				t.Fatalf("%v: stores go past the caches: got %t, want %t", c.op, got, i == 0)
			}
			var err error
			be := New(2)
			results[i], err = b.run(be)
			be.Close()
			if err != nil {
				t.Fatal(err)
			}
		}
		if !slices.EqualFunc(results[0], results[1], bytes.Equal) {
			t.Errorf("%v: stores past the caches change the result", c.op)
		}
	}
}

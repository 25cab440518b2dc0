package plan

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A step is one view op.
type step struct {
	op    ir.Op
	ints  []int // axes of permute and flip, start-stop-step of slice
	shape []int // of the result
}

// A chain of steps leads from a value to a view of it.
type chain []step

// stepOf returns the step that a view op with these settings makes.
func stepOf(op ir.Op, attr *ir.Attr, shape []int) step {
	s := step{op: op, shape: shape}
	switch op {
	case ir.Permute, ir.Flip:
		s.ints = attr.Axes
	case ir.Slice:
		s.ints = attr.Ints
	}
	return s
}

func reshape(shape []int) step { return step{op: ir.Reshape, shape: shape} }

// then appends steps and leaves out what changes nothing. from is the shape at the chain's start.
func (c chain) then(from []int, steps ...step) chain {
	r := make(chain, len(c), len(c)+len(steps))
	copy(r, c)
	for _, s := range steps {
		if len(r) > 0 {
			switch last := r[len(r)-1]; {
			case s.op == ir.Reshape && last.op == ir.Reshape: // only the last of two reshapes matters
				r = r[:len(r)-1]
			case s.op == ir.Permute && last.op == ir.Permute:
				r, s = r[:len(r)-1], last.permuted(s)
			}
		}
		if s.op == ir.Permute && slices.IsSorted(s.ints) {
			continue
		}
		before := from
		if len(r) > 0 {
			before = r[len(r)-1].shape
		}
		if (s.op == ir.Reshape || s.op == ir.Expand) && slices.Equal(before, s.shape) {
			continue
		}
		r = append(r, s)
	}
	return r
}

// permuted is the permutation that does what s and then t do.
func (s step) permuted(t step) step {
	axes := make([]int, len(t.ints))
	for i, a := range t.ints {
		axes[i] = s.ints[a]
	}
	return step{op: ir.Permute, ints: axes, shape: t.shape}
}

// apply returns the layout that the chain makes of l, or false if a reshape would need a copy.
func (c chain) apply(l ir.Layout) (ir.Layout, bool) {
	for _, s := range c {
		switch s.op {
		case ir.Reshape:
			var ok bool
			if l, ok = l.Reshape(s.shape); !ok {
				return l, false
			}
		case ir.Permute:
			l = l.Permute(s.ints)
		case ir.Expand:
			l = l.Expand(s.shape)
		case ir.Slice:
			l = l.Slice(s.ints)
		case ir.Flip:
			l = l.Flip(s.ints)
		}
	}
	return l, true
}

// direct says whether the chain leaves every element at its place in C order.
func (c chain) direct() bool { return len(c) == 0 || len(c) == 1 && c[0].op == ir.Reshape }

// repeats says whether the chain shows elements more than once.
func (c chain) repeats() bool {
	return slices.ContainsFunc(c, func(s step) bool { return s.op == ir.Expand })
}

// key is the same for equal chains only.
func (c chain) key() string {
	if len(c) == 0 {
		return ""
	}
	var b []byte
	for _, s := range c {
		b = append(b, byte(s.op))
		b = appendInts(b, s.ints)
		b = appendInts(b, s.shape)
	}
	return string(b)
}

func appendFloats(b []byte, list []float64) []byte {
	b = binary.AppendVarint(b, int64(len(list)))
	for _, x := range list {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

func appendInts(b []byte, list []int) []byte {
	b = binary.AppendVarint(b, int64(len(list)))
	for _, n := range list {
		b = binary.AppendVarint(b, int64(n))
	}
	return b
}

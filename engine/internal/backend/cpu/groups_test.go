package cpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/ref"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/testing/submit"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// A builder makes a group and the memory that it runs on.
type builder struct {
	g       backend.Group
	data    [][]byte // by buffer; nil for outputs
	sizes   []int
	scalars []ir.Scalar
	rng     *rand.Rand
}

func newBuilder(kind backend.Kind, seed uint64) *builder {
	return &builder{g: backend.Group{Name: "test", Kind: kind}, rng: rand.New(rand.NewPCG(seed, 11))}
}

// in adds a contiguous input with normal numbers, or small integers.
func (b *builder) in(t dtype.Type, shape ...int) backend.Ref {
	return b.fill(t, shape, func(int) float64 {
		if t.Float() {
			return b.rng.NormFloat64()
		}
		return float64(b.rng.IntN(5))
	})
}

func (b *builder) fill(t dtype.Type, shape []int, f func(i int) float64) backend.Ref {
	n := ir.Size(shape)
	mem := make([]byte, n*t.Size())
	for i := range n {
		put(mem, t, i, f(i))
	}
	return b.memory(t, mem, ir.Contiguous(shape))
}

func (b *builder) memory(t dtype.Type, mem []byte, l ir.Layout) backend.Ref {
	b.data, b.sizes = append(b.data, mem), append(b.sizes, len(mem))
	b.g.Inputs = append(b.g.Inputs, backend.Input{DType: t, Layout: l, Buf: len(b.data) - 1})
	return backend.In(len(b.g.Inputs) - 1)
}

// flipped adds an input that runs backwards through every axis and leaves gaps.
func (b *builder) flipped(t dtype.Type, shape ...int) backend.Ref {
	r := b.in(t, append([]int{2}, shape...)...)
	i, _ := r.Input()
	l := &b.g.Inputs[i].Layout
	l.Shape = shape
	l.Stride = append([]int(nil), l.Stride[1:]...)
	for a, d := range shape {
		l.Offset += max(0, d-1) * l.Stride[a]
		l.Stride[a] = -l.Stride[a]
	}
	return r
}

func (b *builder) scalar(t dtype.Type, v ir.Scalar) backend.Ref {
	b.scalars = append(b.scalars, v)
	b.g.Inputs = append(b.g.Inputs, backend.Input{DType: t, Buf: -1, Scalar: len(b.scalars) - 1})
	return backend.In(len(b.g.Inputs) - 1)
}

func (b *builder) inst(in backend.Inst) backend.Ref {
	b.g.Insts = append(b.g.Insts, in)
	return backend.Ref{Index: len(b.g.Insts) - 1}
}

func (b *builder) out(r backend.Ref) {
	in := &b.g.Insts[r.Index]
	o := backend.Output{Value: r, Buf: len(b.data), DType: in.DType, Shape: in.Shape}
	if in.Outs != nil {
		o.DType, o.Shape = in.Outs[r.Result].DType, in.Outs[r.Result].Shape
	}
	b.data, b.sizes = append(b.data, nil), append(b.sizes, ir.Size(o.Shape)*o.DType.Size())
	b.g.Outputs = append(b.g.Outputs, o)
}

// outs adds all results of an instruction.
func (b *builder) outs(r backend.Ref) {
	for i := range b.g.Insts[r.Index].Outs {
		b.out(backend.Ref{Index: r.Index, Result: i})
	}
}

// run returns the outputs that a backend computes.
func (b *builder) run(be backend.Backend) ([][]byte, error) {
	k, err := be.Compile(&b.g)
	if err != nil {
		return nil, err
	}
	cmd := submit.Cmd{Kernel: k, Scalars: b.scalars}
	for i, n := range b.sizes {
		buf, err := be.Alloc(n)
		if err != nil {
			return nil, err
		}
		if b.data[i] != nil {
			if err := be.Upload(buf, 0, b.data[i]); err != nil {
				return nil, err
			}
		}
		cmd.Bufs = append(cmd.Bufs, backend.Slice{Buf: buf})
	}
	var outs [][]byte
	for _, times := range [][]time.Duration{nil, make([]time.Duration, 1)} { // a kernel must work again, also where it is timed
		if err := submit.Run(context.Background(), be, []submit.Cmd{cmd}, times); err != nil {
			return nil, err
		}
		before := outs
		outs = nil
		for _, o := range b.g.Outputs {
			host := make([]byte, b.sizes[o.Buf])
			if err := be.Download(context.Background(), host, cmd.Bufs[o.Buf].Buf, 0); err != nil {
				return nil, err
			}
			outs = append(outs, host)
		}
		if before != nil && b.g.Kind == backend.Map && !slices.EqualFunc(before, outs, bytes.Equal) {
			return nil, errors.New("got other bits where launches are timed")
		}
	}
	return outs, nil
}

// check compares the cpu backend with ref: floats within tolerance of the largest magnitude, the rest
// exactly.
func (b *builder) check(t *testing.T, tolerance float64) {
	t.Helper()
	exact, err := ref.Open()
	if err != nil {
		t.Fatal(err)
	}
	want, err := b.run(exact)
	if err != nil {
		t.Fatal(err)
	}
	for _, threads := range []int{1, 3} {
		be := New(threads)
		got, err := b.run(be)
		be.Close()
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range b.g.Outputs {
			if err := differ(o, got[i], want[i], tolerance); err != nil {
				t.Fatalf("%d threads: output %d: %v", threads, i, err)
			}
		}
	}
}

func differ(o backend.Output, got, want []byte, tolerance float64) error {
	switch o.DType {
	case dtype.F16:
		tolerance = max(tolerance, 0x1p-10)
	case dtype.BF16:
		tolerance = max(tolerance, 0x1p-7)
	}
	largest := 0.0
	n := ir.Size(o.Shape)
	for i := range n {
		if v := math.Abs(element(want, o.DType, i)); v <= math.MaxFloat64 {
			largest = max(largest, v)
		}
	}
	for i := range n {
		x, y := element(got, o.DType, i), element(want, o.DType, i)
		same := x == y || x != x && y != y
		if !same && !(o.DType.Float() && math.Abs(x-y) <= tolerance*largest) {
			return fmt.Errorf("%v%v: element %d: got %g, want %g (largest %g)", o.DType, o.Shape, i, x, y, largest)
		}
	}
	return nil
}

func put(b []byte, t dtype.Type, i int, v float64) {
	ir.Append(t, b[i*t.Size():i*t.Size()], ir.Convert(ir.Scalar{F: v}, dtype.F64, t))
}

func element(b []byte, t dtype.Type, i int) float64 {
	return ir.Convert(ir.Load(t, b[i*t.Size():]), t, dtype.F64).F
}

func TestReduce(t *testing.T) {
	ops := []ir.Op{ir.Sum, ir.Prod, ir.ReduceMax, ir.ReduceMin, ir.Mean}
	every := 6
	switch {
	case long.Tests():
		every = 1
	case long.CI():
		every = 3 // each pair of two is left
	}
	for n, c := range []struct {
		shape, axes []int
	}{
		{[]int{7}, []int{0}}, {[]int{}, nil}, {[]int{5, 1}, []int{1}}, {[]int{40, 300}, []int{1}}, {[]int{40, 300}, []int{0}},
		{[]int{40, 300}, []int{0, 1}}, {[]int{3, 50, 7}, []int{1}}, {[]int{3, 50, 7}, []int{0, 2}}, {[]int{2, 3, 4, 5}, []int{1, 3}},
		{[]int{2, 3, 4, 5}, []int{0, 2}}, {[]int{600, 3}, []int{1}}, {[]int{600, 3}, []int{0}}, {[]int{3, 40_003}, []int{1}},
		{[]int{40_003, 3}, []int{0}}, {[]int{4, 0, 3}, []int{1}}, {[]int{0, 4}, []int{1}}, {[]int{70, 1100}, []int{0}}, {[]int{3, 5}, nil},
	} {
		for i, op := range ops {
			for k, typ := range testTypes {
				if op == ir.Mean && !typ.Float() || (n+i+k)%every != 0 {
					continue
				}
				t.Run(fmt.Sprint(op, typ, c.shape, c.axes), func(t *testing.T) {
					reduced := append([]int{}, c.shape...)
					for _, a := range c.axes {
						reduced[a] = 1
					}
					b := newBuilder(backend.Reduce, uint64(i))
					x := b.flipped(typ, c.shape...)
					if i%2 == 0 {
						x = b.in(typ, c.shape...)
					}
					// Prologue, reduction, epilogue.
					if op != ir.Prod {
						x = b.inst(backend.Inst{Op: ir.Neg, DType: typ, Shape: c.shape, Args: []backend.Ref{x}})
					}
					s := b.inst(backend.Inst{Op: op, Attr: ir.Attr{Axes: c.axes}, DType: typ, Shape: reduced, Args: []backend.Ref{x}})
					if op == ir.Sum {
						top := b.inst(backend.Inst{Op: ir.ReduceMax, Attr: ir.Attr{Axes: c.axes}, DType: typ, Shape: reduced, Args: []backend.Ref{x}})
						b.out(top)
						s = b.inst(backend.Inst{Op: ir.Sub, DType: typ, Shape: reduced, Args: []backend.Ref{s, top}})
					}
					b.out(s)
					b.check(t, 2e-6)
				})
			}
		}
	}
}

func TestRowOps(t *testing.T) {
	for i, op := range []ir.Op{ir.Softmax, ir.LogSoftmax, ir.SoftmaxGrad, ir.LogSoftmaxGrad, ir.LayerNorm, ir.LayerNormGrad, ir.RMSNorm, ir.RMSNormGrad} {
		for n, shape := range [][]int{{1}, {9}, {5, 17}, {300, 3}, {2, 3, 64}, {7, 5000}, {200, 768}, {0, 8}, {3, 0}} {
			if op == ir.RMSNormGrad && shape[0] == 1 {
				continue // all digits cancel
			}
			for k, typ := range []dtype.Type{dtype.F32, dtype.BF16} {
				if (i+n+k)%3 > 0 && !long.CI() {
					continue
				}
				t.Run(fmt.Sprint(op, typ, shape), func(t *testing.T) {
					b := newBuilder(backend.Row, 5)
					last := shape[len(shape)-1:]
					x := b.in(typ, shape...)
					// A prologue and an epilogue, except for bf16.
					if typ == dtype.F32 {
						x = b.inst(backend.Inst{Op: ir.Add, DType: typ, Shape: shape, Args: []backend.Ref{x, b.flipped(typ, shape...)}})
					}
					same := ir.Type{DType: typ, Shape: shape}
					vector := ir.Type{DType: typ, Shape: last}
					in := backend.Inst{Op: op, Attr: ir.Attr{Float: 1e-5}, DType: typ, Shape: shape, Args: []backend.Ref{x}}
					switch op {
					case ir.SoftmaxGrad, ir.LogSoftmaxGrad:
						in.Args = append(in.Args, b.in(typ, shape...))
					case ir.LayerNorm:
						in.Args = append(in.Args, b.in(typ, last...), b.flipped(typ, last...))
					case ir.RMSNorm:
						in.Args = append(in.Args, b.in(typ, last...))
					case ir.LayerNormGrad:
						in.Args = append(in.Args, b.in(typ, last...), b.in(typ, shape...))
						in.Outs = []ir.Type{same, vector, vector}
					case ir.RMSNormGrad:
						in.Args = append(in.Args, b.in(typ, last...), b.in(typ, shape...))
						in.Outs = []ir.Type{same, vector}
					}
					r := b.inst(in)
					if in.Outs != nil {
						b.outs(r)
					} else {
						if typ == dtype.F32 {
							r = b.inst(backend.Inst{Op: ir.Mul, DType: typ, Shape: shape, Args: []backend.Ref{r, b.in(typ, shape...)}})
						}
						b.out(r)
					}
					b.check(t, 4e-6)
				})
			}
		}
	}
}

func TestSoftmaxOfInfinities(t *testing.T) {
	inf := math.Inf(1)
	rows := [][]float64{{-inf, 0, 1}, {-inf, -inf, -inf}, {inf, 0, 1}, {math.NaN(), 0, 1}, {3e38, -3e38, 0}}
	for _, op := range []ir.Op{ir.Softmax, ir.LogSoftmax} {
		b := newBuilder(backend.Row, 1)
		x := b.fill(dtype.F32, []int{len(rows), 3}, func(i int) float64 { return rows[i/3][i%3] })
		b.out(b.inst(backend.Inst{Op: op, DType: dtype.F32, Shape: []int{len(rows), 3}, Args: []backend.Ref{x}}))
		t.Run(fmt.Sprint(op), func(t *testing.T) { b.check(t, 1e-6) })
	}
}

func TestCrossEntropy(t *testing.T) {
	for _, c := range []struct{ rows, classes int }{{1, 1}, {6, 10}, {50, 257}, {3, 20_000}, {0, 5}} {
		for _, smoothing := range []float64{0, 0.1} {
			for _, typ := range []dtype.Type{dtype.F32, dtype.F16} {
				t.Run(fmt.Sprint(c, smoothing, typ), func(t *testing.T) {
					rows := ir.Type{DType: dtype.F32, Shape: []int{c.rows}}
					b := newBuilder(backend.Row, 3)
					target := func(i int) float64 {
						if i%5 == 4 {
							return -100
						}
						return float64(i * 7919 % c.classes)
					}
					attr := ir.Attr{Float: smoothing, Index: -100}
					x, y := b.in(typ, c.rows, c.classes), b.fill(dtype.I64, []int{c.rows}, target)
					b.outs(b.inst(backend.Inst{Op: ir.CrossEntropy, Attr: attr, Outs: []ir.Type{rows, rows}, Args: []backend.Ref{x, y}}))
					b.check(t, 2e-6)

					b = newBuilder(backend.Row, 3)
					x, y = b.in(typ, c.rows, c.classes), b.fill(dtype.I64, []int{c.rows}, target)
					lse := b.fill(dtype.F32, []int{c.rows}, func(int) float64 { return 9 })
					b.out(b.inst(backend.Inst{Op: ir.CrossEntropyGrad, Attr: attr, DType: typ, Shape: []int{c.rows, c.classes},
						Args: []backend.Ref{x, y, lse, b.scalar(dtype.F32, ir.Scalar{F: 0.25})}}))
					b.check(t, 2e-6)
				})
			}
		}
	}
}

// single checks an instruction that stands alone.
func single(t *testing.T, name string, tolerance float64, build func(b *builder) backend.Inst) {
	t.Run(name, func(t *testing.T) {
		b := newBuilder(backend.Single, 9)
		in := build(b)
		r := b.inst(in)
		if in.Outs != nil {
			b.outs(r)
		} else {
			b.out(r)
		}
		b.check(t, tolerance)
	})
}

// testTypes are numbers of every size and kind; the conformance suite has all.
var testTypes = []dtype.Type{dtype.F32, dtype.F16, dtype.BF16, dtype.F64, dtype.I32, dtype.U64, dtype.U8}

func TestCopies(t *testing.T) {
	for _, typ := range append(testTypes, dtype.Bool) {
		for _, c := range []struct{ shape, ints, padded []int }{
			{[]int{3}, []int{2, 1}, []int{6}}, {[]int{4, 5}, []int{1, 0, 0, 3}, []int{5, 8}}, {[]int{2, 3, 4}, []int{0, 1, 2, 2, 1, 0}, []int{3, 7, 5}},
			{[]int{0, 3}, []int{1, 1, 0, 0}, []int{2, 3}}, {[]int{300, 40}, []int{3, 4, 5, 6}, []int{307, 51}}, {[]int{}, nil, []int{}},
		} {
			single(t, fmt.Sprint("pad", typ, c.shape), 0, func(b *builder) backend.Inst {
				return backend.Inst{Op: ir.Pad, Attr: ir.Attr{Ints: c.ints}, DType: typ, Shape: c.padded,
					Args: []backend.Ref{b.flipped(typ, c.shape...), b.scalar(typ, ir.Scalar{F: 1, I: 1})}}
			})
		}
		for _, axis := range []int{0, 1, 2} {
			single(t, fmt.Sprint("concat", typ, axis), 0, func(b *builder) backend.Inst {
				in := backend.Inst{Op: ir.Concat, Attr: ir.Attr{Axis: axis}, DType: typ, Shape: []int{3, 4, 5}}
				total := 0
				for i, n := range []int{2, 0, 7} {
					shape := []int{3, 4, 5}
					shape[axis] = n
					total += n
					if i == 0 {
						in.Args = append(in.Args, b.flipped(typ, shape...))
					} else {
						in.Args = append(in.Args, b.in(typ, shape...))
					}
				}
				in.Shape[axis] = total
				return in
			})
		}
		if typ == dtype.Bool {
			continue
		}
		for axis := range 2 {
			single(t, fmt.Sprint("iota", typ, axis), 0, func(b *builder) backend.Inst {
				return backend.Inst{Op: ir.Iota, Attr: ir.Attr{Axis: axis}, DType: typ, Shape: []int{70, 200}}
			})
		}
	}
}

func TestIndexing(t *testing.T) {
	below := func(b *builder, typ dtype.Type, n int, shape ...int) backend.Ref {
		return b.fill(typ, shape, func(int) float64 { return float64(b.rng.IntN(n)) })
	}
	for _, typ := range testTypes {
		for axis, shape := range [][]int{{6, 9}, {4, 30}, {2, 3, 5}} {
			n := shape[axis]
			for _, index := range [][]int{{}, {7}, {2, 50}, {0}} {
				taken := append(append(append([]int{}, shape[:axis]...), index...), shape[axis+1:]...)
				single(t, fmt.Sprint("gather", typ, shape, axis, index), 0, func(b *builder) backend.Inst {
					return backend.Inst{Op: ir.Gather, Attr: ir.Attr{Axis: axis}, DType: typ, Shape: taken,
						Args: []backend.Ref{b.flipped(typ, shape...), below(b, dtype.I64, n, index...)}}
				})
				single(t, fmt.Sprint("scatter_add", typ, shape, axis, index), 1e-6, func(b *builder) backend.Inst {
					return backend.Inst{Op: ir.ScatterAdd, Attr: ir.Attr{Axis: axis}, DType: typ, Shape: shape,
						Args: []backend.Ref{b.flipped(typ, shape...), below(b, dtype.I32, n, index...), b.in(typ, taken...)}}
				})
			}
			along := append([]int{}, shape...)
			along[axis] = 4
			single(t, fmt.Sprint("gather_along", typ, shape, axis), 0, func(b *builder) backend.Inst {
				return backend.Inst{Op: ir.GatherAlong, Attr: ir.Attr{Axis: axis}, DType: typ, Shape: along,
					Args: []backend.Ref{b.flipped(typ, shape...), below(b, dtype.I64, n, along...)}}
			})
			single(t, fmt.Sprint("scatter_along", typ, shape, axis), 1e-6, func(b *builder) backend.Inst {
				return backend.Inst{Op: ir.ScatterAlong, Attr: ir.Attr{Axis: axis}, DType: typ, Shape: shape,
					Args: []backend.Ref{b.in(typ, shape...), below(b, dtype.I64, n, along...), b.flipped(typ, along...)}}
			})
		}
	}
}

// Large enough for several ranges of rows.
func TestScatterAddOfManyRows(t *testing.T) {
	single(t, "embedding", 1e-6, func(b *builder) backend.Inst {
		index := b.fill(dtype.I64, []int{3000}, func(i int) float64 { return float64(i * i % 101) })
		return backend.Inst{Op: ir.ScatterAdd, DType: dtype.F32, Shape: []int{101, 16},
			Args: []backend.Ref{b.scalar(dtype.F32, ir.Scalar{}), index, b.in(dtype.F32, 3000, 16)}}
	})
}

func TestIndexOutOfRange(t *testing.T) {
	b := newBuilder(backend.Single, 1)
	index := b.fill(dtype.I64, []int{3}, func(i int) float64 { return float64(3 * i) })
	b.out(b.inst(backend.Inst{Op: ir.Gather, DType: dtype.F32, Shape: []int{3, 2}, Args: []backend.Ref{b.in(dtype.F32, 5, 2), index}}))
	be := New(2)
	defer be.Close()
	_, err := b.run(be)
	if want := fmt.Sprintf("cpu: %v: index 6 at position 2 is out of range for axis 0 of length 5", ir.Gather); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestOrderAndScans(t *testing.T) {
	for _, typ := range testTypes {
		for axis, shape := range [][]int{{37}, {5, 300}, {4, 9, 5}, {3, 8, 600}} {
			axis = min(axis, 1)
			if len(shape) == 1 {
				axis = 0
			}
			reduced := append([]int{}, shape...)
			reduced[axis] = 1
			for _, op := range []ir.Op{ir.ArgMax, ir.ArgMin} {
				single(t, fmt.Sprint(op, typ, shape, axis), 0, func(b *builder) backend.Inst {
					x := b.fill(typ, shape, func(i int) float64 {
						if typ.Float() && i%97 == 96 {
							return math.NaN()
						}
						return float64(b.rng.IntN(9))
					})
					return backend.Inst{Op: op, Attr: ir.Attr{Axis: axis}, DType: dtype.I64, Shape: reduced, Args: []backend.Ref{x}}
				})
			}
			for _, flags := range []ir.Flag{0, ir.Reverse, ir.Exclusive, ir.Reverse | ir.Exclusive} {
				single(t, fmt.Sprint("cumsum", typ, shape, axis, flags), 1e-6, func(b *builder) backend.Inst {
					return backend.Inst{Op: ir.CumSum, Attr: ir.Attr{Axis: axis, Flags: flags}, DType: typ, Shape: shape, Args: []backend.Ref{b.flipped(typ, shape...)}}
				})
			}
			last := len(shape) - 1
			for _, k := range []int{1, 5, shape[last]} {
				for _, flags := range []ir.Flag{0, ir.Reverse} {
					picked := append(append([]int{}, shape[:last]...), k)
					single(t, fmt.Sprint("topk", typ, shape, k, flags), 0, func(b *builder) backend.Inst {
						x := b.fill(typ, shape, func(i int) float64 {
							if typ.Float() && i%97 == 96 {
								return math.NaN()
							}
							return float64(b.rng.IntN(30)) - 10*float64(b.rng.IntN(2))
						})
						return backend.Inst{Op: ir.TopK, Attr: ir.Attr{Index: k, Flags: flags}, Args: []backend.Ref{x},
							Outs: []ir.Type{{DType: typ, Shape: picked}, {DType: dtype.I64, Shape: picked}}}
					})
				}
			}
		}
	}
	single(t, "sum_squares", 1e-6, func(b *builder) backend.Inst {
		return backend.Inst{Op: ir.SumSquares, DType: dtype.F32, Shape: []int{},
			Args: []backend.Ref{b.in(dtype.F32, 300, 301), b.in(dtype.BF16, 7), b.in(dtype.F32, 0), b.flipped(dtype.F32, 5, 6), b.in(dtype.F32)}}
	})
}

func TestRandom(t *testing.T) {
	for _, typ := range []dtype.Type{dtype.F32, dtype.BF16, dtype.F16} {
		for _, n := range []int{0, 1, 5, 1000, 10_001} {
			for op, tolerance := range map[ir.Op]float64{ir.Rand: 0, ir.RandNormal: 4e-7} {
				single(t, fmt.Sprint(op, typ, n), tolerance, func(b *builder) backend.Inst {
					return backend.Inst{Op: op, DType: typ, Shape: []int{n},
						Args: []backend.Ref{b.scalar(dtype.I64, ir.Scalar{I: -0x123456789abcdef}), b.scalar(dtype.I64, ir.Scalar{I: 1 << 40})}}
				})
			}
		}
	}
}

func TestRope(t *testing.T) {
	for _, flags := range []ir.Flag{0, ir.Reverse, ir.Interleaved, ir.Interleaved | ir.Reverse} {
		for _, typ := range []dtype.Type{dtype.F32, dtype.BF16} {
			for _, positions := range [][]int{{9}, {2, 3, 9}} {
				single(t, fmt.Sprint(flags, typ, positions), 1e-6, func(b *builder) backend.Inst {
					at := b.fill(dtype.I64, positions, func(i int) float64 { return []float64{0, 1, 2, 500, 70_000, -3}[i%6] })
					return backend.Inst{Op: ir.Rope, Attr: ir.Attr{Float: 10000, Flags: flags}, DType: typ, Shape: []int{2, 3, 9, 10},
						Args: []backend.Ref{b.flipped(typ, 2, 3, 9, 10), at}}
				})
			}
		}
	}
}

func TestAdamW(t *testing.T) {
	for _, guard := range []float64{1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		testAdamW(t, guard)
	}
}

func testAdamW(t *testing.T, guard float64) {
	single(t, fmt.Sprint("adamw, guard ", guard), 1e-6, func(b *builder) backend.Inst {
		in := backend.Inst{Op: ir.AdamW}
		for _, v := range []float64{1e-2, 0.9, 0.999, 1e-8, 0.1, 0.1, 0.001} {
			in.Args = append(in.Args, b.scalar(dtype.F32, ir.Scalar{F: v}))
		}
		in.Args = append(in.Args, b.fill(dtype.F32, []int{}, func(int) float64 { return 0.5 }), b.fill(dtype.F32, []int{}, func(int) float64 { return guard }))
		shapes := [][]int{{}, {5}, {300, 40}, {0, 2}, {7, 3}}
		types := []dtype.Type{dtype.F32, dtype.F32, dtype.F32, dtype.F32, dtype.BF16}
		for part := range 4 {
			for i, s := range shapes {
				typ := types[i]
				if part >= 2 {
					typ = dtype.F32
				}
				switch {
				case part == 3:
					in.Args = append(in.Args, b.fill(typ, s, func(int) float64 { return b.rng.Float64() }))
				case part == 1 && i == 2:
					in.Args = append(in.Args, b.flipped(typ, s...))
				default:
					in.Args = append(in.Args, b.in(typ, s...))
				}
				if part != 1 {
					in.Outs = append(in.Outs, ir.Type{DType: typ, Shape: s})
				}
			}
		}
		return in
	})
}

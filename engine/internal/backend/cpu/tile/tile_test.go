package tile

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Random programs over random layouts agree with an evaluator that computes each element in float64.
func TestRandomPrograms(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 7))
		c := randomCase(rng)
		if err := c.check(rng); err != nil {
			t.Fatalf("seed %d: %v\nshape %v perm %v\ninputs %+v\ninsts %+v\nouts %+v", seed, err, c.spec.Shape, c.spec.Perm,
				c.spec.Group.Inputs, c.spec.Group.Insts, c.spec.Outs)
		}
	}
}

// A testCase is a program with its memory.
type testCase struct {
	spec    Spec
	shape   []int // before Perm
	bufs    [][]byte
	scalars []ir.Scalar
	given   []float64 // the given value, if the program has one
}

func randomCase(rng *rand.Rand) *testCase {
	c := &testCase{spec: Spec{Group: &backend.Group{}}}
	rank := rng.IntN(4)
	for range rank {
		c.shape = append(c.shape, []int{1, 2, 3, 7, 16, 40}[rng.IntN(6)])
	}
	c.spec.Shape = c.shape
	if rank > 1 && rng.IntN(3) == 0 {
		c.spec.Perm = rng.Perm(rank)
		c.spec.Shape = make([]int, rank)
		for i, a := range c.spec.Perm {
			c.spec.Shape[i] = c.shape[a]
		}
	}
	g := c.spec.Group
	for range 1 + rng.IntN(5) {
		c.addInput(rng)
	}
	if rng.IntN(3) == 0 { // a given value: instruction 0
		g.Insts = append(g.Insts, backend.Inst{Op: ir.MatMul, DType: dtype.F32, Shape: c.shape})
		c.spec.Given = []backend.Ref{{Index: 0}}
		for range size(c.shape) {
			c.given = append(c.given, float64(float32(rng.NormFloat64())))
		}
	}
	for range rng.IntN(10) {
		c.addInst(rng)
	}
	for range 1 + rng.IntN(3) {
		r := c.anyRef(rng, dtype.Invalid)
		c.spec.Outs = append(c.spec.Outs, Out{Value: r, DType: c.dtype(r)})
	}
	return c
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func (c *testCase) dtype(r backend.Ref) dtype.Type {
	if i, ok := r.Input(); ok {
		return c.spec.Group.Inputs[i].DType
	}
	return c.spec.Group.Insts[r.Index].DType
}

// exactTypes are all types but U64, whose differences wrap beyond 2⁵³, where float64 is not exact.
var exactTypes = slices.DeleteFunc(dtype.All(), func(t dtype.Type) bool { return t == dtype.U64 })

// addInput adds a scalar, or memory with a layout: contiguous, transposed, broadcast, reversed, sliced.
func (c *testCase) addInput(rng *rand.Rand) {
	in := backend.Input{DType: exactTypes[rng.IntN(len(exactTypes))], Buf: -1}
	if rng.IntN(3) == 0 {
		in.DType = dtype.F32
	}
	if rng.IntN(5) == 0 {
		v := rng.IntN(7) - 3
		in.Scalar = len(c.scalars)
		c.scalars = append(c.scalars, ir.Scalar{F: float64(v) / 2, I: int64(max(v, 0))})
		c.spec.Group.Inputs = append(c.spec.Group.Inputs, in)
		return
	}
	shape := append([]int(nil), c.shape...)
	for i := range shape {
		if rng.IntN(6) == 0 {
			shape[i] = 1
		}
	}
	l := ir.Layout{Shape: shape, Stride: make([]int, len(shape))}
	count := 1
	for _, a := range rng.Perm(len(shape)) {
		if rng.IntN(3) > 0 { // mostly C order
			continue
		}
		l.Stride[a] = count
		count *= shape[a]
	}
	for a := len(shape) - 1; a >= 0; a-- {
		if l.Stride[a] == 0 {
			l.Stride[a] = count
			count *= shape[a]
		}
	}
	gap := 1 + rng.IntN(4)/3
	for a := range l.Stride {
		l.Stride[a] *= gap
		switch rng.IntN(8) {
		case 0:
			l.Offset += l.Stride[a] * (shape[a] - 1)
			l.Stride[a] = -l.Stride[a]
		case 1:
			l.Stride[a] = 0
		}
	}
	l.Offset += 3
	in.Layout, in.Buf = l, len(c.bufs)
	c.bufs = append(c.bufs, randomBytes(rng, in.DType, count*gap+3))
	c.spec.Group.Inputs = append(c.spec.Group.Inputs, in)
}

func randomBytes(rng *rand.Rand, t dtype.Type, n int) []byte {
	b := make([]byte, n*t.Size())
	for i := range n {
		writeElement(b, t, i, math.Round(rng.NormFloat64()*64)/32, int64(rng.IntN(40)-20))
	}
	return b
}

func writeElement(b []byte, t dtype.Type, i int, f float64, v int64) {
	n := ir.Scalar{F: f, I: v}
	if t == dtype.Bool {
		n.F = float64(v & 1)
	}
	ir.Append(t, b[i*t.Size():i*t.Size()], n)
}

func readElement(b []byte, t dtype.Type, i int) float64 {
	return ir.Convert(ir.Load(t, b[i*t.Size():]), t, dtype.F64).F
}

// anyRef returns a random value of dtype t, or of any dtype.
func (c *testCase) anyRef(rng *rand.Rand, t dtype.Type) backend.Ref {
	var all []backend.Ref
	for i := range c.spec.Group.Inputs {
		all = append(all, backend.In(i))
	}
	for i := range c.spec.Group.Insts {
		all = append(all, backend.Ref{Index: i})
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, r := range all {
		if t == dtype.Invalid || c.dtype(r) == t {
			return r
		}
	}
	return backend.Ref{Index: -1 << 20}
}

// addInst applies a random op to values of the program. Casts give them a common type.
func (c *testCase) addInst(rng *rand.Rand) {
	g := c.spec.Group
	a := c.anyRef(rng, dtype.Invalid)
	t := c.dtype(a)
	in := backend.Inst{DType: t, Shape: c.shape}
	b := c.anyRef(rng, t)
	switch k := rng.IntN(10); {
	case k < 2:
		in.Op, in.DType, in.Args = ir.Cast, exactTypes[rng.IntN(len(exactTypes))], []backend.Ref{a}
		in.Attr.DType = in.DType
	case k < 4 && t.Float():
		in.Op, in.Args = []ir.Op{ir.Neg, ir.Abs, ir.Tanh, ir.Sigmoid, ir.Floor}[rng.IntN(5)], []backend.Ref{a}
	case k < 5:
		in.Op, in.DType, in.Args = []ir.Op{ir.Eq, ir.Lt, ir.Ge}[rng.IntN(3)], dtype.Bool, []backend.Ref{a, b}
	case k < 6:
		cond := c.anyRef(rng, dtype.Bool)
		if cond.Index == -1<<20 {
			return
		}
		in.Op, in.Args = ir.Where, []backend.Ref{cond, a, b}
	case t == dtype.Bool:
		in.Op, in.Args = []ir.Op{ir.And, ir.Or, ir.Xor}[rng.IntN(3)], []backend.Ref{a, b}
	default:
		in.Op, in.Args = []ir.Op{ir.Add, ir.Mul, ir.Mul, ir.Sub, ir.Max, ir.Min}[rng.IntN(6)], []backend.Ref{a, b}
	}
	c.spec.Insts = append(c.spec.Insts, len(g.Insts))
	g.Insts = append(g.Insts, in)
}

// check runs the program in pieces of random length and compares all outputs.
func (c *testCase) check(rng *rand.Rand) error {
	p, err := Compile(c.spec)
	if err != nil {
		return err
	}
	n := size(c.shape)
	s := p.NewState()
	s.Bind(c.bufs, c.scalars)
	given := make([]float32, n)
	if c.given != nil {
		for i := range n {
			given[i] = float32(c.given[c.elementAt(i)])
		}
		s.SetGiven(0, unsafe.Pointer(&given[0]), 0)
	}
	outs := make([][]byte, len(c.spec.Outs))
	for i, o := range c.spec.Outs {
		outs[i] = make([]byte, n*o.DType.Size()+8)
		s.SetOut(i, unsafe.Pointer(&outs[i][0]), 0)
	}
	for start := 0; start < n; {
		m := min(n-start, 1+rng.IntN(2*Len))
		s.Run(start, m)
		start += m
	}
	return c.compare(outs, n)
}

func (c *testCase) compare(outs [][]byte, n int) error {
	for i := range n {
		e := evaluator{c: c, element: c.elementAt(i)}
		for k, o := range c.spec.Outs {
			want, got := e.value(o.Value), readElement(outs[k], o.DType, i)
			tolerance := 1e-5 * (1 + math.Abs(want))
			switch o.DType {
			case dtype.F16:
				tolerance *= 100
			case dtype.BF16:
				tolerance *= 800
			}
			if !o.DType.Float() {
				tolerance = 0
			}
			if math.Abs(want-got) > tolerance && !e.unsure {
				return fmt.Errorf("output %d, element %d: got %g, want %g", k, i, got, want)
			}
		}
	}
	return nil
}

// elementAt converts linear index i of the program's space to the C-order index in the group's shape.
func (c *testCase) elementAt(i int) int {
	index := make([]int, len(c.shape))
	for a := len(c.spec.Shape) - 1; a >= 0; a-- {
		axis := a
		if c.spec.Perm != nil {
			axis = c.spec.Perm[a]
		}
		index[axis] = i % c.spec.Shape[a]
		i /= c.spec.Shape[a]
	}
	at := 0
	for a, d := range c.shape {
		at = at*d + index[a]
	}
	return at
}

// An evaluator computes one element from the definition. It marks a result as unsure if a rounding error
// could change it.
type evaluator struct {
	c       *testCase
	element int
	unsure  bool
}

func (e *evaluator) value(r backend.Ref) float64 {
	g := e.c.spec.Group
	if i, ok := r.Input(); ok {
		return e.input(&g.Inputs[i])
	}
	in := &g.Insts[r.Index]
	if in.Op == ir.MatMul {
		return e.c.given[e.element]
	}
	var x []float64
	for _, a := range in.Args {
		x = append(x, e.value(a))
	}
	from := e.c.dtype(in.Args[len(in.Args)-1])
	if from.Float() && !in.DType.Float() || in.Op == ir.Floor {
		for k := range x {
			for j := range k {
				e.unsure = e.unsure || x[k] != x[j] && math.Abs(x[k]-x[j]) < 1e-4
			}
			near := math.Abs(x[k] - math.Round(x[k]))
			e.unsure = e.unsure || near != 0 && near < 1e-3 || math.Abs(x[k]) > 1e6
		}
	}
	if in.Op == ir.Cast {
		v := ir.Scalar{F: x[0], I: int64(x[0])}
		return ir.Convert(ir.Convert(v, from, in.DType), in.DType, dtype.F64).F
	}
	y := apply(in, x)
	if in.DType.Int() {
		e.unsure = e.unsure || math.Abs(y) > 1<<53
		return float64(ir.Wrap(in.DType, int64(y)))
	}
	return y
}

func (e *evaluator) input(in *backend.Input) float64 {
	if in.Buf < 0 {
		s := e.c.scalars[in.Scalar]
		switch {
		case in.DType == dtype.Bool:
			return float64(map[bool]int{true: 1}[s.F != 0])
		case in.DType.Int():
			return float64(s.I)
		}
		return ir.Nearest(in.DType, s.F)
	}
	at, rest := in.Layout.Offset, e.element
	for a := len(e.c.shape) - 1; a >= 0; a-- {
		if in.Layout.Shape[a] != 1 {
			at += rest % e.c.shape[a] * in.Layout.Stride[a]
		}
		rest /= e.c.shape[a]
	}
	return readElement(e.c.bufs[in.Buf], in.DType, at)
}

func apply(in *backend.Inst, x []float64) float64 {
	truth := func(b bool) float64 { return float64(map[bool]int{true: 1}[b]) }
	switch in.Op {
	case ir.Neg:
		return -x[0]
	case ir.Abs:
		return math.Abs(x[0])
	case ir.Tanh:
		return math.Tanh(x[0])
	case ir.Sigmoid:
		return 1 / (1 + math.Exp(-x[0]))
	case ir.Floor:
		return math.Floor(x[0])
	case ir.Add:
		return x[0] + x[1]
	case ir.Sub:
		return x[0] - x[1]
	case ir.Mul:
		return x[0] * x[1]
	case ir.Max:
		return max(x[0], x[1])
	case ir.Min:
		return min(x[0], x[1])
	case ir.And:
		return truth(x[0] != 0 && x[1] != 0)
	case ir.Or:
		return truth(x[0] != 0 || x[1] != 0)
	case ir.Xor:
		return truth(x[0] != x[1])
	case ir.Eq:
		return truth(x[0] == x[1])
	case ir.Lt:
		return truth(x[0] < x[1])
	case ir.Ge:
		return truth(x[0] >= x[1])
	case ir.Where:
		if x[0] != 0 {
			return x[1]
		}
		return x[2]
	}
	panic(in.Op)
}

// A program without instructions returns the memory of its input.
func TestFetchFindsInputsInPlace(t *testing.T) {
	memory := make([]byte, 4*600)
	in := backend.Input{DType: dtype.F32, Layout: ir.Layout{Shape: []int{3, 200}, Stride: []int{200, 1}}}
	p, err := Compile(Spec{Group: &backend.Group{Inputs: []backend.Input{in}}, Shape: []int{3, 200}, Outs: []Out{{Value: backend.In(0), DType: dtype.F32}}})
	if err != nil {
		t.Fatal(err)
	}
	s := p.NewState()
	s.Reserve(200)
	s.Bind([][]byte{memory}, nil)
	if got, want := s.Fetch(200, 200)[0], unsafe.Pointer(&memory[800]); got != want {
		t.Errorf("got a copy, want the input's own memory")
	}
}

func BenchmarkChain(b *testing.B) {
	const n = 1 << 20
	x := backend.Input{DType: dtype.F32, Layout: ir.Layout{Shape: []int{n}, Stride: []int{1}}}
	y, z := x, x
	y.Buf, z.Buf = 1, 2
	half := backend.Input{DType: dtype.F32, Buf: -1}
	inst := func(op ir.Op, args ...backend.Ref) backend.Inst {
		return backend.Inst{Op: op, DType: dtype.F32, Shape: []int{n}, Args: args}
	}
	r := func(i int) backend.Ref { return backend.Ref{Index: i} }
	g := &backend.Group{Inputs: []backend.Input{x, y, z, half}, Insts: []backend.Inst{ // silu(x)·y + 0.5·z
		inst(ir.Silu, backend.In(0)), inst(ir.Mul, r(0), backend.In(1)), inst(ir.Mul, backend.In(2), backend.In(3)), inst(ir.Add, r(1), r(2)),
	}}
	p, err := Compile(Spec{Group: g, Shape: []int{n}, Insts: []int{0, 1, 2, 3}, Outs: []Out{{Value: r(3), DType: dtype.F32}}})
	if err != nil {
		b.Fatal(err)
	}
	bufs := [][]byte{make([]byte, 4*n), make([]byte, 4*n), make([]byte, 4*n), make([]byte, 4*n)}
	s := p.NewState()
	s.Bind(bufs, []ir.Scalar{{F: 0.5}})
	s.SetOut(0, unsafe.Pointer(&bufs[3][0]), 0)
	b.SetBytes(16 * n)
	for b.Loop() {
		s.Run(0, n)
	}
}

// Conversions between f32 and half precision are one step, from where the elements are read to where they are
// stored; more cost as much as the memory.
func TestConversionsAreOneStep(t *testing.T) {
	in := func(dt dtype.Type) backend.Input {
		return backend.Input{DType: dt, Layout: ir.Contiguous([]int{300}), Buf: 0}
	}
	cast := func(to dtype.Type) []backend.Inst {
		return []backend.Inst{{Op: ir.Cast, Attr: ir.Attr{DType: to}, DType: to, Shape: []int{300}, Args: []backend.Ref{backend.In(0)}}}
	}
	for _, c := range []struct {
		name  string
		from  dtype.Type
		insts []backend.Inst
		out   Out
		want  int
	}{
		{"f32 as bf16", dtype.F32, cast(dtype.BF16), Out{Value: backend.Ref{}, DType: dtype.BF16}, 1},
		{"f32 as f16", dtype.F32, cast(dtype.F16), Out{Value: backend.Ref{}, DType: dtype.F16}, 1},
		{"f32 rounded to bf16", dtype.F32, cast(dtype.BF16), Out{Value: backend.Ref{}, DType: dtype.F32}, 1},
		{"bf16 into a register", dtype.BF16, nil, Out{Value: backend.In(0), DType: dtype.F32}, 1},
	} {
		spec := Spec{Group: &backend.Group{Inputs: []backend.Input{in(c.from)}, Insts: c.insts}, Shape: []int{300}, Outs: []Out{c.out}}
		for i := range c.insts {
			spec.Insts = append(spec.Insts, i)
		}
		p, err := Compile(spec)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.code) != c.want {
			t.Errorf("%s takes %d steps, want %d", c.name, len(p.code), c.want)
		}
	}
}

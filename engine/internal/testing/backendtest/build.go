package backendtest

import (
	"errors"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A Case is a graph to evaluate.
type Case struct {
	Name string
	// Build returns the nodes to evaluate; dt is the dtype under test. It is called once for each device, and
	// makes the same data each time.
	Build func(b *B, dt dtype.Type) []*ir.Node
	// Elementwise measures the tolerance by each element instead of by the largest one.
	Elementwise bool
	Tol         float64 // in place of the row's
	// Narrowed allows half a step of the largest result more in types of 16 bits: a library may narrow
	// weights in codes to such a type, and a product need not narrow the norm that it multiplies, as the
	// reference does.
	Narrowed bool
	Rounded  bool // integers are rounded: one of a thousand, or one, may be the next integer

	drawn *[]drawn // what Leaf has made in an earlier call of Build with the same dtype, if somebody keeps it
}

// A drawn is what a call of Leaf made, and where the random numbers went on.
type drawn struct {
	data  []byte
	after rand.PCG
}

// kept is the case with the data of its leaves kept for the next device.
func (c Case) kept() Case {
	c.drawn = new([]drawn)
	return c
}

// A B builds a case's graph on a device. Its methods do not return errors: where an op's rule refuses its
// operands, the case ends.
type B struct {
	dev    *backend.Device
	rng    *rand.Rand
	source *rand.PCG  // of rng
	half   dtype.Type // if it is set, numbers of floats are rounded to it
	drawn  *[]drawn   // of the case, nil if nothing is kept
	leaves int        // how many Leaf has made
}

// errNotForDType says that an op's rule refuses the dtype.
var errNotForDType = errors.New("the op does not take this dtype")

// stop is the panic by which a B ends a case.
type stop struct{ err error }

func build(dev *backend.Device, name string, dt dtype.Type, c Case) (nodes []*ir.Node, err error) {
	h := fnv.New64a()
	h.Write([]byte(name))
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stop:
			err = r.err
		default:
			panic(r)
		}
	}()
	source := rand.NewPCG(h.Sum64(), 1)
	return c.Build(&B{dev: dev, rng: rand.New(source), source: source, drawn: c.drawn}, dt), nil
}

// New applies an op.
func (b *B) New(op ir.Op, attr ir.Attr, src ...*ir.Node) *ir.Node {
	n, err := ir.New(op, attr, src...)
	if err != nil {
		panic(stop{errNotForDType})
	}
	return n
}

// wantType ends the case if the backend does not have the dtype.
func (b *B) wantType(dt dtype.Type) {
	if !slices.Contains(b.dev.Backend().Info().DTypes, dt) {
		panic(stop{errNotForDType})
	}
}

// Picks returns all values of a tuple.
func (b *B) Picks(tuple *ir.Node) []*ir.Node {
	var list []*ir.Node
	for i := range tuple.Outs {
		list = append(list, b.New(ir.Pick, ir.Attr{Index: i}, tuple))
	}
	return list
}

// Number returns a constant.
func (b *B) Number(dt dtype.Type, v float64) *ir.Node { return ir.Number(b.dev, dt, b.rounded(v)) }

func (b *B) rounded(v float64) float64 {
	if b.half == dtype.Invalid {
		return v
	}
	return ir.Nearest(b.half, v)
}

// Leaf returns a tensor whose element i is f(i); for integers the fraction is cut off. For a second device f
// is not called where the case keeps what it gave.
func (b *B) Leaf(dt dtype.Type, shape []int, f func(i int) float64) *ir.Node {
	if b.leaves++; b.drawn != nil && b.leaves <= len(*b.drawn) {
		d := &(*b.drawn)[b.leaves-1]
		*b.source = d.after
		return b.upload(dt, shape, d.data)
	}
	v := Values{DType: dt, Shape: shape}
	if n := ir.Size(shape); dt.Float() {
		v.F = make([]float64, 0, n)
	} else {
		v.I = make([]int64, 0, n)
	}
	for i := range ir.Size(shape) {
		if dt.Float() {
			v.F = append(v.F, b.rounded(f(i)))
		} else {
			v.I = append(v.I, int64(f(i)))
		}
	}
	data := v.encode()
	if b.drawn != nil {
		*b.drawn = append(*b.drawn, drawn{data, *b.source})
	}
	return b.upload(dt, shape, data)
}

// upload copies little-endian elements to the device.
func (b *B) upload(dt dtype.Type, shape []int, data []byte) *ir.Node {
	block, err := b.dev.Alloc(len(data))
	if err == nil {
		err = b.dev.Upload(block, 0, data)
	}
	if err != nil {
		panic(stop{err})
	}
	return ir.NewLeaf(b.dev, dt, &ir.Data{Buf: block, Layout: new(ir.Contiguous(shape))}, "")
}

// Ints returns a tensor of these integers.
func (b *B) Ints(dt dtype.Type, shape []int, list ...int64) *ir.Node {
	v := Values{DType: dt, Shape: shape, I: list}
	return b.upload(dt, shape, v.encode())
}

// Normal returns normal numbers, or small integers of both signs, or coin tosses.
func (b *B) Normal(dt dtype.Type, shape ...int) *ir.Node {
	return b.Leaf(dt, shape, func(int) float64 {
		switch {
		case dt.Float():
			return b.rng.NormFloat64()
		case dt == dtype.Bool:
			return float64(b.rng.IntN(2))
		case !dt.Signed():
			return float64(b.rng.IntN(12))
		}
		return float64(b.rng.IntN(19) - 9)
	})
}

// Positive returns numbers above 0.
func (b *B) Positive(dt dtype.Type, shape ...int) *ir.Node {
	return b.Leaf(dt, shape, func(int) float64 {
		if dt.Float() {
			return math.Abs(b.rng.NormFloat64()) + 0.05
		}
		return float64(1 + b.rng.IntN(5))
	})
}

// Index returns random integers from 0 to n-1.
func (b *B) Index(n int, shape ...int) *ir.Node {
	return b.Leaf(dtype.I64, shape, func(int) float64 { return float64(b.rng.IntN(n)) })
}

// Places returns random indices of an axis of length n, from -n to n-1.
func (b *B) Places(n int, shape ...int) *ir.Node {
	return b.Leaf(dtype.I64, shape, func(int) float64 { return float64(b.rng.IntN(2*n) - n) })
}

// Special returns every special value of the type next to every other: element i of the first of two
// operands, and of the second.
func (b *B) Special(dt dtype.Type, second bool) *ir.Node {
	list := specials(dt)
	n := len(list)
	v := Values{DType: dt, Shape: []int{n * n}}
	for i := range n * n {
		k := i / n
		if second {
			k = i % n
		}
		if dt.Float() {
			v.F = append(v.F, list[k])
		} else {
			v.I = append(v.I, specialInts(dt)[k])
		}
	}
	return b.upload(dt, v.Shape, v.encode())
}

func specials(dt dtype.Type) []float64 {
	if !dt.Float() {
		return make([]float64, len(specialInts(dt)))
	}
	greatest, tiny := math.MaxFloat32, 1.2e-38
	switch dt {
	case dtype.F16:
		greatest, tiny = 65504, 6.2e-5
	case dtype.F64:
		greatest, tiny = math.MaxFloat64, 2.3e-308
	}
	list := []float64{math.NaN(), math.Inf(1), 0, 1, 0.5, 1.5, 2.5, 3, 20, 88, 89, 104, 1000, greatest, tiny, 0.1, 1e-4}
	for _, x := range list[1:] {
		list = append(list, -x)
	}
	return list
}

func specialInts(dt dtype.Type) []int64 {
	if dt == dtype.Bool {
		return []int64{0, 1}
	}
	low, high := ir.IntRange(dt)
	list := []int64{low, int64(high), int64(high) - 1, low + 1, int64(high / 2), int64(high/2 + 1)}
	for _, i := range []int64{0, 1, -1, 2, -2, 3, 7, -7, 128, 200, math.MaxInt32, math.MinInt32, 1 << 24, 1<<24 + 1, 1<<53 + 1} {
		if i >= low && (i < 0 || uint64(i) <= high) {
			list = append(list, i)
		}
	}
	return list
}

// The views below make operands that are not contiguous.

// Transposed returns normal numbers of that shape whose last two axes are stored in the other order.
func (b *B) Transposed(dt dtype.Type, shape ...int) *ir.Node {
	r := len(shape)
	if r < 2 {
		return b.Normal(dt, shape...)
	}
	stored := append([]int(nil), shape...)
	stored[r-1], stored[r-2] = stored[r-2], stored[r-1]
	return b.Swap(b.Normal(dt, stored...))
}

// Swap swaps the last two axes.
func (b *B) Swap(n *ir.Node) *ir.Node {
	r := len(n.Shape)
	axes := ir.Indices(r)
	axes[r-1], axes[r-2] = r-2, r-1
	return b.New(ir.Permute, ir.Attr{Axes: axes}, n)
}

// Sparse returns normal numbers of that shape: every second element, along each axis, of a larger tensor,
// with an offset.
func (b *B) Sparse(dt dtype.Type, shape ...int) *ir.Node {
	stored := make([]int, len(shape))
	var ints []int
	for i, d := range shape {
		stored[i] = 2*d + 1
		ints = append(ints, 1, 2*d+1, 2)
	}
	return b.New(ir.Slice, ir.Attr{Ints: ints}, b.Normal(dt, stored...))
}

// Flipped returns normal numbers of that shape that run backwards along every axis.
func (b *B) Flipped(dt dtype.Type, shape ...int) *ir.Node {
	return b.New(ir.Flip, ir.Attr{Axes: ir.Indices(len(shape))}, b.Normal(dt, shape...))
}

// Repeated returns normal numbers of that shape that are the same along the given axis.
func (b *B) Repeated(dt dtype.Type, axis int, shape ...int) *ir.Node {
	if len(shape) == 0 {
		return b.Normal(dt)
	}
	stored := append([]int(nil), shape...)
	stored[axis] = 1
	return b.New(ir.Expand, ir.Attr{Shape: shape}, b.Normal(dt, stored...))
}

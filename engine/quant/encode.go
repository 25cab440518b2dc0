package quant

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// lanes is the number of outputs in a block.
const lanes = 16

// Quantize stores a floating-point matrix [in out], or a stack [matrices in out], in codes. An element that
// is infinite or NaN is an error, which says where it is and the tensor's name.
func Quantize(w tensor.Tensor, c Config) (*Weight, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	if w.Rank() == 3 && w.Len(0) > 0 {
		return quantizeStack(w, c)
	}
	if w.Rank() != 2 || !w.DType().Float() {
		return nil, fmt.Errorf("quant: got %s%v%v, want a matrix of a floating-point dtype", named(w), w.DType(), w.Shape())
	}
	e := newEncoder(c, w.Len(0), w.Len(1))
	e.codes = make([]byte, (e.out+lanes-1)/lanes*lanes*e.groups*c.Group*c.Bits/8)
	if err := tensor.Try(func() { e.data = w.Detach().Cast(dtype.F32).Bytes() }); err != nil {
		return nil, err
	}
	r, err := e.weight(func(shape []int) (tensor.Tensor, error) {
		if at := e.run(); at >= 0 {
			return tensor.Tensor{}, fmt.Errorf("quant: %selement [%d %d] is %g, want a finite number", named(w), at/e.out, at%e.out, e.at(at/e.out, at%e.out))
		}
		return tensor.FromBytes(dtype.U8, e.codes, shape...), nil
	})
	if err != nil {
		return nil, err
	}
	for _, m := range r.members() {
		*m.Weight = m.Weight.To(w.Device())
	}
	r.name(w.Name())
	return r, nil
}

// name calls the parts after a weight.
func (w *Weight) name(name string) {
	for _, m := range w.members() {
		*m.Weight = m.Weight.Named(name + strings.TrimPrefix(m.Name, "weight"))
	}
}

// weight makes a weight. While codes makes the tensor of its codes, there is memory for all scales, zero
// points or minimums.
func (e *encoder) weight(codes func(shape []int) (tensor.Tensor, error)) (*Weight, error) {
	w := newWeight(e.Config, e.in, e.out)
	shape, scales := w.Shapes()
	write := func() (err error) {
		w.Codes, err = codes(shape)
		return err
	}
	switch e.Scheme {
	case Affine:
		write = beside(&w.Extra, dtype.U8, scales, &e.extra, write)
	case Minimum:
		write = beside(&w.Extra, e.Scale, scales, &e.extra, write)
	}
	err := beside(&w.Scales, e.Scale, scales, &e.scales, write)()
	if err != nil {
		tensor.Free(w.Codes, w.Scales, w.Extra)
		return nil, err
	}
	return w, nil
}

// beside has write fill in the numbers of a tensor as well, in f32.
func beside(t *tensor.Tensor, dt dtype.Type, shape []int, numbers *[]byte, write func() error) func() error {
	return func() (err error) {
		*t, err = access.Whole(dt, shape, func(to []byte) error {
			if *numbers = to; dt == dtype.F32 {
				return write()
			}
			*numbers = make([]byte, 4*len(to)/dt.Size())
			err := write()
			for i := range len(to) / dt.Size() {
				switch v := (*numbers)[4*i:][:4]; dt {
				case dtype.BF16:
					copy(to[2*i:], v[2:])
				case dtype.U8:
					to[i] = byte(math.Float32frombits(binary.LittleEndian.Uint32(v)))
				}
			}
			return err
		})
		return err
	}
}

func named(w tensor.Tensor) string {
	if w.Name() == "" {
		return ""
	}
	return w.Name() + ": "
}

// An encoder writes the parts of a weight.
type encoder struct {
	Config
	in, out, groups      int
	data                 []byte // f32 [in out]
	codes, scales, extra []byte // extra: zero points or minimums; in f32 [blocks groups 16]
	table                []float32
	nearest              nearest   // in the table
	buffers              sync.Pool // of rows that are read, or of codes
}

func newEncoder(c Config, in, out int) *encoder {
	return &encoder{Config: c, in: in, out: out, groups: (in + c.Group - 1) / c.Group, table: tables[c.Table], nearest: newNearest(tables[c.Table])}
}

func (e *encoder) at(k, n int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(e.data[4*(k*e.out+n):]))
}

// run encodes all blocks, on all processors. It returns the place of the first element that is infinite or
// NaN, or −1.
func (e *encoder) run() (at int) {
	first := atomic.Int64{}
	first.Store(math.MaxInt64)
	e.each(func(b, g int) {
		if bad := int64(e.group(b, g)); bad >= 0 {
			for old := first.Load(); bad < old && !first.CompareAndSwap(old, bad); old = first.Load() {
			}
		}
	})
	if v := first.Load(); v != math.MaxInt64 {
		return int(v)
	}
	return -1
}

// each does all groups of all blocks, on all processors.
func (e *encoder) each(do func(block, group int)) {
	blocks := (e.out + lanes - 1) / lanes
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), max(1, blocks)) {
		wg.Go(func() {
			for b := int(next.Add(1)) - 1; b < blocks; b = int(next.Add(1)) - 1 {
				for g := range e.groups {
					do(b, g)
				}
			}
		})
	}
	wg.Wait()
}

// group encodes a group of all outputs of a block.
func (e *encoder) group(block, group int) (bad int) {
	var tile [lanes][128]float32
	bad = e.read(&tile, block, group)
	if bad >= 0 {
		return bad
	}
	first := (block*e.groups + group) * lanes
	codes := e.codes[first*e.Group*e.Bits/8:][:lanes*e.Group*e.Bits/8]
	var list [128]byte
	for lane := range lanes {
		values := tile[lane][:e.Group]
		var low, high float32
		for _, v := range values {
			low, high = min(low, v), max(high, v)
		}
		scale, extra := e.fit(low, high)
		e.store(first+lane, scale, extra)
		for i, v := range values {
			list[i] = byte(e.code(v, scale, extra))
		}
		Lane(codes[4*lane:]).lay(e.Bits, list[:e.Group])
	}
	return -1
}

// read copies the weights of a group, with 0 beyond the matrix. It returns the place of the first that is
// infinite or NaN, or −1.
func (e *encoder) read(tile *[lanes][128]float32, block, group int) int {
	outputs := min(lanes, e.out-block*lanes)
	for i := range min(e.Group, e.in-group*e.Group) {
		at := (group*e.Group+i)*e.out + block*lanes
		row := e.data[4*at:][:4*outputs]
		for lane := range outputs {
			v := math.Float32frombits(binary.LittleEndian.Uint32(row[4*lane:]))
			if v-v != 0 {
				return at + lane
			}
			tile[lane][i] = v
		}
	}
	return -1
}

// leastNormal is the least f32 that is not subnormal.
const leastNormal = 0x1p-126

// fit returns the scale of a group between low ≤ 0 and high ≥ 0, and its zero point or minimum.
func (e *encoder) fit(low, high float32) (scale, extra float32) {
	reach := float64(high) - float64(low)
	steps := float64(int(1)<<e.Bits - 1)
	switch e.Scheme {
	case Symmetric:
		reach, steps = float64(max(-low, high)), float64(int(1)<<(e.Bits-1)-1)
	case Table:
		reach, steps = float64(max(-low, high)), largest(e.table)
	case Minimum:
		low = -e.round(-low)
		reach = float64(high) - float64(low)
	}
	scale = e.round(float32(reach / steps))
	switch {
	case scale < leastNormal:
		return 0, 0
	case e.Scheme == Affine:
		return scale, float32(math.RoundToEven(-float64(low) / float64(scale)))
	case e.Scheme == Minimum:
		return scale, low
	}
	return scale, 0
}

// round rounds a scale up to its dtype.
func (e *encoder) round(s float32) float32 {
	if e.Scale == dtype.F32 {
		return s
	}
	return math.Float32frombits((math.Float32bits(s) + 0xffff) &^ 0xffff)
}

// store writes the scale of a group, and its zero point or minimum.
func (e *encoder) store(at int, scale, extra float32) {
	Lane(e.scales[4*at:]).PutFloat(0, scale)
	if e.extra != nil {
		Lane(e.extra[4*at:]).PutFloat(0, extra)
	}
}

// code returns the code of v.
func (e *encoder) code(v, scale, extra float32) int {
	middle := 1 << (e.Bits - 1)
	if e.Scheme == Symmetric {
		if scale == 0 {
			return middle
		}
		return min(max(int(math.RoundToEven(float64(v)/float64(scale)))+middle, 1), 2*middle-1)
	}
	if scale == 0 {
		return 0
	}
	var code int
	switch e.Scheme {
	case Table:
		return e.nearest.code(v / scale)
	case Minimum:
		code = int(math.RoundToEven((float64(v) - float64(extra)) / float64(scale)))
	default:
		code = int(math.RoundToEven(float64(v)/float64(scale))) + int(extra)
	}
	return min(max(code, 0), 1<<e.Bits-1)
}

// largest is the largest magnitude in a table that is a number.
func largest(table []float32) float64 {
	most := 0.0
	for _, t := range table {
		if m := math.Abs(float64(t)); m > most {
			most = m
		}
	}
	return most
}

// nearest finds the number of a table that is nearest to another one, without a branch that a processor would
// have to guess.
type nearest struct {
	middles []int64 // between the numbers in order, as [inOrder] has them; filled up to one less than a power of two
	codes   []int   // of the numbers in order: of equal ones the first
}

func newNearest(table []float32) (n nearest) {
	for code, v := range table {
		if v == v {
			n.codes = append(n.codes, code)
		}
	}
	slices.SortStableFunc(n.codes, func(a, b int) int { return cmp.Compare(table[a], table[b]) })
	n.codes = slices.CompactFunc(n.codes, func(a, b int) bool { return table[a] == table[b] })
	n.middles = slices.Repeat([]int64{math.MaxInt64 / 2}, 1<<bits.Len(uint(max(0, len(n.codes)-1)))-1)
	for i := range max(0, len(n.codes)-1) {
		n.middles[i] = inOrder((float64(table[n.codes[i]]) + float64(table[n.codes[i+1]])) / 2)
		if n.codes[i] > n.codes[i+1] { // of two that are equally near it is the first
			n.middles[i]--
		}
	}
	return n
}

// inOrder maps numbers to integers in the same order, whose differences are integers, too.
func inOrder(x float64) int64 {
	b := int64(math.Float64bits(x))
	return (b ^ int64(uint64(b>>63)>>1)) >> 1
}

// code is the place of the number in the table.
func (n *nearest) code(v float32) int {
	x, at := inOrder(float64(v)), 0
	for step := (len(n.middles) + 1) / 2; step > 0; step /= 2 {
		at += step & int((n.middles[at+step-1]-x)>>63)
	}
	return n.codes[at]
}

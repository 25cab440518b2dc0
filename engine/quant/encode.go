package quant

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/engine/dtype"
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
	if at := e.run(); at >= 0 {
		return nil, fmt.Errorf("quant: %selement [%d %d] is %g, want a finite number", named(w), at/e.out, at%e.out, e.at(at/e.out, at%e.out))
	}
	r := e.weight()
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

// weight is what the encoder has written.
func (e *encoder) weight() *Weight {
	r := newWeight(e.Config, e.in, e.out)
	codes, _ := r.Shapes()
	r.Codes = tensor.FromBytes(dtype.U8, e.codes, codes...)
	e.finish(r)
	return r
}

// finish makes tensors of scales, zero points and minimums.
func (e *encoder) finish(w *Weight) {
	_, scales := w.Shapes()
	w.Scales = tensor.FromBytes(e.Scale, e.scales, scales...)
	switch e.Scheme {
	case Affine:
		w.Extra = tensor.FromBytes(dtype.U8, e.extra, scales...)
	case Minimum:
		w.Extra = tensor.FromBytes(e.Scale, e.extra, scales...)
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
	codes, scales, extra []byte // extra: zero points or minimums
	table                []float32
	buffers              sync.Pool // of rows that are read
}

func newEncoder(c Config, in, out int) *encoder {
	e := &encoder{Config: c, in: in, out: out, groups: (in + c.Group - 1) / c.Group, table: tables[c.Table]}
	n := (out + lanes - 1) / lanes * lanes * e.groups
	e.scales = make([]byte, n*c.Scale.Size())
	switch c.Scheme {
	case Affine:
		e.extra = make([]byte, n)
	case Minimum:
		e.extra = make([]byte, n*c.Scale.Size())
	}
	return e
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
	var list [lanes][unit]byte
	for lane := range lanes {
		values := tile[lane][:e.Group]
		var low, high float32
		for _, v := range values {
			low, high = min(low, v), max(high, v)
		}
		scale, extra := e.fit(low, high)
		e.store(first+lane, []float32{scale}, []float32{extra})
		for i, v := range values {
			list[lane][i] = byte(e.code(v, scale, extra))
		}
	}
	e.lay(codes, &list, 0)
	return -1
}

// lay writes the codes of a group, from one of a tile on, as the comment of Quantised has them: four bytes of
// each lane stand side by side. Two lanes are written at once.
func (e *encoder) lay(to []byte, tile *[lanes][unit]byte, from int) {
	for lane := 0; lane < lanes; lane += 2 {
		a, b, to := tile[lane][from:][:e.Group], tile[lane+1][from:][:e.Group], to[4*lane:]
		if e.Bits == 4 {
			for i := 0; i < len(a); i += 8 {
				x, y := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
				binary.LittleEndian.PutUint64(to[i/2*lanes:], (x|x>>28)&math.MaxUint32|(y|y>>28)<<32)
			}
			continue
		}
		for i := 0; i < len(a); i += 8 {
			x, y, two := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:]), to[i*lanes:][:4*lanes+8]
			binary.LittleEndian.PutUint64(two, x&math.MaxUint32|y<<32)
			binary.LittleEndian.PutUint64(two[4*lanes:], x>>32|y>>32<<32)
		}
	}
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

// store writes the scales of groups of one output, the first of them number at of all, and their zero points
// or minimums.
func (e *encoder) store(at int, scales, extras []float32) {
	e.put(e.scales, at, scales)
	switch e.Scheme {
	case Affine:
		for i, v := range extras {
			e.extra[at+i*lanes] = byte(v)
		}
	case Minimum:
		e.put(e.extra, at, extras)
	}
}

func (e *encoder) put(to []byte, at int, list []float32) {
	if e.Scale == dtype.BF16 {
		for _, v := range list {
			binary.LittleEndian.PutUint16(to[2*at:], uint16(math.Float32bits(v)>>16))
			at += lanes
		}
		return
	}
	for _, v := range list {
		binary.LittleEndian.PutUint32(to[4*at:], math.Float32bits(v))
		at += lanes
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
		return nearest(e.table, v/scale)
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

// nearest is the place of the number in a table that is nearest to v, the first of several.
func nearest(table []float32, v float32) int {
	best := 0
	for i, t := range table {
		if math.Abs(float64(t)-float64(v)) < math.Abs(float64(table[best])-float64(v)) {
			best = i
		}
	}
	return best
}

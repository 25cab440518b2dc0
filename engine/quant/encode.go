package quant

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// lanes is the number of outputs in a block.
const lanes = 16

// Quantize stores a floating-point matrix [in out] in codes. It is an error if an element is no finite number; the error
// says which, and the tensor's name.
func Quantize(w tensor.Tensor, c Config) (*Weight, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	if w.Rank() != 2 || !w.DType().Float() {
		return nil, fmt.Errorf("quant: got %s%v%v, want a matrix of a floating-point dtype", named(w), w.DType(), w.Shape())
	}
	e := newEncoder(c, w.Len(0), w.Len(1))
	if err := tensor.Try(func() { e.data = w.Detach().Cast(dtype.F32).Bytes() }); err != nil {
		return nil, err
	}
	if at := e.run(); at >= 0 {
		return nil, fmt.Errorf("quant: %selement [%d %d] is %g, want a finite number", named(w), at/e.out, at%e.out, e.at(at/e.out, at%e.out))
	}
	r := &Weight{Config: c, Quantised: tensor.Quantised{In: e.in, Out: e.out, Bits: c.Bits, Group: c.Group}}
	codes, scales := r.Shapes()
	r.Codes = tensor.FromBytes(dtype.U8, e.codes, codes...).Named(w.Name() + "_codes")
	r.Scales = tensor.FromBytes(c.Scale, e.scales, scales...).Named(w.Name() + "_scales")
	if c.Scheme == Affine {
		r.Zeros = tensor.FromBytes(dtype.U8, e.zeros, scales...).Named(w.Name() + "_zeros")
	}
	return r, nil
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
	codes, scales, zeros []byte
}

func newEncoder(c Config, in, out int) *encoder {
	e := &encoder{Config: c, in: in, out: out, groups: (in + c.Group - 1) / c.Group}
	blocks := (out + lanes - 1) / lanes
	e.codes = make([]byte, blocks*lanes*e.groups*c.Group*c.Bits/8)
	e.scales = make([]byte, blocks*lanes*e.groups*c.Scale.Size())
	e.zeros = make([]byte, blocks*lanes*e.groups)
	return e
}

func (e *encoder) at(k, n int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(e.data[4*(k*e.out+n):]))
}

// run encodes all blocks, on all processors. It returns the place of the first element that is no finite number, or −1.
func (e *encoder) run() (at int) {
	blocks := (e.out + lanes - 1) / lanes
	first := atomic.Int64{}
	first.Store(math.MaxInt64)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), max(1, blocks)) {
		wg.Go(func() {
			for b := int(next.Add(1)) - 1; b < blocks; b = int(next.Add(1)) - 1 {
				for g := range e.groups {
					if bad := int64(e.group(b, g)); bad >= 0 {
						for old := first.Load(); bad < old && !first.CompareAndSwap(old, bad); old = first.Load() {
						}
					}
				}
			}
		})
	}
	wg.Wait()
	if v := first.Load(); v != math.MaxInt64 {
		return int(v)
	}
	return -1
}

// group encodes a group of all outputs of a block.
func (e *encoder) group(block, group int) (bad int) {
	bad = -1
	from, to := group*e.Group, min(e.in, (group+1)*e.Group)
	for lane := range lanes {
		n := block*lanes + lane
		var low, high float32
		for k := from; k < to && n < e.out; k++ {
			v := e.at(k, n)
			if v-v != 0 && (bad < 0 || k*e.out+n < bad) {
				bad = k*e.out + n
			}
			low, high = min(low, v), max(high, v)
		}
		if bad >= 0 {
			continue
		}
		scale, zero := e.fit(low, high)
		at := (block*e.groups+group)*lanes + lane
		e.store(at, scale)
		e.zeros[at] = byte(zero)
		for i := range e.Group {
			code := zero
			if k := from + i; k < to && n < e.out && scale > 0 {
				code = e.code(e.at(k, n), scale, zero)
			}
			e.put(block, group, lane, i, code)
		}
	}
	return bad
}

// leastNormal is the least f32 that is not subnormal.
const leastNormal = 0x1p-126

// fit returns the scale and the zero point of a group between low ≤ 0 and high ≥ 0.
func (e *encoder) fit(low, high float32) (scale float32, zero int) {
	middle := 1 << (e.Bits - 1)
	reach := float64(high) - float64(low)
	steps := float64(int(1)<<e.Bits - 1)
	if e.Scheme == Symmetric {
		reach, steps = float64(max(-low, high)), float64(middle-1)
	}
	scale = e.round(float32(reach / steps))
	switch {
	case scale < leastNormal && e.Scheme == Symmetric:
		return 0, middle
	case scale < leastNormal:
		return 0, 0
	case e.Scheme == Symmetric:
		return scale, middle
	}
	return scale, int(math.RoundToEven(-float64(low) / float64(scale)))
}

// round rounds a scale up to its dtype.
func (e *encoder) round(s float32) float32 {
	if e.Scale == dtype.F32 {
		return s
	}
	return math.Float32frombits((math.Float32bits(s) + 0xffff) &^ 0xffff)
}

func (e *encoder) store(at int, scale float32) {
	if e.Scale == dtype.BF16 {
		binary.LittleEndian.PutUint16(e.scales[2*at:], uint16(math.Float32bits(scale)>>16))
		return
	}
	binary.LittleEndian.PutUint32(e.scales[4*at:], math.Float32bits(scale))
}

// code returns the code of v.
func (e *encoder) code(v, scale float32, zero int) int {
	code := int(math.RoundToEven(float64(v)/float64(scale))) + zero
	if e.Scheme == Symmetric {
		reach := 1<<(e.Bits-1) - 1
		return min(max(code, zero-reach), zero+reach)
	}
	return min(max(code, 0), 1<<e.Bits-1)
}

// put stores the code of an input of a group.
func (e *encoder) put(block, group, lane, i, code int) {
	per := 32 / e.Bits
	line := (block*e.groups+group)*e.Group/per + i/per
	at := (line*lanes+lane)*4 + i%4
	if e.Bits == 4 {
		code <<= 4 * (i % per / 4)
	}
	e.codes[at] |= byte(code)
}

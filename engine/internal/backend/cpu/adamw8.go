package cpu

import (
	"cmp"
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// An adamW8Tensor is one parameter with its moments in 8 bits. A run of blocks is decoded,
// stepped and encoded while it is in the first-level cache.
type adamW8Tensor struct {
	n        int
	states   *perWorker  // p and g, as f32
	masters  *perWorker  // w, if there are some: see adamWTensor
	moments  [4]*operand // codes and scales of m, codes and scales of r
	p, w     *backend.Output
	round    vec.ID // of the masters: see adamWTensor
	replaced [4]*backend.Output
}

// compileAdamW8 steps all tensors of an optimizer in one launch.
func compileAdamW8(c *standalone) func(*launch) {
	g, in := c.g, c.in
	lists := ir.StepLists(in.Op, in.Attr.Flags)
	count := len(in.Outs) / lists
	tensors := make([]adamW8Tensor, count)
	type piece struct{ tensor, start, n int }
	var pieces []piece
	for n := range tensors {
		t := &tensors[n]
		t.n, t.p = ir.Size(in.Outs[n].Shape), outputOf(g, n)
		spec := tile.Spec{Group: g, Shape: in.Outs[n].Shape}
		for part := range 2 {
			spec.Outs = append(spec.Outs, tile.Out{Value: in.Args[ir.AdamWSettings+part*count+n], DType: dtype.F32})
		}
		t.states = c.program(spec, adamWRun)
		if in.Attr.Flags&ir.Masters != 0 {
			spec.Outs = []tile.Out{{Value: in.Args[ir.AdamWSettings+6*count+n], DType: dtype.F32}}
			t.masters = c.program(spec, adamWRun)
			t.w, t.round = outputOf(g, 5*count+n), roundings[in.Outs[n].DType]
		}
		for part := range t.moments {
			typ := in.Outs[(1+part)*count+n]
			o := c.operand(ir.AdamWSettings+(2+part)*count+n, typ.Shape, typ.DType)
			t.moments[part], t.replaced[part] = o.reserve(adamWRun), outputOf(g, (1+part)*count+n)
		}
		for start := 0; start < t.n; start += chunk {
			pieces = append(pieces, piece{n, start, min(chunk, t.n-start)})
		}
	}
	return func(l *launch) {
		step := adamWStep[float32](l, g, in)
		spare := make([]eightSpare, l.pool.Threads())
		l.pool.Range(len(pieces), 4, func(worker, lo, hi int) {
			for _, p := range pieces[lo:hi] {
				for i := 0; i < p.n; i += adamWRun {
					tensors[p.tensor].step(l, worker, step, &spare[worker], p.start+i)
				}
			}
		})
	}
}

// eightSpare is a worker's memory: moments and new parameters of a run in f32, and results that nobody wants.
type eightSpare struct {
	m, v, to [adamWRun]float32
	count    [adamWRun]float32 // masters or parameters
	bools    [adamWRun]bool
	codes    [adamWRun]uint8
	scales   [adamWRun / ir.DynamicBlock]float32
}

// step updates the blocks of a run, from start on. Without s they are copied.
func (t *adamW8Tensor) step(l *launch, worker int, s *vec.AdamWStep[float32], spare *eightSpare, start int) {
	n := min(adamWRun, t.n-start)
	blocks := (n + ir.DynamicBlock - 1) / ir.DynamicBlock
	x := t.states.at(worker).Fetch(start, n)
	codes, to := [2][]uint8{}, [2][]uint8{spare.codes[:], spare.codes[:]}
	scales, toScales := [2][]float32{}, [2][]float32{spare.scales[:], spare.scales[:]}
	for i := range codes {
		codes[i] = unsafe.Slice((*uint8)(t.moments[2*i].fetch(worker, start, blocks*ir.DynamicBlock)), blocks*ir.DynamicBlock)
		scales[i] = unsafe.Slice((*float32)(t.moments[2*i+1].fetch(worker, start/ir.DynamicBlock, blocks)), blocks)
		if o := t.replaced[2*i]; o != nil {
			to[i] = unsafe.Slice((*uint8)(unsafe.Add(l.pointer(o.Buf), start)), len(codes[i]))
		}
		if o := t.replaced[2*i+1]; o != nil {
			toScales[i] = unsafe.Slice((*float32)(unsafe.Add(l.pointer(o.Buf), 4*(start/ir.DynamicBlock))), blocks)
		}
	}
	p, w := x[0], unsafe.Pointer(nil)
	if t.masters != nil {
		w = t.masters.at(worker).Fetch(start, n)[0]
	}
	if s == nil {
		for i := range to {
			copy(to[i], codes[i])
			copy(toScales[i], scales[i])
		}
	} else {
		old := x[0]
		if w != nil {
			old = unsafe.Pointer(&spare.count)
			masterOrParam(old, unsafe.Pointer(&spare.bools), w, x[0], t.round, n)
		}
		p = unsafe.Pointer(&spare.to)
		if o := cmp.Or(t.w, t.p); o != nil && o.DType == dtype.F32 {
			p = unsafe.Add(l.pointer(o.Buf), 4*start)
		}
		w = p
		m, v := unsafe.Pointer(&spare.m), unsafe.Pointer(&spare.v)
		for b := range blocks {
			at := b * ir.DynamicBlock
			vec.DecodeSigned(unsafe.Add(m, 4*at), unsafe.Pointer(&codes[0][at]), scales[0][b], ir.DynamicBlock)
			vec.DecodeSquares(unsafe.Add(v, 4*at), unsafe.Pointer(&codes[1][at]), scales[1][b], ir.DynamicBlock)
		}
		vec.AdamWTo(p, m, v, old, x[1], m, v, s, n)
		clear(spare.m[n : blocks*ir.DynamicBlock])
		clear(spare.v[n : blocks*ir.DynamicBlock])
		for b := range blocks {
			at := b * ir.DynamicBlock
			toScales[0][b], toScales[1][b] = encodeBlock(unsafe.Add(m, 4*at), unsafe.Add(v, 4*at), unsafe.Pointer(&to[0][at]), unsafe.Pointer(&to[1][at]))
		}
	}
	store(l, t.p, p, start, n)
	store(l, t.w, w, start, n)
}

// store stores n floats into an output, from start on, unless they are there or nobody wants them.
func store(l *launch, o *backend.Output, from unsafe.Pointer, start, n int) {
	if o == nil {
		return
	}
	if to := unsafe.Add(l.pointer(o.Buf), start*o.DType.Size()); to != from {
		narrowTo(o.DType, to, from, n)
	}
}

// encodeBlock writes the codes of a block of m and of the roots of v, and returns their scales, the largest
// of each.
func encodeBlock(m, v, codes, rootCodes unsafe.Pointer) (scale, root float32) {
	const n = ir.DynamicBlock
	scale = finiteOrNaN(max(vec.MaxOf(m, n), -vec.MinOf(m, n)))
	root = finiteOrNaN(float32(math.Sqrt(float64(vec.MaxOf(v, n)))))
	vec.EncodeSigned(codes, m, 1/max(scale, leastScale), n)
	vec.EncodeRoots(rootCodes, v, 1/max(root, leastScale), n)
	return scale, root
}

// leastScale keeps a block of zeros from being divided by 0.
const leastScale = 1e-37

// finiteOrNaN is x if it is finite.
func finiteOrNaN(x float32) float32 { return x + (x - x) }

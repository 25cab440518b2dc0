package cpu

import (
	"math"
	"sync"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// An adamW8Tensor is one parameter with its moments in 8 bits. Its work is shared by whole blocks, each of
// which is decoded, stepped and encoded while it is in the first-level cache.
type adamW8Tensor struct {
	n        int
	states   perWorker   // p and g, as f32
	moments  [4]*operand // codes and scales of m, codes and scales of r
	p        *backend.Output
	replaced [4]*backend.Output
}

// compileAdamW8 steps all tensors of an optimizer in one launch.
func compileAdamW8(g *backend.Group, in *backend.Inst) (func(*launch), error) {
	count := len(in.Outs) / 5
	tensors := make([]adamW8Tensor, count)
	type piece struct{ tensor, block, blocks int }
	var pieces []piece
	for n := range tensors {
		t := &tensors[n]
		t.n, t.p = elementsOf(in.Outs[n].Shape), outputOf(g, n)
		spec := tile.Spec{Group: g, Shape: in.Outs[n].Shape}
		for part := range 2 {
			spec.Outs = append(spec.Outs, tile.Out{Value: in.Args[ir.AdamWSettings+part*count+n], DType: dtype.F32})
		}
		p, err := tile.Compile(spec)
		if err != nil {
			return nil, err
		}
		t.states = perWorker{prog: p, reserve: ir.DynamicBlock}
		for part := range t.moments {
			typ := in.Outs[(1+part)*count+n]
			o, err := newOperand(g, in.Args[ir.AdamWSettings+(2+part)*count+n], typ.Shape, typ.DType)
			if err != nil {
				return nil, err
			}
			t.moments[part], t.replaced[part] = o.reserve(ir.DynamicBlock), outputOf(g, (1+part)*count+n)
		}
		const most = chunk / ir.DynamicBlock
		blocks := in.Outs[count+n].Shape[0]
		for block := 0; block < blocks; block += most {
			pieces = append(pieces, piece{n, block, min(most, blocks-block)})
		}
	}
	return func(l *launch) {
		step := adamWStep(l, g, in)
		for t := range tensors {
			tensors[t].bind(l)
		}
		defer func() {
			for t := range tensors {
				tensors[t].release()
			}
		}()
		spare := make([]eightSpare, l.pool.Threads())
		l.pool.Range(len(pieces), 4, func(worker, lo, hi int) {
			for _, p := range pieces[lo:hi] {
				for b := range p.blocks {
					tensors[p.tensor].step(l, worker, step, &spare[worker], p.block+b)
				}
			}
		})
	}, nil
}

func (t *adamW8Tensor) bind(l *launch) {
	t.states.bind(l)
	for _, o := range t.moments {
		o.bind(l)
	}
}

func (t *adamW8Tensor) release() {
	t.states.release()
	for _, o := range t.moments {
		o.release()
	}
}

// eightSpare is a worker's memory: a block of each list in f32, and results that nobody wants.
type eightSpare struct {
	p, g, m, v, to [ir.DynamicBlock]float32
	codes          [ir.DynamicBlock]uint8
	scale          float32
}

// step updates a block. Without s it is copied.
func (t *adamW8Tensor) step(l *launch, worker int, s *vec.AdamWStep, spare *eightSpare, block int) {
	start := block * ir.DynamicBlock
	n := min(ir.DynamicBlock, t.n-start)
	x := t.states.at(worker).Fetch(start, n)
	var codes [2]*[ir.DynamicBlock]uint8
	var scales [2]float32
	for i := range codes {
		codes[i] = (*[ir.DynamicBlock]uint8)(t.moments[2*i].fetch(worker, start, ir.DynamicBlock))
		scales[i] = *(*float32)(t.moments[2*i+1].fetch(worker, block, 1))
	}
	var newCodes [2]*[ir.DynamicBlock]uint8
	var newScales [2]*float32
	for i := range newCodes {
		newCodes[i], newScales[i] = &spare.codes, &spare.scale
		if o := t.replaced[2*i]; o != nil {
			newCodes[i] = (*[ir.DynamicBlock]uint8)(unsafe.Add(l.pointer(o.Buf), start))
		}
		if o := t.replaced[2*i+1]; o != nil {
			newScales[i] = (*float32)(unsafe.Add(l.pointer(o.Buf), 4*block))
		}
	}
	p, m, v := x[0], unsafe.Pointer(&spare.m), unsafe.Pointer(&spare.v)
	if s == nil {
		for i := range newCodes {
			*newCodes[i], *newScales[i] = *codes[i], scales[i]
		}
	} else {
		first, second := signedCells(), unsignedCells()
		p = unsafe.Pointer(&spare.to)
		if t.p != nil && t.p.DType == dtype.F32 {
			p = unsafe.Add(l.pointer(t.p.Buf), 4*start)
		}
		first.decode(&spare.m, codes[0], scales[0])
		second.decode(&spare.v, codes[1], scales[1])
		vec.Of(vec.Mul)(v, v, v, nil, ir.DynamicBlock)
		vec.AdamWTo(p, m, v, x[0], x[1], m, v, s, n)
		vec.Of(vec.Sqrt)(v, v, nil, nil, ir.DynamicBlock)
		clear(spare.m[n:])
		clear(spare.v[n:])
		*newScales[0] = first.encode(newCodes[0], &spare.m)
		*newScales[1] = second.encode(newCodes[1], &spare.v)
	}
	switch {
	case t.p == nil:
	case t.p.DType != dtype.F32:
		narrowTo(t.p.DType, unsafe.Add(l.pointer(t.p.Buf), start*t.p.DType.Size()), p, n)
	case s == nil:
		copy(unsafe.Slice((*float32)(unsafe.Add(l.pointer(t.p.Buf), 4*start)), n), unsafe.Slice((*float32)(p), n))
	}
}

// eightCells finds codes of a dynamic map without a search. A cell holds all numbers that agree in exponent
// and the first seven bits of the fraction. That is less than the way from one border to the next, so a cell
// has one border at most: see TestCellsHaveOneBorder.
type eightCells struct {
	values [256]float32
	cells  [cellCount]eightCell
	zero   int32
	least  int32 // how far below zero codes go, as a negative number
}

// An eightCell has the rank of its first number, and the bits of the border from which on it is one more.
type eightCell struct{ border, rank uint32 }

// Cells begin with that of 2⁻²³, below all borders, and end with that of 1, above them.
const (
	firstCell = (127 - 23) << 7
	lastCell  = 127 << 7
	cellCount = lastCell - firstCell + 1
)

var (
	signedCells   = sync.OnceValue(func() *eightCells { return newEightCells(ir.DynamicSigned) })
	unsignedCells = sync.OnceValue(func() *eightCells { return newEightCells(ir.DynamicUnsigned) })
)

func newEightCells(m *ir.DynamicMap) *eightCells {
	c := &eightCells{zero: int32(m.Zero), least: -int32(m.Zero)}
	for i, v := range m.Values {
		c.values[i] = float32(v)
	}
	rank := 0
	for i := range c.cells {
		start := uint32(firstCell+i) << 16
		for rank < len(m.Borders) && math.Float32bits(float32(m.Borders[rank])) <= start {
			rank++
		}
		c.cells[i] = eightCell{math.MaxInt32, uint32(rank)}
		if rank < len(m.Borders) {
			c.cells[i].border = math.Float32bits(float32(m.Borders[rank]))
		}
	}
	return c
}

func (c *eightCells) decode(to *[ir.DynamicBlock]float32, codes *[ir.DynamicBlock]uint8, scale float32) {
	for i, code := range codes {
		to[i] = c.values[code] * scale
	}
}

// encode writes the codes of a block and returns its scale.
func (c *eightCells) encode(codes *[ir.DynamicBlock]uint8, x *[ir.DynamicBlock]float32) (scale float32) {
	at := unsafe.Pointer(x)
	scale = max(vec.MaxOf(at, ir.DynamicBlock), -vec.MinOf(at, ir.DynamicBlock))
	if scale > math.MaxFloat32 {
		scale = float32(math.NaN())
	}
	inverse := 1 / max(scale, 1e-37)
	for i, v := range x {
		bits := math.Float32bits(v * inverse)
		size := bits &^ (1 << 31)
		cell := &c.cells[min(max(size>>16, firstCell), lastCell)-firstCell]
		rank := int32(cell.rank + 1 - (size-cell.border)>>31) // both are below 2³¹
		if int32(bits) < 0 {
			rank = max(-rank, c.least)
		}
		codes[i] = uint8(c.zero + rank)
	}
	return scale
}

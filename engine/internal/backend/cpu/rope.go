package cpu

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// angles holds cosines and sines for positions from 0 on: they are the same in every launch.
type angles[T float32 | float64] struct {
	rates []float64 // of each pair, from one position to the next
	table []T       // for each position: pairs cosines, then pairs sines
}

// maxAngles is how many positions are kept. Positions beyond, and negative ones, are computed each time.
const maxAngles = 1 << 16

// extend makes the table hold positions below n.
func (a *angles[T]) extend(n int) {
	for p := len(a.table) / max(1, 2*len(a.rates)); p < n; p++ {
		row := make([]T, 2*len(a.rates))
		a.fill(row, int64(p))
		a.table = append(a.table, row...)
	}
}

// change takes the rates of a launch, the sums of pairs of turns, and says whether they are others than
// before. Angles of rates that stay are kept.
func (a *angles[T]) change(turns []float32) (changed bool) {
	for i := range a.rates {
		rate := 2 * math.Pi * (float64(turns[2*i]) + float64(turns[2*i+1]))
		if rate != a.rates[i] {
			a.rates[i], a.table, changed = rate, a.table[:0], true
		}
	}
	return changed
}

// fill computes one position's row.
func (a *angles[T]) fill(row []T, position int64) {
	for i, rate := range a.rates {
		sin, cos := math.Sincos(float64(position) * rate)
		row[i], row[len(a.rates)+i] = T(cos), T(sin)
	}
}

// row returns a position's cosines and sines; spare is used when they are not in the table.
func (a *angles[T]) row(position int64, spare []T) []T {
	if n := 2 * len(a.rates); position >= 0 && position < int64(len(a.table)/n) {
		return a.table[int(position)*n:][:n]
	}
	a.fill(spare, position)
	return spare
}

// compileRope turns each pair of a row by its position's angle, or back with Reverse.
func compileRope(c *standalone) func(*launch) {
	if c.in.DType == dtype.F64 {
		return compileRopeOf[float64](c, turnPairs[float64])
	}
	return compileRopeOf[float32](c, turn)
}

// compileRopeOf computes in T.
func compileRopeOf[T float32 | float64](c *standalone, turn func(dst, src unsafe.Pointer, cs []T, pairs int, interleaved, reverse bool)) func(*launch) {
	in := c.in
	rank := len(in.Shape)
	d, tokens := in.Shape[rank-1], in.Shape[rank-2]
	rows := ir.Size(in.Shape[:rank-1])
	register := tile.Register(in.DType)
	x := c.operand(0, in.Shape, register).reserve(d)
	place := in.Shape[:rank-1]
	if len(c.shape(1)) <= 1 {
		place = []int{tokens}
	}
	positions := c.operand(1, place, dtype.I64)
	table := angles[T]{rates: ir.RopeRates(&in.Attr, d)}
	var turns *operand // in place of the rates
	if len(in.Args) > 2 {
		turns = c.operand(2, []int{d / 2, 2}, dtype.F32)
	}
	interleaved, reverse := in.Attr.Flags&ir.Interleaved != 0, in.Attr.Flags&ir.Reverse != 0
	out := c.g.Outputs[0]
	var now struct { // what the workers of a launch share
		at    []int64
		to    unsafe.Pointer
		rooms []T
	}
	turnRows := func(worker, lo, hi int) {
		room := now.rooms[2*d*worker:]
		spare, y := room[:d], room[d:2*d]
		for row := lo; row < hi; row++ {
			cs := table.row(now.at[row%len(now.at)], spare)
			src := x.fetch(worker, row*d, d)
			dst := unsafe.Add(now.to, row*d*out.DType.Size())
			if out.DType != register {
				dst = unsafe.Pointer(&y[0])
			}
			turn(dst, src, cs, d/2, interleaved, reverse)
			if out.DType != register {
				narrowTo(out.DType, unsafe.Add(now.to, row*d*out.DType.Size()), dst, d)
			}
		}
	}
	return func(l *launch) {
		if rows*d == 0 {
			return
		}
		now.at = positions.indices(l)
		highest := int64(-1)
		for _, p := range now.at {
			highest = max(highest, p)
		}
		changed := false
		if turns != nil {
			changed = table.change(unsafe.Slice((*float32)(turns.all(l)), turns.n))
		}
		if !changed { // rates that change with each token are not worth a table
			table.extend(int(min(highest+1, maxAngles)))
		}
		now.to, now.rooms = l.pointer(out.Buf), elements[T](l.scratch.bytes(2*d*register.Size()*l.pool.Threads()))
		l.pool.Range(rows, max(1, mapGrain/d), turnRows)
		now.at, now.to, now.rooms = nil, nil, nil
	}
}

// turn rotates a row's pairs; cs holds cosines and then sines.
func turn(dst, src unsafe.Pointer, cs []float32, pairs int, interleaved, reverse bool) {
	if pairs == 0 {
		return
	}
	cos, sin := unsafe.Pointer(&cs[0]), unsafe.Pointer(&cs[pairs])
	half := 4 * pairs
	switch {
	case interleaved:
		turnPairs(dst, src, cs, pairs, true, reverse)
	case reverse: // the transposed rotation: the two halves change places
		vec.RopeTo(unsafe.Add(dst, half), dst, unsafe.Add(src, half), src, cos, sin, pairs)
	default:
		vec.RopeTo(dst, unsafe.Add(dst, half), src, unsafe.Add(src, half), cos, sin, pairs)
	}
}

// turnPairs is turn in plain Go.
func turnPairs[T float32 | float64](dst, src unsafe.Pointer, cs []T, pairs int, interleaved, reverse bool) {
	x, y := unsafe.Slice((*T)(src), 2*pairs), unsafe.Slice((*T)(dst), 2*pairs)
	for i := range pairs {
		cos, sin := cs[i], cs[pairs+i]
		if reverse {
			sin = -sin
		}
		p, q := i, i+pairs
		if interleaved {
			p, q = 2*i, 2*i+1
		}
		a, b := x[p], x[q]
		y[p], y[q] = a*cos-b*sin, a*sin+b*cos
	}
}

package kernel

import (
	"fmt"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Scatters of a sorted index. The launches of top_k sort the places of each row, of equal ones the first
// first. Then the updates of a place are a segment of the row, and a thread stands at each update: at the
// first one of a segment it takes the others along, and where the last one stays, that one's thread stores
// it.
//
// A segment may be a whole line. So a launch before that combines pieces: where a segment goes on from one
// piece of segmentPiece updates into the next, the next one's part of it is stored, and the segment's thread
// takes along what is left of its own piece, and then whole parts. A line of n updates of one place takes
// 512 + n/512 steps, one of n places a step.
//
// Bytes: of n updates of f32 at one index each, the sort writes and reads 8 bytes log₂(n/2048) times, the
// segments read 12 and write 4. A scatter of slices, or one whose lines share the index, sorts it once.
const segmentPiece = 512

// A placeKeys is what a sort of places needs beside a ranking.
type placeKeys struct {
	s         *scattering
	k         *Kernel
	index     ir.Layout // as it lies
	positions ir.Layout // where rows of the index begin in C order
	apart     int       // two places of a row there
}

// write makes a key of place j of a row. A place that is out of range comes last.
func (p *placeKeys) write(e *elementText, r *ranking) {
	e.reads("x", p.s.in.Args[1])
	e.constant("position_axis", p.apart)
	e.indexed(p.k, p.s.in.Op, p.s.axis, p.s.length)
	turn := e.positions("x", p.s.indices.Shape, p.s.indices.Stride)
	e.line("if (j < a.elements) {")
	e.line("const long chosen = a.x[row_at + %s];", turn("j"))
	e.line("const bool bad = chosen < -a.length || chosen >= a.length;")
	e.line("if (bad && inside) report(a.fault, a.stop, uint(%s + j * a.position_axis), chosen);", e.here("position"))
	e.line("r[e] = ranked<%[1]s>::of(bad ? ranked<%[1]s>::none().key : %[1]s(chosen < 0 ? chosen + a.length : chosen), uint(j));", r.key)
	e.line("}")
}

// A segmented is a scatter whose index has been sorted.
type segmented struct {
	*scattering
	key     string
	runs    int       // where the sorted rows begin in the workspace
	parts   int       // where the parts of pieces do
	pieces  int       // of a line
	row     ir.Layout // where each line's row begins among them
	partial dtype.Type
}

// sorted sorts the index, and combines the segments of equal places.
func (s *scattering) sorted(k *Kernel) {
	r := s.ranking(k)
	steps, bytes := r.plan()
	k.Dispatches = append(k.Dispatches, r.write(steps)...)
	t := &segmented{scattering: s, key: r.key, runs: steps[len(steps)-1].to.at, parts: bytes, pieces: (s.count + segmentPiece - 1) / segmentPiece, partial: s.o.DType}
	if t.partial.Float() {
		t.partial = dtype.F32
	}
	t.row = ir.Layout{Shape: s.shape, Stride: make([]int, len(s.shape))}
	apart := s.count
	for axis := len(s.shape) - 1; axis >= 0; axis-- {
		if s.index.Stride[axis] != 0 {
			t.row.Stride[axis] = apart
			apart *= s.shape[axis]
		}
	}
	k.Scratch = bytes
	if s.replaces() {
		k.Dispatches = append(k.Dispatches, t.stay()...)
		return
	}
	if t.pieces > 1 {
		k.Scratch += ir.Size(s.shape) / s.count * t.pieces * t.partial.Size()
		k.Dispatches = append(k.Dispatches, t.join()...)
	}
	k.Dispatches = append(k.Dispatches, t.combine()...)
}

// ranking is the sort of the index: of a row for each line that has one of its own.
func (s *scattering) ranking(k *Kernel) *ranking {
	r := &ranking{g: s.g, length: s.count, rows: s.rows(), wanted: s.count, key: "uint", each: 8, limits: s.limits}
	if s.length >= math.MaxUint32 {
		r.key, r.each = "ulong", 4
	}
	p := &placeKeys{s: s, k: k, index: inputLayout(s.g, s.in.Args[1]), apart: 1}
	r.places = p
	var shape, stride, positions []int
	for axis, n := range s.shape {
		if s.index.Stride[axis] != 0 {
			shape, stride = append(shape, n), append(stride, s.index.Stride[axis])
			positions = append(positions, ir.Contiguous(p.index.Shape).Stride[axis])
		}
	}
	if len(p.index.Shape) == len(s.shape) && len(s.indices.Shape) == 1 && s.in.Op != ir.ScatterAdd && s.in.Op != ir.Overwrite {
		p.apart = ir.Contiguous(p.index.Shape).Stride[s.axis]
	}
	r.x = ir.Layout{Shape: append(shape, s.count), Stride: append(stride, 0), Offset: s.index.Offset}
	p.positions = still(ir.Layout{Shape: r.x.Shape, Stride: append(positions, 0)}, len(shape))
	return r
}

// begin declares what both launches over the segments read: shape is that of the updates with so many places
// along the axis as a line has threads.
func (t *segmented) begin(along int, list ...named) *elementText {
	shape := slices.Clone(t.shape)
	shape[t.axis] = along
	parts := shape
	if along > t.pieces {
		parts = slices.Clone(shape)
		parts[t.axis] = t.pieces
	}
	part := ir.Layout{Shape: shape, Stride: ir.Contiguous(parts).Stride}
	part.Stride[t.axis] = 0
	list = append(list, named{name: "x", layout: t.x, reach: reachOf(inputLayout(t.g, t.in.Args[2]))},
		named{name: "row", layout: t.row, reach: t.count}, named{name: "here", layout: counting(shape, t.axis, 1)}, named{name: "part", layout: part, reach: t.pieces})
	for i := range list {
		list[i].layout.Shape = shape
	}
	e := newElements(t.g, t.limits, t.in.Op.String(), shape, list...)
	e.reads("x", t.in.Args[2])
	e.member("device const ranked<"+t.key+">*", "runs", Field{Kind: Scratch, Size: 8, At: t.runs})
	e.constant("count", t.count)
	return e
}

// at is the sorted update at a place of the row.
func (t *segmented) at(e *elementText, place string) string {
	return fmt.Sprintf("ranked<%s>::get(a.runs + (%s + %s))", t.key, e.here("row"), place)
}

// update is the expression of an update of the line, by its number.
func (t *segmented) update(e *elementText) func(n string) string {
	turn := e.positions("x", t.along.Shape, t.along.Stride)
	return func(n string) string {
		return fmt.Sprintf("%s(loaded(a.x[%s + %s]))", register(t.o.DType), e.here("x"), turn(n))
	}
}

// none is the key of what has no place.
func (t *segmented) none() string { return fmt.Sprintf("ranked<%s>::none().key", t.key) }

// stay stores the last update of each place.
func (t *segmented) stay() []Dispatch {
	e := t.begin(t.count, named{name: "y", layout: t.places(), reach: ir.Size(t.o.Shape)})
	e.writes(t.o)
	e.constant("y_axis", t.whole.Stride[t.axis])
	update, goesOn := t.update(e), e.goesOn()
	return e.dispatch(func() {
		e.line("const %s here = %s;", e.index, e.here("here"))
		e.line("const ranked<%s> r = %s;", t.key, t.at(e, "here"))
		e.line("if (r.key != %s && (here + 1 == a.count || %s.key != r.key) && %s) {", t.none(), t.at(e, "here + 1"), goesOn)
		e.line("a.y[%s + %s(r.key) * a.y_axis] = %s(%s);", e.here("y"), e.index, memoryTypes[t.o.DType], update("r.at"))
		e.line("}")
	})
}

// join combines, of each piece but the first, what belongs to a segment that goes on from the piece before.
func (t *segmented) join() []Dispatch {
	e := t.begin(t.pieces)
	e.member("device "+memoryTypes[t.partial]+"*", "parts", Field{Kind: Scratch, Size: 8, At: t.parts})
	e.constant("parts_axis", t.partStride())
	update, reg := t.update(e), register(t.o.DType)
	return e.dispatch(func() {
		e.line("const %[1]s piece = %[2]s, from = piece * %[3]d, end = min(from + %[3]d, a.count);", e.index, e.here("here"), segmentPiece)
		e.line("const ranked<%s> r = %s;", t.key, t.at(e, "from"))
		e.line("if (piece > 0 && r.key != %s && %s.key == r.key) {", t.none(), t.at(e, "from - 1"))
		e.line("%s v = %s;", reg, update("r.at"))
		t.follow(e, update, "from + 1", "end")
		e.line("a.parts[%s + piece * a.parts_axis] = %s(v);", e.here("part"), memoryTypes[t.partial])
		e.line("}")
	})
}

// follow goes along the segment of r, from a place on up to another one.
func (t *segmented) follow(e *elementText, update func(n string) string, from, end string) {
	e.line("%s n = %s;", e.index, from)
	e.line("for (; n < %s; n++) {", end)
	e.line("const ranked<%s> other = %s;", t.key, t.at(e, "n"))
	e.line("if (other.key != r.key) break;")
	e.line("v = %s;", t.combined("v", update("other.at")))
	e.line("}")
}

// partStride is how far the parts of a line's pieces are apart.
func (t *segmented) partStride() int {
	shape := slices.Clone(t.shape)
	shape[t.axis] = t.pieces
	return ir.Contiguous(shape).Stride[t.axis]
}

// combine combines each place with its segment.
func (t *segmented) combine() []Dispatch {
	e := t.begin(t.count, named{name: "y", layout: t.places(), reach: ir.Size(t.o.Shape)})
	e.writes(t.o)
	e.constant("y_axis", t.whole.Stride[t.axis])
	update, reg := t.update(e), register(t.o.DType)
	if t.pieces > 1 {
		e.member("device const "+memoryTypes[t.partial]+"*", "parts", Field{Kind: Scratch, Size: 8, At: t.parts})
		e.constant("parts_axis", t.partStride())
	}
	return e.dispatch(func() {
		e.line("const %s here = %s;", e.index, e.here("here"))
		e.line("const ranked<%s> r = %s;", t.key, t.at(e, "here"))
		e.line("if (r.key != %s && (here == 0 || %s.key != r.key)) {", t.none(), t.at(e, "here - 1"))
		e.line("const %[1]s to = %[2]s + %[1]s(r.key) * a.y_axis;", e.index, e.here("y"))
		e.line("%s v = %s(loaded(a.y[to]));", reg, reg)
		e.line("v = %s;", t.combined("v", update("r.at")))
		e.line("const %[1]s end = min((here / %[2]d + 1) * %[2]d, a.count);", e.index, segmentPiece)
		t.follow(e, update, "here + 1", "end")
		if t.pieces > 1 {
			e.line("for (bool whole = n == end; whole && n < a.count && %s.key == r.key; n += %d) {", t.at(e, "n"), segmentPiece)
			e.line("v = %s;", t.combined("v", fmt.Sprintf("%s(a.parts[%s + n / %d * a.parts_axis])", reg, e.here("part"), segmentPiece)))
			e.line("whole = %s.key == r.key;", t.at(e, fmt.Sprintf("min(n + %d, a.count) - 1", segmentPiece)))
			e.line("}")
		}
		e.line("a.y[to] = %s(v);", memoryTypes[t.o.DType])
		e.line("}")
	})
}

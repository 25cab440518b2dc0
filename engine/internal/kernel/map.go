package kernel

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// mapThreads are the threads of a group that walk over elements: enough to hide the latency of a load, few
// enough that every device starts several groups side by side.
const mapThreads = 256

// mostThreads is the most that a group has on any device.
const mostThreads = 1024

// mostGroups bounds a grid's side: the threads of a group walk on with the grid's width. CUDA has no more
// than 65,535 groups along y and z.
const mostGroups = 65535

// MostAlongZ is how many threads a group may have along z, on every device: what CUDA takes.
const MostAlongZ = 64

// renderMap writes a Map group down. A thread computes one element, or four or eight that follow one another.
func renderMap(g *backend.Group, limits Limits) *Kernel {
	if ir.Size(g.Outputs[0].Shape) == 0 {
		return &Kernel{}
	}
	return &Kernel{Dispatches: []Dispatch{mapPiece(g, limits).alone(g)}}
}

// renderMaps writes maps down side by side.
func renderMaps(g *backend.Group, limits Limits) *Kernel {
	var pieces []*piece
	for _, o := range g.Outputs {
		own, arg := &backend.Group{Name: g.Name, Kind: backend.Map}, o.Value
		if _, input := arg.Input(); !input {
			in := g.Insts[arg.Index]
			arg, in.Args = in.Args[0], []backend.Ref{backend.In(0)}
			own.Insts = []backend.Inst{in}
		}
		i, _ := arg.Input()
		o.Value = backend.Ref{Index: len(own.Insts) - 1}
		own.Inputs, own.Outputs = g.Inputs[i:i+1], []backend.Output{o}
		pieces = append(pieces, mapPiece(own, limits))
	}
	return &Kernel{Dispatches: sideBySide(g, pieces)}
}

// mapPiece writes a Map group down to be a dispatch, or a part of one.
func mapPiece(g *backend.Group, limits Limits) *piece {
	shape := g.Outputs[0].Shape
	s := spaceOf(shape, layoutsOf(g), 0, func(int, int) bool { return true })
	w := newWalker(newText(g, s.wide), s)
	vectors := s.vectors(4)
	if vectors && w.halves() && s.vectors(8) && limits.Family == NVIDIA && s.size() >= 8*residentThreads*max(limits.Processors, 1) {
		w.each = 8
	}
	for i := range g.Inputs {
		w.declareInput(i)
	}
	for i, o := range g.Outputs {
		w.pointer("", outputName(i), o.DType, o.Buf, s.places[len(g.Inputs)+i].offset)
	}
	w.declareLengths()
	for i := range g.Inputs {
		w.declareStrides(w.inputName(i), &s.places[i])
	}
	for i := range g.Outputs {
		w.declareStrides(outputName(i), &s.places[len(g.Inputs)+i])
	}
	w.mapBody(vectors)
	width := s.lens[0]
	if vectors {
		width /= w.each
	}
	return walking(w.text, "map", width, s.lens[1:], limits)
}

// residentThreads are those that a processor of NVIDIA's has at once.
const residentThreads = 2048

// halves says whether all that a thread takes several elements of has 16 bits. Four of these are 8 bytes, of
// which threads have too few under way for the memory of a large GPU.
func (w *walker) halves() bool {
	whole := func(p *place, dt dtype.Type) bool { return p.strides[0] != 0 && dt != dtype.F16 && dt != dtype.BF16 }
	for i, in := range w.g.Inputs {
		if whole(&w.space.places[i], in.DType) {
			return false
		}
	}
	for i, o := range w.g.Outputs {
		if whole(&w.space.places[len(w.g.Inputs)+i], o.DType) {
			return false
		}
	}
	return true
}

// walking is a piece whose text walks over a grid.
func walking(t *text, kind string, width int, outer []int, limits Limits) *piece {
	c := &piece{text: t, kind: kind, threads: floorPower(min(mapThreads, limits.Threads))}
	c.walks[0], c.walks[1] = grid(width, outer, limits)
	c.groups = (size(c.walks[0])*size(c.walks[1]) + c.threads - 1) / c.threads
	return c
}

// mapBody walks over the space and computes.
func (w *walker) mapBody(vectors bool) {
	s := w.space
	for i := range w.g.Inputs {
		varies := slices.ContainsFunc(s.places[i].strides, func(n int) bool { return n != 0 })
		if !varies || isNumber(w.g.Inputs[i]) { // all threads read the same element
			w.load(i, vectors)
		}
	}
	opened := w.loops(vectors)
	for i := range w.g.Inputs {
		if w.names[i] == "" {
			w.load(i, vectors)
		}
	}
	outs := len(w.g.Inputs)
	if vectors {
		for i, o := range w.g.Outputs {
			w.line("%s y%d[%d];", register(o.DType), i, w.each)
		}
		w.line("UNROLL for (uint k = 0; k < %d; k++) {", w.each)
	}
	for i := range w.g.Insts {
		w.compute(i)
	}
	for i, o := range w.g.Outputs {
		if vectors {
			w.line("y%d[k] = %s;", i, w.value(o.Value))
			continue
		}
		w.store("", i, &s.places[outs+i], o.DType, o.Value)
	}
	if vectors {
		w.line("}")
		for i := range w.g.Outputs {
			w.storeVector("", i, &s.places[outs+i])
		}
	}
	w.close(opened)
}

// loops opens a loop for each axis: the innermost along x of the grid, the next along y, and what is left
// along z. It returns how many.
func (w *walker) loops(vectors bool) int {
	rank := len(w.space.lens)
	if rank > 2 {
		rest := make([]string, 0, rank-2)
		for axis := 2; axis < rank; axis++ {
			rest = append(rest, fmt.Sprintf("a.n%d", axis))
		}
		w.line("for (%[1]s rest = %[1]s(at.z); rest < %[2]s; rest += %[1]s(all.z)) {", w.index, strings.Join(rest, " * "))
		w.coordinates("rest", "left", w.space.axesFrom(2))
	}
	if rank > 1 {
		w.line("for (%[1]s i1 = %[1]s(at.y); i1 < a.n1; i1 += %[1]s(all.y)) {", w.index)
	}
	each := ""
	if vectors {
		each = fmt.Sprintf("%d * ", w.each)
	}
	w.line("for (%[1]s i0 = %[2]s%[1]s(at.x); i0 < a.n0; i0 += %[2]s%[1]s(all.x)) {", w.index, each)
	return min(rank, 3)
}

// grid shapes the threads: along x as many as the innermost axis has work for, the others along y and z.
func grid(width int, outer []int, limits Limits) (groups, threads [3]int) {
	lens := along(width)
	for axis, n := range outer {
		lens[min(axis+1, 2)] *= n
	}
	left := floorPower(min(mapThreads, limits.Threads))
	for i, n := range lens {
		threads[i] = min(left, ceilPower(n))
		switch i {
		case 0:
			threads[i] = fewestIdle(n, threads[i])
		case 2:
			threads[i] = min(threads[i], MostAlongZ)
		}
		left /= threads[i]
		groups[i] = min(mostGroups, (n+threads[i]-1)/threads[i])
	}
	return groups, threads
}

// fewestIdle is the power of two up to most, and from a simdgroup on, of which groups along n threads of work
// leave the fewest idle; of equal ones the largest.
func fewestIdle(n, most int) int {
	idle := func(threads int) int { return (threads - n%threads) % threads }
	best := most
	for t := most / 2; t >= simdWidth; t /= 2 {
		if idle(t) < idle(best) {
			best = t
		}
	}
	return best
}

// ceilPower is the least power of two that is n or more.
func ceilPower(n int) int { return 1 << bits.Len(uint(max(1, min(n, 1<<30))-1)) }

// floorPower is the largest power of two that is n or less.
func floorPower(n int) int { return 1 << bits.Len(uint(max(0, min(n, 1<<30)))) >> 1 }

// describe says in a comment what a group computes: its ops in order.
func describe(g *backend.Group) string {
	var names []string
	for _, in := range g.Insts {
		names = append(names, ir.RowOf(in.Op).Name)
	}
	if len(names) == 0 {
		names = []string{"copy"}
	}
	return strings.Join(slices.Compact(names), ", ")
}

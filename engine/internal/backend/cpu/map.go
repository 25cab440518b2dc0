package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
)

// mapGrain is how many elements make a piece of work that is worth another thread.
const mapGrain = 1 << 13

// mapStride is after how many elements a worker asks whether to go on.
const mapStride = 1 << 20

// compileMap runs elementwise instructions as one tile program over the whole space.
func compileMap(g *backend.Group) (func(*launch), error) {
	shape := g.Outputs[0].Shape
	p, err := tile.Compile(tile.Spec{
		Group: g, Shape: shape, Insts: instructions(g, nil), Outs: storedOuts(g.Outputs),
	})
	if err != nil {
		return nil, err
	}
	n := elementsOf(shape)
	states := perWorker{prog: p}
	return func(l *launch) {
		if n == 0 {
			return
		}
		states.bind(l)
		defer states.release()
		for _, s := range states.all {
			bindOuts(s, l, g.Outputs)
		}
		if width := p.BlockWidth(); width > 0 && width < n {
			runBlocks(l, &states, n, width)
			return
		}
		l.pool.Range(n, mapGrain, func(worker, lo, hi int) {
			for ; lo < hi && !l.pool.Stopped(); lo += mapStride {
				states.all[worker].Run(lo, min(mapStride, hi-lo))
			}
		})
	}, nil
}

// runBlocks evaluates n elements in blocks of rows, tile under tile.
func runBlocks(l *launch, states *perWorker, n, width int) {
	rows, across := (n+width-1)/width, (width+tile.Len-1)/tile.Len
	down := (rows + tile.BlockRows - 1) / tile.BlockRows
	l.pool.Range(down*across, 2, func(worker, lo, hi int) {
		for c := lo; c < hi; c++ {
			first := c / across * tile.BlockRows
			start := c % across * tile.Len
			for row := first; row < min(rows, first+tile.BlockRows); row++ {
				states.all[worker].Run(row*width+start, min(tile.Len, width-start))
			}
		}
	})
}

// perWorker keeps a state of a program for each worker.
type perWorker struct {
	prog    *tile.Program
	reserve int // elements for Fetch, if any
	all     []*tile.State
}

// bind points all states at a launch's memory.
func (p *perWorker) bind(l *launch) {
	for len(p.all) < l.pool.Threads() {
		s := p.prog.NewState()
		s.Reserve(p.reserve)
		p.all = append(p.all, s)
	}
	for _, s := range p.all {
		s.Bind(l.bufs, l.scalars)
	}
}

// release lets go of that memory.
func (p *perWorker) release() {
	for _, s := range p.all {
		s.Release()
	}
}

// bindOuts lets a program's outputs be those of the group, in order.
func bindOuts(s *tile.State, l *launch, outs []backend.Output) {
	for i := range outs {
		s.SetOut(i, l.pointer(outs[i].Buf), 0)
	}
}

// storedOuts are a group's outputs as those of a program.
func storedOuts(outs []backend.Output) []tile.Out {
	r := make([]tile.Out, len(outs))
	for i, o := range outs {
		r[i] = tile.Out{Value: o.Value, DType: o.DType}
	}
	return r
}

// pointer returns where the memory of Cmd.Bufs[i] starts.
func (l *launch) pointer(i int) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(l.bufs[i])) }

// instructions returns the indices of g's instructions that satisfy keep, in order; nil keeps all.
func instructions(g *backend.Group, keep func(i int) bool) []int {
	var list []int
	for i := range g.Insts {
		if keep == nil || keep(i) {
			list = append(list, i)
		}
	}
	return list
}

// elementsOf is the number of elements of a shape.
func elementsOf(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// shapeOf is the shape of a value of g.
func shapeOf(g *backend.Group, r backend.Ref) []int {
	if i, ok := r.Input(); ok {
		return g.Inputs[i].Layout.Shape
	}
	in := &g.Insts[r.Index]
	if in.Outs != nil {
		return in.Outs[r.Result].Shape
	}
	return in.Shape
}

// needed marks what the values refs are computed from, stopping at instructions for which stop is true.
func needed(g *backend.Group, refs []backend.Ref, stop func(i int) bool) map[int]bool {
	seen := map[int]bool{}
	var visit func(r backend.Ref)
	visit = func(r backend.Ref) {
		if _, ok := r.Input(); ok || seen[r.Index] || stop(r.Index) {
			return
		}
		seen[r.Index] = true
		for _, a := range g.Insts[r.Index].Args {
			visit(a)
		}
	}
	for _, r := range refs {
		visit(r)
	}
	return seen
}

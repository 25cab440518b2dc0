package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// mapGrain is how many elements make a piece of work that is worth another thread.
const mapGrain = 1 << 13

// compileMap runs elementwise instructions as one tile program over the whole space.
func compileMap(g *backend.Group, ls *listing) (func(*launch), error) {
	shape := g.Outputs[0].Shape
	p, err := tile.Compile(tile.Spec{
		Group: g, Shape: shape, Insts: instructions(g, nil), Outs: storedOuts(g, g.Outputs),
	})
	if err != nil {
		return nil, err
	}
	ls.program("over all elements", p)
	n := ir.Size(shape)
	if 0 < n && n <= mapGrain && len(g.Inputs)+len(g.Outputs) <= tile.MostPlain && p.Plain() {
		ls.quick = &quick{p, g.Outputs, n}
	}
	states := perWorker{prog: p, outs: g.Outputs}
	piece := func(worker, lo, hi int) {
		lo *= tile.Len
		states.at(worker).Run(lo, min(hi*tile.Len, n)-lo)
	}
	return func(l *launch) {
		if n == 0 {
			return
		}
		states.bind(l)
		defer states.release()
		if n <= mapGrain {
			states.at(0).Run(0, n)
			return
		}
		if width := p.BlockWidth(); width > 0 && width < n {
			runBlocks(l, &states, n, width)
			return
		}
		// Pieces begin where a line of memory does.
		l.pool.Range((n+tile.Len-1)/tile.Len, mapGrain/tile.Len, piece)
	}, nil
}

// A quick is a small map that the calling goroutine runs at once: it needs no memory beside its operands, so
// it takes no turn, and any number of them run side by side.
type quick struct {
	prog *tile.Program
	outs []backend.Output
	n    int
}

func (q *quick) run(c *backend.Launch, t *backend.Table) {
	var mem [tile.MostPlain]unsafe.Pointer
	for i, p := range c.Bufs {
		mem[i] = unsafe.Pointer(unsafe.SliceData(t.Bufs[p.Index].(*buffer).bytes[p.Offset:]))
	}
	q.prog.Once(&mem, q.outs, q.n)
}

// runBlocks evaluates n elements in blocks of rows, tile under tile.
func runBlocks(l *launch, states *perWorker, n, width int) {
	rows, across := (n+width-1)/width, (width+tile.Len-1)/tile.Len
	down := (rows + tile.BlockRows - 1) / tile.BlockRows
	l.pool.Range(down*across, 2, func(worker, lo, hi int) {
		for c := lo; c < hi && !l.pool.Stopped(); c++ {
			first := c / across * tile.BlockRows
			start := c % across * tile.Len
			for row := first; row < min(rows, first+tile.BlockRows); row++ {
				states.at(worker).Run(row*width+start, min(tile.Len, width-start))
			}
		}
	})
}

// perWorker keeps a state of a program for each worker. A state is bound to a launch's memory when its worker
// first asks for it, so that a small launch on a machine with many threads binds one.
type perWorker struct {
	prog    *tile.Program
	reserve int              // elements for Fetch, if any
	outs    []backend.Output // where outputs go, if they are the group's
	launch  *launch
	all     []workerState
}

type workerState struct {
	state *tile.State
	bound bool
}

// bind prepares the states for a launch.
func (p *perWorker) bind(l *launch) {
	if p.launch != nil { // which did not come to its end
		p.release()
	}
	p.launch = l
	for len(p.all) < l.pool.Threads() {
		p.all = append(p.all, workerState{})
	}
}

// at returns the state of a worker. Only that worker may ask for it inside of a loop.
func (p *perWorker) at(worker int) *tile.State {
	w := &p.all[worker]
	if w.bound {
		return w.state
	}
	if w.state == nil {
		w.state = p.prog.NewState()
		w.state.Reserve(p.reserve)
		w.state.Watch(p.launch.pool.Stopped)
	}
	w.state.Bind(p.launch.bufs, p.launch.scalars)
	for i := range p.outs {
		w.state.SetOut(i, p.launch.pointer(p.outs[i].Buf), 0)
	}
	w.bound = true
	return w.state
}

// release lets go of the launch's memory.
func (p *perWorker) release() {
	for i := range p.all {
		if p.all[i].bound {
			p.all[i].state.Release()
			p.all[i].bound = false
		}
	}
	p.launch = nil
}

// storedOuts are outputs of a group as those of a program.
func storedOuts(g *backend.Group, outs []backend.Output) []tile.Out {
	r := make([]tile.Out, len(outs))
	for i, o := range outs {
		r[i] = tile.Out{Value: o.Value, DType: o.DType, Stream: streams(g, &o)}
	}
	return r
}

// streams says whether an output of g is stored past the caches. A small one does not ask how fast that is.
func streams(g *backend.Group, o *backend.Output) bool {
	return streamsFrom(leastStreamed, g, o) && streamsFrom(streamBytes(), g, o)
}

// streamsFrom is streams for groups that store at least so many bytes.
func streamsFrom(least int, g *backend.Group, o *backend.Output) bool {
	if !o.Final || o.DType != dtype.F32 {
		return false
	}
	total := 0
	for i := range g.Outputs {
		if f := &g.Outputs[i]; f.Final && f.DType == dtype.F32 {
			total += 4 * ir.Size(f.Shape)
		}
	}
	return total >= least
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

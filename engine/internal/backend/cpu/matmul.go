package cpu

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A matMul is a compiled group of kind MatMul: its products in order. Each is a phase of the launch, so that
// a later one can read what an earlier one made.
type matMul struct {
	g       *backend.Group
	phases  []*phase
	places  map[backend.Ref]place // values that exist in memory
	scratch int                   // bytes
}

// A place is where a dense value is during a launch: in a buffer of the command, or in its scratch memory
// when buf is negative.
type place struct {
	buf    int
	offset int // bytes
	dtype  dtype.Type
}

// at returns the place's address.
func (p place) at(l *launch, scratch []byte) unsafe.Pointer {
	switch {
	case p == nowhere:
		return nil
	case p.buf < 0:
		return unsafe.Pointer(unsafe.SliceData(scratch[p.offset:]))
	}
	return unsafe.Add(l.pointer(p.buf), p.offset)
}

// A phase is one product and what follows it.
type phase struct {
	problem
	raw     place // of the product before the ending; nowhere if only the ending reads it
	product multiplier
	ending  ending // nil if nothing follows
	args    arguments
}

func compileMatMul(g *backend.Group, ls *listing) (func(*launch), error) {
	m := &matMul{g: g, places: map[backend.Ref]place{}}
	e := newEpilogues(g)
	for i := range g.Insts {
		if g.Insts[i].Op != ir.MatMul {
			continue
		}
		p := new(phase)
		if err := m.read(&p.problem, i); err != nil {
			return nil, err
		}
		p.product = newMultiplier(&p.problem, g.Insts[i].DType)
		if err := m.finish(p, i, e.after(i)); err != nil {
			return nil, err
		}
		m.phases = append(m.phases, p)
		ls.product(p)
		if ending, ok := p.ending.(*program); ok {
			ls.program("then, of each part while it is in the cache", ending.states.prog)
		}
	}
	for _, o := range g.Outputs {
		if _, ok := m.places[o.Value]; !ok {
			return nil, fmt.Errorf("output %v does not follow from a product", o.Value)
		}
	}
	return m.run, nil
}

// reserve returns a place for n elements in the scratch memory.
func (m *matMul) reserve(t dtype.Type, n int) place {
	p := place{buf: -1, offset: m.scratch, dtype: t}
	m.scratch += (n*t.Size() + alignment - 1) &^ (alignment - 1)
	return p
}

// run computes the phases one after the other.
func (m *matMul) run(l *launch) {
	scratch := l.scratch.bytes(m.scratch)
	for _, p := range m.phases {
		if p.size() == 0 {
			continue
		}
		p.run(l, scratch)
		if l.pool.Stopped() {
			return
		}
	}
}

// run computes the product of one launch.
func (p *phase) run(l *launch, scratch []byte) {
	if p.ending != nil {
		p.ending.bind(l, scratch)
		defer p.ending.release()
	}
	p.args.bind(l, scratch, &p.problem, p.raw)
	defer p.args.release()
	p.product.multiply(l, scratch, &p.args)
}

// A result is a value that is stored after a product: in a buffer of the launch, or where a later product
// reads it.
type result struct {
	value backend.Ref
	place place
}

// finish decides where the results of the product that instruction inst is are, and compiles what follows it.
func (m *matMul) finish(p *phase, inst int, e epilogue) error {
	raw, reg := backend.Ref{Index: inst}, tile.Register(m.g.Insts[inst].DType)
	results := m.results(p.size(), e)
	p.raw = m.sums(results, raw, reg, p.size())
	spec := tile.Spec{Group: m.g, Shape: m.g.Insts[inst].Shape, Insts: e.insts}
	var outs []place
	for _, r := range results {
		if r.value == raw && r.place == p.raw {
			continue
		}
		spec.Outs = append(spec.Outs, tile.Out{Value: r.value, DType: r.place.dtype})
		outs = append(outs, r.place)
	}
	switch {
	case len(spec.Outs) == 0:
		return nil
	case p.raw == nowhere && len(spec.Outs) == 1 && spec.Outs[0].Value == raw:
		p.ending = &rounding{m: p.m, n: p.n, to: outs[0]}
	default:
		spec.Given = append([]backend.Ref{raw}, e.given...)
		given := []place{p.raw}
		for _, v := range e.given {
			given = append(given, m.places[v])
		}
		prog, err := tile.Compile(spec)
		if err != nil {
			return err
		}
		p.ending = &program{m: p.m, n: p.n, states: perWorker{prog: prog}, given: given, outs: outs}
	}
	p.args.done = p.ending.part
	return nil
}

// results lists what is stored after a product with size elements, and notes where later phases find it.
func (m *matMul) results(size int, e epilogue) (list []result) {
	for _, o := range m.g.Outputs {
		if slices.Contains(e.values, o.Value) {
			list = append(list, result{o.Value, place{buf: o.Buf, dtype: o.DType}})
		}
	}
	for _, v := range e.values {
		t := tile.Register(m.g.Insts[v.Index].DType)
		at := slices.IndexFunc(list, func(r result) bool { return r.value == v && r.place.dtype == t })
		if at < 0 && e.inner[v] {
			list = append(list, result{v, m.reserve(t, size)})
			at = len(list) - 1
		}
		if at < 0 {
			at = slices.IndexFunc(list, func(r result) bool { return r.value == v }) // only stored
		}
		m.places[v] = list[at].place
	}
	return list
}

// sums is where the sums of the product raw are gathered, as numbers of reg: where the product itself is
// stored, if it is. Otherwise it is the only result, if that is as wide: the ending then changes the sums in
// place. Other sums of float32 are not kept.
func (m *matMul) sums(results []result, raw backend.Ref, reg dtype.Type, size int) place {
	at := slices.IndexFunc(results, func(r result) bool { return r.value == raw && r.place.dtype == reg })
	switch {
	case at >= 0:
		return results[at].place
	case len(results) == 1 && results[0].place.dtype == reg:
		return results[0].place
	case reg == dtype.F32:
		return nowhere
	}
	return m.reserve(reg, size)
}

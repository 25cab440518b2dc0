package plan

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/profile"
)

// A state is what one run of a plan fills in; it is kept and used again.
type state struct {
	cmds    []backend.Cmd
	slices  []backend.Slice // of all commands, one after the other
	scalars []ir.Scalar     // likewise
	values  []ir.Scalar     // of the exprs
	blocks  []*backend.Block
	arena   ir.Buffer
	times   []time.Duration
}

func (p *plan) newState() *state {
	s := &state{
		cmds: make([]backend.Cmd, len(p.cmds)), values: make([]ir.Scalar, len(p.scalars)),
		blocks: make([]*backend.Block, len(p.blocks)), times: make([]time.Duration, len(p.cmds)),
	}
	bufs, scalars := 0, 0
	for i := range p.cmds {
		bufs += len(p.cmds[i].bufs)
		scalars += len(p.cmds[i].scalars)
	}
	s.slices, s.scalars = make([]backend.Slice, bufs), make([]ir.Scalar, scalars)
	bufs, scalars = 0, 0
	for i := range p.cmds {
		c := &p.cmds[i]
		s.cmds[i] = backend.Cmd{
			Kernel:  c.kernel,
			Bufs:    s.slices[bufs : bufs+len(c.bufs)],
			Scalars: s.scalars[scalars : scalars+len(c.scalars)],
		}
		bufs += len(c.bufs)
		scalars += len(c.scalars)
	}
	return s
}

// run executes the plan for the leaves and constants of w and stores the results in outs.
func (p *plan) run(ctx context.Context, w *ir.Graph, outs []*ir.Node, reused bool) error {
	if err := hold(w); err != nil {
		return err
	}
	defer letGo(w)
	s := p.states.Get().(*state)
	defer p.release(s)
	if err := p.bind(s, w); err != nil {
		return err
	}
	listened, timed := profile.Launching(len(s.cmds))
	var times []time.Duration
	if timed {
		times = s.times
	}
	if err := p.submit(ctx, s, times); err != nil {
		return err
	}
	if listened {
		profile.Report(p.launches, times, reused)
	}
	for i, o := range outs {
		if o.Value() == nil {
			o.SetValue(p.data(s, w, i))
		}
	}
	return nil
}

// submit runs the commands. Those that change leaves and what comes after them are not stopped: a training step is made
// or not made, never half.
func (p *plan) submit(ctx context.Context, s *state, times []time.Duration) error {
	for _, part := range [...]struct {
		ctx      context.Context
		from, to int
	}{{ctx, 0, p.atOnce}, {context.WithoutCancel(ctx), p.atOnce, len(s.cmds)}} {
		if part.from == part.to {
			continue
		}
		var t []time.Duration
		if times != nil {
			t = times[part.from:part.to]
		}
		if err := p.dev.Backend().Submit(part.ctx, s.cmds[part.from:part.to], t); err != nil {
			return err
		}
	}
	return nil
}

// hold keeps the memory of w's leaves from being given back while a plan runs, and letGo ends that.
func hold(w *ir.Graph) error {
	for i, d := range w.Leaves {
		if d.Freed || !d.Buf.(*backend.Block).Hold() {
			for _, d := range w.Leaves[:i] {
				d.Buf.(*backend.Block).Release()
			}
			n := w.Nodes[slices.Index(w.LeafOf, int32(i))]
			return fmt.Errorf("got %v, which was freed, want its value: evaluate what reads a tensor before it is freed", n)
		}
	}
	return nil
}

func letGo(w *ir.Graph) {
	for _, d := range w.Leaves {
		d.Buf.(*backend.Block).Release()
	}
}

// bind allocates memory and fills the commands in.
func (p *plan) bind(s *state, w *ir.Graph) error {
	p.dev.Running(p.bytes)
	seen := p.seen(w)
	for i, n := range p.blocks {
		if t, ok := p.taken[i]; ok && !seen[t.leaf] {
			s.blocks[i] = w.Leaves[t.leaf].Buf.(*backend.Block)
			s.blocks[i].Hold()
			continue
		}
		b, err := p.dev.Alloc(n)
		if err != nil {
			return err
		}
		s.blocks[i] = b
	}
	if p.arena > 0 {
		var err error
		if s.arena, err = p.dev.Scratch(p.arena); err != nil {
			return err
		}
	}
	evalScalars(p.scalars, w.Consts, s.values)
	n, k := 0, 0
	for i := range p.cmds {
		for _, from := range p.cmds[i].bufs {
			s.slices[n] = p.slice(s, w, from)
			n++
		}
		for _, e := range p.cmds[i].scalars {
			s.scalars[k] = s.values[e]
			k++
		}
	}
	return nil
}

// seen says of the leaves whose memory a result may take which it may not, because somebody would see it.
func (p *plan) seen(w *ir.Graph) map[int]bool {
	if len(p.taken) == 0 {
		return nil
	}
	seen := make(map[int]bool, len(p.taken))
	for i, elsewhere := range w.ReadElsewhere(p.unseen) {
		// A leaf and this evaluation hold the memory; whoever else does has another view of it, or uses it.
		seen[p.unseen[i]] = elsewhere || w.Leaves[p.unseen[i]].Buf.(*backend.Block).Holders() > 2
	}
	for _, t := range p.taken {
		shared := func(d *ir.Data) bool { return d.Buf == w.Leaves[t.leaf].Buf }
		if !t.unseen && (slices.ContainsFunc(w.Leaves[:t.leaf], shared) || slices.ContainsFunc(w.Leaves[t.leaf+1:], shared)) {
			seen[t.leaf] = true
		}
	}
	return seen
}

func (p *plan) slice(s *state, w *ir.Graph, from source) backend.Slice {
	switch from.kind {
	case fromLeaf:
		return backend.Slice{Buf: w.Leaves[from.index].Buf.(*backend.Block).Raw()}
	case fromBlock:
		return backend.Slice{Buf: s.blocks[from.index].Raw()}
	}
	return backend.Slice{Buf: s.arena, Offset: from.index}
}

// data is the value of output i.
func (p *plan) data(s *state, w *ir.Graph, i int) *ir.Data {
	o := &p.outs[i]
	b := (*backend.Block)(nil)
	if o.source.kind == fromLeaf {
		b = w.Leaves[o.source.index].Buf.(*backend.Block)
	} else {
		b = s.blocks[o.source.index]
	}
	b.Hold()
	return &ir.Data{Buf: b, Layout: o.layout}
}

// release takes the state back without what would keep memory alive. Outputs that became values have holders of their own.
func (p *plan) release(s *state) {
	if s.arena != nil {
		p.dev.GiveBack(s.arena)
	}
	s.arena = nil
	for _, b := range s.blocks {
		if b != nil {
			b.Release()
		}
	}
	clear(s.blocks)
	clear(s.slices)
	p.states.Put(s)
}

package plan

import (
	"context"
	"fmt"
	"runtime"
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
	if len(s.cmds) > 0 {
		err := p.dev.Backend().Submit(ctx, s.cmds, times)
		runtime.KeepAlive(w) // its leaves' blocks, whose raw memory the commands used
		if err != nil {
			return err
		}
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

// bind allocates memory and fills the commands in.
func (p *plan) bind(s *state, w *ir.Graph) error {
	p.dev.Running(p.bytes)
	for i, d := range w.Leaves {
		if d.Buf.(*backend.Block).Raw() == nil {
			return fmt.Errorf("plan: stored tensor %d was given back: it belonged to an optimizer that made another step", i)
		}
	}
	for i, n := range p.blocks {
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
	for _, leaf := range p.overwritten {
		if err := p.unshare(w, leaf); err != nil {
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

// unshare gives a leaf that the plan changes memory of its own, if others of the plan's leaves lie in the same.
func (p *plan) unshare(w *ir.Graph, leaf int) error {
	data := w.Leaves[leaf]
	shared := func(d *ir.Data) bool { return d.Buf == data.Buf }
	if !slices.ContainsFunc(w.Leaves[:leaf], shared) && !slices.ContainsFunc(w.Leaves[leaf+1:], shared) {
		return nil
	}
	host := make([]byte, data.Buf.Bytes())
	b, err := p.dev.Alloc(len(host))
	if err != nil {
		return err
	}
	if err := p.dev.Download(host, data.Buf, 0); err != nil {
		return err
	}
	if err := p.dev.Upload(b, 0, host); err != nil {
		return err
	}
	w.Leaves[leaf] = &ir.Data{Buf: b, Layout: data.Layout}
	return nil
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
	if o.source.kind == fromLeaf {
		return &ir.Data{Buf: w.Leaves[o.source.index].Buf, Layout: o.layout}
	}
	return &ir.Data{Buf: s.blocks[o.source.index], Layout: o.layout}
}

// release takes the state back without what would keep memory alive.
func (p *plan) release(s *state) {
	if s.arena != nil {
		p.dev.GiveBack(s.arena)
	}
	s.arena = nil
	clear(s.blocks)
	clear(s.slices)
	p.states.Put(s)
}

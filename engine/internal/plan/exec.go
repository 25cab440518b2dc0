package plan

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/events"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A state is what one run of a plan fills in; it is kept and used again.
type state struct {
	cmds    []backend.Cmd
	slices  []backend.Slice // of all commands, one after the other
	scalars []ir.Scalar     // likewise
	values  []ir.Scalar     // of the exprs
	blocks  []*backend.Block
	takes   []bool // which of them lie in a leaf's memory
	arena   ir.Buffer
	times   []time.Duration
}

func (p *plan) newState() *state {
	s := &state{
		cmds: make([]backend.Cmd, len(p.cmds)), values: make([]ir.Scalar, len(p.scalars)),
		blocks: make([]*backend.Block, len(p.blocks)), takes: make([]bool, len(p.blocks)), times: make([]time.Duration, len(p.cmds)),
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

// inputs are the leaves and numbers that a plan is run with.
type inputs struct {
	leaves  []*ir.Data
	consts  []ir.Scalar
	nodes   []*ir.Node     // that hold the leaves; nil for a leaf that no result may replace
	readers int            // how many readers of a leaf are the run's own: 1, or 0 if its graph was thrown away
	spend   bool           // the results are given back: none may lie in the memory of a leaf
	records events.Records // that are told
	asked   time.Time      // when the evaluation was asked for, if somebody traces it
	graph   *ir.Graph      // the walk; nil for a captured plan
	origins [][]ir.Origin  // of a captured plan
	keep    []int          // of a captured plan: the leaf whose Data stands for output i if that lies in its memory, or -1
}

// name is what an error calls a leaf.
func (in *inputs) name(leaf int) string {
	if n := in.nodes[leaf]; n != nil {
		return n.String()
	}
	return "a tensor"
}

// run executes the plan and calls result with the value of each output; nothing holds it yet but the result
// itself.
func (p *plan) run(ctx context.Context, in *inputs, reused bool, result func(i int, d *ir.Data)) error {
	records := in.records
	planned := traceTime(records)
	if err := in.hold(); err != nil {
		return err
	}
	defer in.release()
	s := p.states.Get().(*state)
	defer p.release(s)
	if err := p.bind(s, in); err != nil {
		return err
	}
	var times []time.Duration
	if records.Timed() {
		times = s.times
	}
	submitted := traceTime(records)
	unsound, err := p.submit(ctx, s, in, times)
	if err != nil {
		return err
	}
	records.Ran(p.work, times, reused)
	if records.Tracing() {
		records.Traced(events.Run{Work: p.work, Began: in.asked, Planned: planned, Submitted: submitted, Ended: time.Now(), Reused: reused, Stack: ir.Stack(),
			Times: slices.Clone(times), Origins: p.originsOf(in)})
	}
	p.markReplaced(s, in)
	for i := range p.outs {
		result(i, p.data(s, in, i))
	}
	return unsound
}

// submit runs the commands. Those that change leaves and what comes after them are not stopped: a training
// step is made or not made, never half. Unsound is an error about their results, which are there all the
// same.
func (p *plan) submit(ctx context.Context, s *state, in *inputs, times []time.Duration) (unsound, err error) {
	if guarded(ctx) {
		return p.submitGuarded(ctx, s, in, func(ctx context.Context, i int) error { return p.submitPart(ctx, s, times, i, i+1) })
	}
	return nil, p.submitAll(ctx, s, times)
}

func (p *plan) submitAll(ctx context.Context, s *state, times []time.Duration) error {
	if err := p.submitPart(ctx, s, times, 0, p.atOnce); err != nil || p.atOnce == len(s.cmds) {
		return err
	}
	return p.submitPart(context.WithoutCancel(ctx), s, times, p.atOnce, len(s.cmds))
}

// submitPart runs some of the commands.
func (p *plan) submitPart(ctx context.Context, s *state, times []time.Duration, from, to int) error {
	if from == to {
		return nil
	}
	if times != nil {
		times = times[from:to]
	}
	return p.dev.Backend().Submit(ctx, s.cmds[from:to], times)
}

// hold keeps the memory of the leaves from being given back while a plan runs, and release ends that.
func (in *inputs) hold() error {
	for i, d := range in.leaves {
		if d.Freed || !d.Buf.(*backend.Block).Hold() {
			for _, d := range in.leaves[:i] {
				d.Buf.(*backend.Block).Release()
			}
			return fmt.Errorf("got %v, which was freed, want its value: evaluate what reads a tensor before it is freed", in.name(i))
		}
	}
	return nil
}

func (in *inputs) release() {
	for _, d := range in.leaves {
		d.Buf.(*backend.Block).Release()
	}
}

// bind allocates memory and fills the commands in.
func (p *plan) bind(s *state, in *inputs) error {
	p.dev.Running(p.bytes)
	p.look(s, in)
	for i, n := range p.blocks {
		if s.takes[i] {
			s.blocks[i] = in.leaves[p.taken[i].leaf].Buf.(*backend.Block)
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
	evalScalars(p.scalars, in.consts, s.values)
	n, k := 0, 0
	for i := range p.cmds {
		for _, from := range p.cmds[i].bufs {
			s.slices[n] = p.slice(s, in, from)
			n++
		}
		for _, e := range p.cmds[i].scalars {
			s.scalars[k] = s.values[e]
			k++
		}
	}
	return nil
}

func (p *plan) slice(s *state, in *inputs, from source) backend.Slice {
	switch from.kind {
	case fromLeaf:
		return backend.Slice{Buf: in.leaves[from.index].Buf.(*backend.Block).Raw()}
	case fromBlock:
		return backend.Slice{Buf: s.blocks[from.index].Raw()}
	}
	return backend.Slice{Buf: s.arena, Offset: from.index}
}

// data is the value of output i.
func (p *plan) data(s *state, in *inputs, i int) *ir.Data {
	o := &p.outs[i]
	var b *backend.Block
	if o.source.kind == fromLeaf {
		b = in.leaves[o.source.index].Buf.(*backend.Block)
	} else {
		b = s.blocks[o.source.index]
	}
	if in.keep != nil && in.keep[i] >= 0 && in.leaves[in.keep[i]].Buf == b {
		return in.leaves[in.keep[i]]
	}
	b.Hold()
	return &ir.Data{Buf: b, Layout: o.layout}
}

// release takes the state back, and lets go of all memory. Outputs that became values have holders of their
// own.
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

package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/events"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/internal/few"
)

// A state is what one run of a plan fills in; it is kept and used again.
type state struct {
	table  backend.Table // its numbers are the values of the exprs
	blocks []*backend.Block
	reuses []bool         // which of them lie in the memory of a leaf
	given  []bool         // which of them a result holds in the run's stead
	claim  *backend.Claim // of that memory; nil if there is none
	arena  ir.Buffer
	times  []time.Duration
	ran    events.Run // what of it somebody traces is for one run
}

func (p *plan) newState() *state {
	return &state{
		table:  backend.Table{Bufs: make([]ir.Buffer, p.program.Bufs), Scalars: make([]ir.Scalar, len(p.scalars))},
		blocks: make([]*backend.Block, len(p.blocks)), reuses: make([]bool, len(p.blocks)), given: make([]bool, len(p.blocks)),
		times: make([]time.Duration, len(p.program.Launches)),
	}
}

// inputs are the leaves and numbers that a plan is run with.
type inputs struct {
	leaves  []*ir.Data
	consts  []ir.Scalar
	nodes   []*ir.Node      // that hold the leaves; nil for a leaf that nothing replaces
	readers int             // how many readers of a leaf are the run's own: 1, or 0 if its graph was thrown away
	discard bool            // the results are given back: none may lie in the memory of a leaf
	records *events.Records // that are told
	asked   time.Duration   // when the evaluation was asked for, if somebody traces it
	graph   *ir.Graph       // the walk; nil for a captured plan
	origins [][]ir.Origin   // of a captured plan
	keep    []int           // of a captured plan: the leaf whose Data stands for output i if that lies in its memory, or -1
	kept    []bool          // of a captured plan: which leaves a result may replace
	state   *state          // of a captured plan: its own
}

// name is what an error calls a leaf.
func (in *inputs) name(leaf int) string {
	if n := in.nodes[leaf]; n != nil {
		return n.String()
	}
	return "a tensor"
}

// execute runs the plan and calls result with the value of each output; nothing holds it yet but the result
// itself.
func (p *plan) execute(ctx context.Context, in *inputs, reused bool, result func(i int, d *ir.Data)) error {
	records := in.records
	if err := in.retain(); err != nil {
		return err
	}
	s := in.state
	if s == nil {
		s = p.states.Get().(*state)
	}
	defer p.end(s, in) // one, which costs less than several
	if err := p.bind(s, in); err != nil {
		return err
	}
	var times []time.Duration
	if records.Timed() {
		times = s.times
	}
	unsound, err := p.submit(ctx, s, in, times)
	if err != nil {
		return err
	}
	p.flies(ctx, s, in)
	ran := &s.ran
	ran.Work, ran.Times, ran.Reused = p.work, times, reused
	if records.Tracing() {
		ran.Began, ran.Planned, ran.Ended, ran.Stack, ran.Origins = in.asked, s.table.Began, s.table.Ended, ir.Stack(ctx), p.originsOf(in)
		if ran.Ended == 0 {
			ran.Ended = events.Now()
		}
		ran.Planned = cmp.Or(ran.Planned, ran.Ended) // nothing may have been launched
	}
	records.Ran(ran)
	p.markReplaced(s, in)
	p.endClaims(s)
	for i := range p.outs {
		result(i, p.data(s, in, i))
	}
	return unsound
}

// submit runs the program. The launches that change leaves and what comes after them are not stopped: a
// training step is made or not made, never half. Unsound is an error about their results, which are there all
// the same.
func (p *plan) submit(ctx context.Context, s *state, in *inputs, times []time.Duration) (unsound, err error) {
	if Guarded(ctx) {
		return p.submitGuarded(ctx, s, in, times)
	}
	return nil, p.dev.Seen(p.dev.Backend().Run(ctx, p.loaded, &s.table, times))
}

// flies notes a run that is under way, or that reads what such a run writes.
func (p *plan) flies(ctx context.Context, s *state, in *inputs) {
	o := s.table.Outcome()
	var last ir.Run // leaves of one run stand side by side
	for _, d := range in.leaves {
		if d.Run == nil || d.Run == last {
			continue
		}
		last = d.Run
		if o == nil {
			o = s.table.Later()
			o.CannotFail()
			o.Finish(nil)
		}
		o.After(d.Run.(*backend.Outcome))
	}
	if o != nil {
		p.dev.Track(ctx, o)
	}
}

// errMoved says that another goroutine gave a leaf a value that lies otherwise in memory than the plan was
// made for.
var errMoved = errors.New("got a tensor that changes its layout meanwhile")

// retain keeps the memory of the leaves from being given back while a plan runs, and release ends that. A
// leaf that another goroutine gave a new value since it was looked up has that.
func (in *inputs) retain() error {
	var sound ir.Run // the last one that has no error
	for i, d := range in.leaves {
		if err := in.hold(i); err != nil {
			for _, d := range in.leaves[:i] {
				d.Buf.(*backend.Block).Release()
			}
			return err
		}
		d = in.leaves[i]
		if d.Run == nil || d.Run == sound {
			continue
		}
		sound = d.Run
		if d.Run.Err() != nil {
			for _, d := range in.leaves[:i+1] {
				d.Buf.(*backend.Block).Release()
			}
			return d.Run.Err()
		}
	}
	return nil
}

// hold retains one leaf.
func (in *inputs) hold(i int) error {
	d, n := in.leaves[i], in.nodes[i]
	if n == nil && !d.Freed && d.Buf.(*backend.Block).Retain() {
		return nil
	}
	var now *ir.Data
	if n != nil {
		now = backend.Hold(n)
	}
	switch {
	case now == nil:
		return fmt.Errorf("got %v, which was freed, want its value: evaluate what reads a tensor before it is freed", in.name(i))
	case now != d && (now.Layout.Offset != d.Layout.Offset || now.Room != d.Room || !slices.Equal(now.Layout.Stride, d.Layout.Stride)):
		now.Buf.(*backend.Block).Release()
		if in.graph == nil && d.Buf.(*backend.Block).Retain() { // what was captured has no walk to make again
			return nil
		}
		return errMoved
	}
	in.leaves[i] = now
	return nil
}

func (in *inputs) release() {
	for _, d := range in.leaves {
		d.Buf.(*backend.Block).Release()
	}
}

// bind allocates memory and fills the table in.
func (p *plan) bind(s *state, in *inputs) error {
	p.dev.Running(p.bytes)
	p.claimReplaced(s, in)
	for i, n := range p.blocks {
		if s.reuses[i] {
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
	evalScalars(p.scalars, in.consts, s.table.Scalars)
	bufs := s.table.Bufs
	for i, d := range in.leaves {
		bufs[i] = d.Buf.(*backend.Block).Raw()
	}
	bufs = bufs[len(in.leaves):]
	for i, b := range s.blocks {
		bufs[i] = b.Raw()
	}
	bufs[len(s.blocks)] = s.arena
	return nil
}

// data is the value of output i.
func (p *plan) data(s *state, in *inputs, i int) *ir.Data {
	o := &p.outs[i]
	var b *backend.Block
	var run ir.Run
	if o.source.kind == fromLeaf {
		leaf := in.leaves[o.source.index]
		b, run = leaf.Buf.(*backend.Block), leaf.Run
	} else {
		b = s.blocks[o.source.index]
		if outcome := s.table.Outcome(); outcome != nil {
			run = outcome
		}
	}
	if in.keep != nil && in.keep[i] >= 0 && in.leaves[in.keep[i]].Buf == b && (run == nil || p.reused[o.source.index].whole) {
		return in.leaves[in.keep[i]] // which is as it was if the run fails
	}
	if o.source.kind == fromLeaf || s.given[o.source.index] {
		b.Retain()
	} else {
		s.given[o.source.index] = true
	}
	if o.source.kind == fromLeaf || s.reuses[o.source.index] { // others have b, too
		return &ir.Data{Buf: b, Layout: &o.layout, Run: run}
	}
	return b.Data(&o.layout, run)
}

// end takes the state back, and lets go of all memory. Outputs that became values have holders of their own.
func (p *plan) end(s *state, in *inputs) {
	p.endClaims(s)
	if s.arena != nil {
		p.dev.GiveBack(s.arena)
		s.arena = nil
	}
	for i, b := range s.blocks {
		if b != nil && !s.given[i] {
			b.Release()
		}
		s.blocks[i], s.given[i] = nil, false
	}
	few.Clear(s.table.Bufs)
	s.table.Reset()
	if in.records.Tracing() {
		s.ran = events.Run{}
	}
	in.release()
	if in.state == nil {
		p.states.Put(s)
	}
}

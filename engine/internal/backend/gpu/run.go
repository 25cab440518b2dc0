package gpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
	"github.com/mcs-notebook/mcs/internal/ticks"
)

// mostFlying is how many runs may be under way: enough that the device never waits for the host.
const mostFlying = 32

// A loaded is a program with the layout of what a run hands to the device in one copy: the word that says
// whether a fault was reported, the fault records, and the argument structs of all dispatches.
//
//	| stop, 64 bytes | a record for each launch that can fault | structs, each aligned to 256 bytes |
//
// Where the host does not see the block, a kernel that faults writes its record to the host's memory: so a
// run without a fault, as nearly all are, copies nothing back. In CUDA a launch carries its struct, and the
// structs that are too long for that follow the others, so that the copy leaves most of them out.
//
// Buffers and numbers reach kernels through the structs alone. So where a stream records, the second run in a
// slot records its dispatches as a graph, and later ones replay that with whatever memory their tables have:
// structs that differ from those of the run before are bound anew. But a library gets addresses: a slot whose
// program has products of a library records when a run has those of the run before, and replays for runs with
// the same ones. A run with the memory and the numbers of the one before in its slot, such as that of the
// next token, finds all in place: it is the launch of the graph.
type loaded struct {
	b      *Backend
	p      *backend.Program
	faults []int   // offset of each launch's record, or -1
	args   [][]int // offset of each dispatch's struct
	first  []int   // of each launch, its first dispatch among all
	bytes  int
	copied int   // bytes that the device reads: all but the structs that launches carry
	ends   int   // of the records
	writes []int // places of a table that are written
	reads  bool  // whether a dispatch reads the block
	waits  bool  // whether a library may wait for the device, so that no graph can be recorded
	early  bool  // whether kernels begin early: between a library's it costs more than it gives

	slots  []*slot // that no run uses; Backend.mu guards what follows
	made   int     // slots that there are
	closed bool
}

// stopWord is how many bytes stand before the fault records.
const stopWord = 64

// aligned is what a constant's address must be a multiple of, on every device.
const aligned = 256

// Load lays the arguments out.
func (b *Backend) Load(p *backend.Program) (backend.Loaded, error) {
	l := &loaded{b: b, p: p, bytes: stopWord}
	for i := range p.Launches {
		at := -1
		if p.Launches[i].Kernel.(*compiled).kernel.Fault != nil {
			at = l.bytes
			l.bytes += (kernel.FaultSize + 15) &^ 15
		}
		l.faults = append(l.faults, at)
	}
	l.ends, l.early = l.bytes, true
	dispatches := 0
	for i := range p.Launches {
		c := p.Launches[i].Kernel.(*compiled)
		l.first = append(l.first, dispatches)
		l.args = append(l.args, make([]int, len(c.kernel.Dispatches)))
		dispatches += len(c.kernel.Dispatches)
		for n, d := range c.kernel.Dispatches {
			l.reads = l.reads || c.calls[n] == nil && (!b.carries(&d) || slices.ContainsFunc(d.Args.Fields, func(f kernel.Field) bool { return f.Kind == kernel.Stop }))
			if l.early = l.early && c.calls[n] == nil; d.Library != nil {
				_, solves := d.Library.Work.(ir.Routine)
				l.waits = l.waits || solves
			}
		}
		for _, n := range c.writes {
			l.writes = append(l.writes, p.Launches[i].Bufs[n].Index)
		}
	}
	l.lay(false)
	l.copied = l.bytes
	l.lay(true)
	slices.Sort(l.writes)
	l.writes = slices.Compact(l.writes)
	return l, nil
}

// carries says whether the launch of a dispatch carries its struct.
func (b *Backend) carries(d *kernel.Dispatch) bool { return b.info.Language == CUDA && d.Carried() }

// lay finds places for the structs that launches carry, or for the others.
func (l *loaded) lay(carried bool) {
	for i := range l.p.Launches {
		for n, d := range l.p.Launches[i].Kernel.(*compiled).kernel.Dispatches {
			if l.b.carries(&d) == carried {
				l.args[i][n] = (l.bytes + aligned - 1) &^ (aligned - 1)
				l.bytes = l.args[i][n] + d.Args.Size
			}
		}
	}
}

// Close gives the slots back; that of a run under way follows when it is done.
func (l *loaded) Close() {
	l.b.mu.Lock()
	defer l.b.mu.Unlock()
	l.closed = true
	for _, s := range l.slots {
		l.b.drop(s)
	}
	l.slots = nil
}

// A run is work that was handed to the device.
type run struct {
	b       *Backend
	event   Event
	done    bool
	staged  []Buffer // of a transfer, free again when it is done
	program *loaded
	slot    *slot
	outcome *backend.Outcome
}

// commit hands the encoded work to the device. b.mu is held.
func (b *Backend) commit(r *run) error {
	e, err := b.compute.Commit()
	if err != nil {
		r.done = true
		for _, m := range r.staged {
			b.unstage(m)
		}
		if r.slot != nil {
			b.drop(r.slot)
		}
		return b.failed(err)
	}
	r.event = e
	b.flying = append(b.flying, r)
	return nil
}

// end finishes the run's outcome, and takes back its memory. b.mu is held.
func (r *run) end(err error) {
	r.done = true
	if err == nil && r.slot != nil && r.program.ends > stopWord {
		err = r.fault()
	}
	if r.outcome != nil {
		r.outcome.Finish(err)
	}
	for _, m := range r.staged {
		r.b.unstage(m)
	}
	switch {
	case r.slot == nil:
	case r.program.closed || err != nil:
		r.b.drop(r.slot)
	default:
		r.program.slots = append(r.program.slots, r.slot)
	}
	r.event.Close()
}

// fault returns the error that the first launch with a report explains, or nil.
func (r *run) fault() error {
	records := r.slot.records().Host()
	for i, at := range r.program.faults {
		if at < 0 {
			continue
		}
		if position, value, known, found := kernel.ReadFault(records[at:]); found {
			return fmt.Errorf("%s: %w", r.b.name, r.program.p.Launches[i].Kernel.(*compiled).kernel.Fault(position, value, known))
		}
	}
	return nil
}

// Run fills the argument structs in, encodes the dispatches and hands all over in one commit. With times it
// commits each launch by itself and waits for it.
func (b *Backend) Run(ctx context.Context, p backend.Loaded, t *backend.Table, times []time.Duration) error {
	if ctx.Err() != nil {
		return backend.Interrupted(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.wait(ctx, mostFlying); err != nil {
		return err
	}
	l := p.(*loaded)
	if len(l.p.Launches) == 0 {
		return nil
	}
	memory, err := b.slot(l, t)
	if err != nil {
		return err
	}
	if err := b.drain(false); err != nil { // now, because a commit follows
		return err
	}
	r := &run{b: b, program: l, slot: memory, outcome: t.Later()}
	if l.ends == stopWord { // nothing can report a fault
		r.outcome.CannotFail()
	}
	l.wrote(r, t)
	if times != nil {
		l.fill(memory, t)
		return b.timed(ctx, r, t, l.leftOut(t), times)
	}
	if err := b.encode(r, t); err != nil {
		return b.abandon(r, err)
	}
	return b.commit(r)
}

// encode encodes a run: by its graph, if it has one of the same work; the second run in a slot records it.
func (b *Backend) encode(r *run, t *backend.Table) error {
	s := r.slot
	if s.repeats && s.graph != nil {
		return s.graph.Replay(b.compute)
	}
	r.program.fill(s, t)
	if err := b.begin(r); err != nil {
		return err
	}
	s.runs++
	recorder, records := b.compute.(Recorder)
	pinned, left := r.program.pinned(t), r.program.leftOut(t)
	same := slices.Equal(s.pinned, pinned)
	if s.graph != nil && same && slices.Equal(s.left, left) {
		err := r.program.bind(s)
		if err == nil {
			return s.graph.Replay(b.compute)
		}
		if !errors.Is(err, Unsupported) {
			return err
		}
		same = false
	}
	if !same && s.graph != nil {
		s.graph.Close()
		s.graph = nil
	}
	s.pinned = pinned
	if s.runs == 1 || !same || !records || r.program.waits {
		return b.all(r, t, left, false)
	}
	if err := recorder.Record(); err != nil {
		return err
	}
	err := b.all(r, t, left, true)
	graph, failed := recorder.Finish()
	if err = errors.Join(err, failed); err != nil {
		if graph != nil {
			graph.Close()
		}
		return err
	}
	if s.graph != nil {
		s.graph.Close()
	}
	s.graph, s.left, s.bound = graph, left, slices.Clone(s.args())
	return graph.Replay(b.compute)
}

// bind lets the graph of a slot carry the structs as they are filled in now.
func (l *loaded) bind(s *slot) error {
	number, structs := 0, s.args()
	for i := range l.p.Launches {
		c := l.p.Launches[i].Kernel.(*compiled)
		for n := range c.kernel.Dispatches {
			if c.calls[n] != nil || s.left[l.first[i]+n] {
				continue
			}
			at, d := l.args[i][n], &c.kernel.Dispatches[n]
			now := structs[at : at+d.Args.Size]
			if l.b.carries(d) && !bytes.Equal(now, s.bound[at:at+d.Args.Size]) {
				if err := s.graph.Bind(number, []Arg{{Bytes: now}}); err != nil {
					return err
				}
				copy(s.bound[at:], now)
			}
			number++
		}
	}
	return nil
}

// all encodes the dispatches of a run.
func (b *Backend) all(r *run, t *backend.Table, left []bool, recorded bool) error {
	for i := range r.program.p.Launches {
		if err := b.launch(r, t, i, left, recorded); err != nil {
			return err
		}
	}
	return nil
}

// begin copies what the program's dispatches read. Where there are but calls of libraries that would be some
// microseconds for nothing.
func (b *Backend) begin(r *run) error {
	if r.slot.host == nil || !r.program.reads {
		return nil
	}
	return errors.Join(b.compute.Copy(r.slot.block, 0, r.slot.host, 0, r.program.copied), b.compute.Barrier())
}

// wrote notes the run at the buffers that it uses, and at those that it writes.
func (l *loaded) wrote(r *run, t *backend.Table) {
	for _, m := range t.Bufs {
		if m != nil {
			m.(*buffer).used = r
		}
	}
	for _, n := range l.writes {
		t.Bufs[n].(*buffer).written = r
	}
}

// leftOut says of each dispatch, over all launches, whether it would copy memory to itself.
func (l *loaded) leftOut(t *backend.Table) []bool {
	var left []bool
	for i := range l.p.Launches {
		launch := &l.p.Launches[i]
		for _, d := range launch.Kernel.(*compiled).kernel.Dispatches {
			s := d.Same
			left = append(left, s != nil && t.At(launch.Bufs[s[0]]) == t.At(launch.Bufs[s[1]]))
		}
	}
	return left
}

// pinned is what a library gets for its products in a run.
func (l *loaded) pinned(t *backend.Table) (list []pin) {
	for i := range l.p.Launches {
		launch := &l.p.Launches[i]
		c := launch.Kernel.(*compiled)
		for _, by := range c.calls {
			if by != nil {
				list = append(list, by.operands(launch, t).pin())
			}
		}
	}
	return list
}

// fill writes the word, the records and the structs.
func (l *loaded) fill(s *slot, t *backend.Table) {
	dst, base, records := s.args(), s.block.Address(), s.records()
	for i := range dst[:stopWord] {
		dst[i] = 0xff
	}
	if l.ends > stopWord {
		for i := range records.Host()[stopWord:l.ends] {
			records.Host()[stopWord+i] = 0xff
		}
	}
	for i := range l.p.Launches {
		launch := &l.p.Launches[i]
		c := launch.Kernel.(*compiled)
		at := kernel.Addresses{Stop: base, Buffers: make([]uint64, len(launch.Bufs))}
		for n, place := range launch.Bufs {
			s := t.At(place)
			at.Buffers[n] = s.Buf.(*buffer).Address() + uint64(s.Offset)
		}
		if c.kernel.Scratch > 0 {
			s := t.At(launch.Scratch)
			at.Scratch = s.Buf.(*buffer).Address() + uint64(s.Offset)
		}
		if c.table != nil {
			at.Table = c.table.Address()
		}
		if l.faults[i] >= 0 {
			at.Fault = records.Address() + uint64(l.faults[i])
		}
		scalars := make([]ir.Scalar, len(launch.Scalars))
		for n, s := range launch.Scalars {
			scalars[n] = t.Scalar(s)
		}
		for n := range c.kernel.Dispatches {
			args := &c.kernel.Dispatches[n].Args
			args.Fill(dst[l.args[i][n]:][:args.Size], &at, scalars)
		}
	}
}

// launch encodes the dispatches of launch i but for those that are left out. One that is recorded names no
// buffers but the structs: which memory it reaches is another matter in each replay. A library's product has
// its addresses in the recording, see pinned.
func (b *Backend) launch(r *run, t *backend.Table, i int, left []bool, recorded bool) error {
	launch := &r.program.p.Launches[i]
	c := launch.Kernel.(*compiled)
	uses := make([]Buffer, 0, len(launch.Bufs)+3)
	use := func(m ir.Buffer) {
		if raw := m.(*buffer).Buffer; !slices.Contains(uses, raw) {
			uses = append(uses, raw)
		}
	}
	for _, place := range launch.Bufs {
		use(t.Bufs[place.Index])
	}
	if c.kernel.Scratch > 0 {
		use(t.Bufs[launch.Scratch.Index])
	}
	if c.table != nil {
		use(c.table)
	}
	if r.slot.report != nil {
		uses = append(uses, r.slot.report)
	}
	if recorded {
		uses = nil
	}
	for n := range c.kernel.Dispatches {
		d := &c.kernel.Dispatches[n]
		if left[r.program.first[i]+n] {
			continue
		}
		var err error
		if by := c.calls[n]; by != nil {
			err = by.encode(b.compute, by.operands(launch, t))
		} else {
			var memory []int
			if d.Threadgroup > 0 {
				memory = []int{d.Threadgroup}
			}
			at := r.program.args[i][n]
			arg := Arg{Buffer: r.slot.block, Offset: at}
			if b.carries(d) {
				arg = Arg{Bytes: r.slot.args()[at : at+d.Args.Size]}
			}
			err = b.compute.Dispatch(&Dispatch{
				Pipeline: c.pipelines[n], Groups: sizeOf(d.Groups), Threads: sizeOf(d.Threads), Threadgroup: memory, Args: []Arg{arg}, Uses: uses, Early: r.program.early,
			})
		}
		if err == nil {
			err = b.compute.Barrier()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func sizeOf(n [3]int) Size { return Size{n[0], n[1], n[2]} }

// abandon gives up a run that could not be encoded whole. The encoded part runs, and its results are not
// used. The word stop says so to the launches that write over what they read: otherwise there would be half
// an optimizer's step.
func (b *Backend) abandon(r *run, err error) error {
	clear(r.slot.args()[:4])
	r.slot.filled = filling{}
	if e := b.commit(r); e != nil {
		r.outcome.Finish(e)
	}
	r.outcome.Finish(err)
	return b.failed(err)
}

// timed commits each launch by itself, between two readings of the device's clock, and waits for it. But
// those from Program.Commit on are one commit, so that all are made or none.
func (b *Backend) timed(ctx context.Context, r *run, t *backend.Table, left []bool, times []time.Duration) error {
	t.Began = ticks.Now()
	l := r.program
	if err := b.begin(r); err != nil {
		return b.abandon(r, err)
	}
	stamps := make([][2]Stamp, len(l.p.Launches))
	defer func() {
		for _, pair := range stamps {
			for _, s := range pair {
				if s != nil {
					s.Close()
				}
			}
		}
	}()
	for i := range l.p.Launches[:l.p.Commit] {
		if ctx.Err() != nil {
			b.abandon(r, backend.Interrupted(ctx))
			return backend.Interrupted(ctx)
		}
		err := b.stamped(r, t, i, left, &stamps[i])
		if err == nil {
			err = b.hand(ctx)
		}
		if err != nil {
			return b.abandon(r, err)
		}
	}
	goesOn, err := b.begins(r)
	for i := l.p.Commit; i < len(l.p.Launches) && goesOn && err == nil; i++ {
		err = b.stamped(r, t, i, left, &stamps[i])
	}
	if err != nil {
		return b.abandon(r, err)
	}
	if err := b.commit(r); err != nil {
		return err
	}
	err = r.event.Wait(context.WithoutCancel(ctx), 0)
	for i, pair := range stamps {
		if err == nil && pair[1] != nil {
			times[i], err = pair[1].Since(pair[0])
		}
	}
	b.reap()
	return b.failed(err)
}

// stamped encodes a launch between two stamps.
func (b *Backend) stamped(r *run, t *backend.Table, i int, left []bool, stamps *[2]Stamp) (err error) {
	if stamps[0], err = b.compute.Stamp(); err != nil {
		return err
	}
	if err := b.launch(r, t, i, left, false); err != nil {
		return err
	}
	stamps[1], err = b.compute.Stamp()
	return err
}

// hand hands the encoded work over and waits for it.
func (b *Backend) hand(ctx context.Context) error {
	e, err := b.compute.Commit()
	if err != nil {
		return err
	}
	defer e.Close()
	return e.Wait(context.WithoutCancel(ctx), 0)
}

// begins prepares for the launches that are made together or not at all: the word stop is copied before them,
// so that abandon can still set it. It returns false if an earlier launch has reported a fault.
func (b *Backend) begins(r *run) (goesOn bool, err error) {
	if r.program.p.Commit == len(r.program.p.Launches) || r.slot.host == nil {
		return true, nil
	}
	if r.slot.report != nil && r.fault() != nil {
		return false, nil
	}
	return true, errors.Join(b.compute.Copy(r.slot.block, 0, r.slot.host, 0, 4), b.compute.Barrier())
}

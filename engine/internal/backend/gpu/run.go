package gpu

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
)

// mostFlying is how many runs may be under way: enough that the device never waits for the host.
const mostFlying = 32

// A loaded is a program with the layout of what a run hands to the device in one copy: the word that says
// whether a fault was reported, the fault records, and the argument structs of all dispatches.
//
//	| stop, 64 bytes | a record for each launch that can fault | structs, each aligned to 256 bytes |
type loaded struct {
	p      *backend.Program
	faults []int   // offset of each launch's record, or -1
	args   [][]int // offset of each dispatch's struct
	bytes  int
	ends   int // of the records
}

// aligned is what a constant's address must be a multiple of, on every device.
const aligned = 256

// Load lays the arguments out.
func (b *Backend) Load(p *backend.Program) (backend.Loaded, error) {
	l := &loaded{p: p, bytes: 64}
	for i := range p.Launches {
		at := -1
		if p.Launches[i].Kernel.(*compiled).kernel.Fault != nil {
			at = l.bytes
			l.bytes += (kernel.FaultSize + 15) &^ 15
		}
		l.faults = append(l.faults, at)
	}
	l.ends = l.bytes
	for i := range p.Launches {
		var at []int
		for _, d := range p.Launches[i].Kernel.(*compiled).kernel.Dispatches {
			l.bytes = (l.bytes + aligned - 1) &^ (aligned - 1)
			at = append(at, l.bytes)
			l.bytes += d.Args.Size
		}
		l.args = append(l.args, at)
	}
	return l, nil
}

// Close has nothing to give back: what a run uses belongs to the run.
func (*loaded) Close() {}

// A run is work that was handed to the device.
type run struct {
	b       *Backend
	event   Event
	done    bool
	staged  []Buffer // that are free again when it is done
	block   Buffer   // of the device, likewise
	program *loaded
	report  Buffer // the staging memory to which the fault records are copied
	outcome *backend.Outcome
}

// commit hands what was encoded to the device. b.mu is held.
func (b *Backend) commit(r *run) error {
	e, err := b.compute.Commit()
	if err != nil {
		for _, m := range r.staged {
			b.unstage(m)
		}
		return b.failed(err)
	}
	r.event = e
	b.flying = append(b.flying, r)
	return nil
}

// end says what became of the run, and takes back what it used. b.mu is held.
func (r *run) end(err error) {
	r.done = true
	if err == nil && r.report != nil {
		err = r.fault()
	}
	if r.outcome != nil {
		r.outcome.Finish(err)
	}
	for _, m := range r.staged {
		r.b.unstage(m)
	}
	r.b.unstage(r.report)
	if r.block != nil {
		r.b.freed.Lock()
		r.b.freed.list = append(r.b.freed.list, r.block)
		r.b.freed.Unlock()
	}
	r.event.Close()
}

// fault returns the error that the first launch with a report explains, or nil.
func (r *run) fault() error {
	records := r.report.Host()
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
	if err := b.drain(false); err != nil {
		return err
	}
	l := p.(*loaded)
	if len(l.p.Launches) == 0 {
		return nil
	}
	r := &run{b: b, program: l, outcome: t.Later()}
	if err := b.begin(r, t); err != nil {
		return err
	}
	if times != nil {
		return b.timed(ctx, r, t, times)
	}
	for i := range l.p.Launches {
		if err := b.launch(r, t, i); err != nil {
			return b.abandon(r, err)
		}
	}
	return b.finish(r, t)
}

// begin fills in and copies what the program's dispatches read.
func (b *Backend) begin(r *run, t *backend.Table) error {
	l := r.program
	host, err := b.stage(l.bytes)
	if err != nil {
		return err
	}
	r.staged = []Buffer{host}
	if r.block, err = b.device.Alloc(l.bytes, DeviceMemory); err != nil {
		b.unstage(host)
		return b.noRoom(err, l.bytes)
	}
	l.fill(host.Host(), r.block.Address(), t)
	err = b.compute.Copy(r.block, 0, host, 0, l.bytes)
	if err == nil {
		err = b.compute.Barrier()
	}
	if err != nil {
		return b.abandon(r, err)
	}
	return nil
}

func (b *Backend) noRoom(err error, bytes int) error {
	b.mu.Unlock()
	defer b.mu.Lock()
	return b.noMemory(err, bytes)
}

// fill writes the word, the records and the structs; base is their address on the device.
func (l *loaded) fill(dst []byte, base uint64, t *backend.Table) {
	for i := range dst[:l.ends] {
		dst[i] = 0xff
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
			at.Fault = base + uint64(l.faults[i])
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

// launch encodes the dispatches of launch i.
func (b *Backend) launch(r *run, t *backend.Table, i int) error {
	launch := &r.program.p.Launches[i]
	c := launch.Kernel.(*compiled)
	uses := make([]Buffer, 0, len(launch.Bufs)+2)
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
	for n := range c.kernel.Dispatches {
		d := &c.kernel.Dispatches[n]
		if s := d.Same; s != nil && t.At(launch.Bufs[s[0]]) == t.At(launch.Bufs[s[1]]) {
			continue
		}
		err := b.compute.Dispatch(&Dispatch{
			Pipeline: c.pipelines[n], Groups: sizeOf(d.Groups), Threads: sizeOf(d.Threads),
			Args: []Arg{{Buffer: r.block, Offset: r.program.args[i][n]}}, Uses: uses,
		})
		if err == nil {
			err = b.compute.Barrier()
		}
		if err != nil {
			return err
		}
	}
	for _, n := range c.writes {
		t.Bufs[launch.Bufs[n].Index].(*buffer).written = r
	}
	return nil
}

func sizeOf(n [3]int) Size { return Size{n[0], n[1], n[2]} }

// finish asks for the records, and commits.
func (b *Backend) finish(r *run, t *backend.Table) error {
	if r.program.ends > 64 {
		report, err := b.stage(r.program.ends)
		if err != nil {
			return b.abandon(r, err)
		}
		r.report = report
		if err := b.compute.Copy(report, 0, r.block, 0, r.program.ends); err != nil {
			return b.abandon(r, err)
		}
	}
	return b.commit(r)
}

// abandon gives up a run that could not be encoded whole: what was encoded runs, and its results are not used.
func (b *Backend) abandon(r *run, err error) error {
	if e := b.commit(r); e != nil {
		r.outcome.Finish(e)
	}
	r.outcome.Finish(err)
	return b.failed(err)
}

// timed commits each launch by itself, between two readings of the device's clock.
func (b *Backend) timed(ctx context.Context, r *run, t *backend.Table, times []time.Duration) error {
	l := r.program
	for i := range l.p.Launches {
		if i < l.p.Commit && ctx.Err() != nil {
			b.abandon(r, backend.Interrupted(ctx))
			return backend.Interrupted(ctx)
		}
		from, err := b.compute.Stamp()
		if err == nil {
			err = b.launch(r, t, i)
		}
		var to Stamp
		if err == nil {
			to, err = b.compute.Stamp()
		}
		var e Event
		if err == nil {
			e, err = b.compute.Commit()
		}
		if err != nil {
			return b.abandon(r, err)
		}
		err = e.Wait(context.WithoutCancel(ctx), 0)
		e.Close()
		if err == nil {
			times[i], err = to.Since(from)
		}
		from.Close()
		to.Close()
		if err != nil {
			return b.abandon(r, err)
		}
	}
	if err := b.finish(r, t); err != nil {
		return err
	}
	err := r.event.Wait(context.WithoutCancel(ctx), 0)
	b.reap()
	return b.failed(err)
}

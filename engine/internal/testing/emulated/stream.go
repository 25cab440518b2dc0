package emulated

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
)

// A stream is a queue that a goroutine works off, one commit after the other, and no earlier than somebody
// asks for a commit's end: so what the processor changes too early is changed before the work sees it, each
// time.
type stream struct {
	device *device
	work   []piece // encoded, not committed
	before []piece // what was encoded before a recording began
	record bool
	queue  chan *commit
	last   *commit
	ended  chan struct{}
	broken error // what went wrong; only the goroutine uses it
}

// A piece of work does something, and reads parts of buffers for it.
type piece struct {
	run   func() error
	reads []part
}

type part struct {
	buffer   *buffer
	from, to int
}

// whole are buffers as parts.
func whole(list []gpu.Buffer) (parts []part) {
	for _, b := range list {
		parts = append(parts, part{b.(*buffer), 0, b.Len()})
	}
	return parts
}

func (s *stream) encode(run func() error, reads ...part) { s.work = append(s.work, piece{run, reads}) }

// Stream starts a queue.
func (d *device) Stream() (gpu.Stream, error) {
	s := &stream{device: d, queue: make(chan *commit, 1024), ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		for c := range s.queue {
			<-c.asked
			if s.broken == nil {
				s.broken = c.disturbed()
			}
			for _, w := range c.work {
				if s.broken == nil {
					s.broken = w.run()
				}
			}
			c.finish(s.broken)
		}
	}()
	return s, nil
}

// Dispatch encodes a launch: its arguments' bytes are copied.
func (s *stream) Dispatch(d *gpu.Dispatch) error {
	if err := gpu.CheckDispatch(d, s.device.info.Limits); err != nil {
		return misused("dispatch", "%v", err)
	}
	l := check.Launch{
		Kernel: d.Pipeline.Name(), Groups: [3]int{d.Groups.X, d.Groups.Y, d.Groups.Z}, Threads: [3]int{d.Threads.X, d.Threads.Y, d.Threads.Z},
		Buffers: map[int]check.Pointer{}, Bytes: map[int][]byte{}, Threadgroup: map[int]int{},
	}
	uses := slices.Clone(d.Uses)
	for i, a := range d.Args {
		switch {
		case a.Buffer != nil:
			uses = append(uses, a.Buffer)
			l.Buffers[i] = check.Pointer(a.Buffer.Address() + uint64(a.Offset))
		case a.Bytes != nil:
			l.Bytes[i] = slices.Clone(a.Bytes)
		}
	}
	for i, n := range d.Threadgroup {
		l.Threadgroup[i] = n
	}
	for _, b := range uses {
		if err := s.device.check(b); err != nil {
			return misused("dispatch", "%s: %v", l.Kernel, err)
		}
	}
	if !s.record { // recorded, it reaches whatever it finds when it is replayed
		l.Uses = []check.Pointer{}
		for _, b := range d.Uses {
			l.Uses = append(l.Uses, b.(*buffer).at)
		}
	}
	s.encode(func() error { return s.launch(l, uses) }, whole(uses)...)
	return nil
}

// launch runs a kernel when its turn has come.
func (s *stream) launch(l check.Launch, uses []gpu.Buffer) error {
	if l.Uses == nil {
		found, err := s.device.reached(uses)
		if err != nil {
			return err
		}
		uses = append(slices.Clone(uses), found...)
	}
	sent := make([][]byte, len(uses))
	for i, b := range uses {
		if err := s.device.check(b); err != nil { // it was freed before its turn came
			return fault(l.Kernel + ": " + err.Error())
		}
		if m := b.(*buffer); m.host != nil {
			sent[i] = slices.Clone(m.host)
			if err := s.device.process.Write(m.at, sent[i]); err != nil {
				return lost(err)
			}
		}
	}
	err := s.device.process.Run(context.Background(), l)
	var found *check.Fault
	if errors.As(err, &found) {
		return fault(found.Error() + "\n" + found.Report)
	}
	if err != nil {
		return lost(err)
	}
	for i, b := range uses {
		if m := b.(*buffer); m.host != nil {
			now := make([]byte, m.bytes)
			if err := s.device.process.Read(now, m.at); err != nil {
				return lost(err)
			}
			s.device.write(m, 0, sent[i], now)
		}
	}
	return nil
}

func fault(text string) error {
	return &gpu.Error{Code: gpu.KernelFault, Device: "emulated", Op: "run", Text: text, Index: -1}
}

// Copy copies by way of this process.
func (s *stream) Copy(dst gpu.Buffer, dstOffset int, src gpu.Buffer, srcOffset, bytes int) error {
	if err := gpu.CheckCopy(dst, dstOffset, src, srcOffset, bytes); err != nil {
		return misused("copy", "%v", err)
	}
	if err := errors.Join(s.device.check(dst), s.device.check(src)); err != nil {
		return misused("copy", "%v", err)
	}
	to, from := dst.(*buffer), src.(*buffer)
	s.encode(func() error {
		if err := errors.Join(s.device.check(dst), s.device.check(src)); err != nil {
			return fault("copy: " + err.Error())
		}
		data := make([]byte, bytes)
		if err := s.device.get(from, srcOffset, data); err != nil {
			return err
		}
		return s.device.put(to, dstOffset, data)
	}, part{from, srcOffset, srcOffset + bytes})
	return nil
}

// get and put read and write memory where it is up to date: what the processor sees is copied when a kernel
// runs.
func (d *device) get(b *buffer, offset int, data []byte) error {
	if b.host != nil {
		copy(data, b.host[offset:])
		return nil
	}
	if err := d.process.Read(data, b.at+check.Pointer(offset)); err != nil {
		return lost(err)
	}
	return nil
}

func (d *device) put(b *buffer, offset int, data []byte) error {
	if b.host != nil {
		d.write(b, offset, b.host[offset:offset+len(data)], data)
		return nil
	}
	if err := d.process.Write(b.at+check.Pointer(offset), data); err != nil {
		return lost(err)
	}
	return nil
}

// Fill sets bytes.
func (s *stream) Fill(b gpu.Buffer, offset, bytes int, value byte) error {
	if err := gpu.CheckRange("fill", b, offset, bytes); err != nil {
		return misused("fill", "%v", err)
	}
	if err := s.device.check(b); err != nil {
		return misused("fill", "%v", err)
	}
	s.encode(func() error {
		if err := s.device.check(b); err != nil {
			return fault("fill: " + err.Error())
		}
		return s.device.put(b.(*buffer), offset, slices.Repeat([]byte{value}, bytes))
	})
	return nil
}

// Barrier has nothing to do: one piece of work runs after the other.
func (s *stream) Barrier() error { return nil }

// After waits for another stream's commit.
func (s *stream) After(e gpu.Event) error {
	other := e.(*commit)
	s.encode(func() error {
		other.ask()
		<-other.over
		return nil
	})
	return nil
}

// Stamp reads the clock.
func (s *stream) Stamp() (gpu.Stamp, error) {
	t := &stamp{}
	s.encode(func() error {
		t.at = time.Now()
		return nil
	})
	return t, nil
}

// Free frees after the work that was encoded before.
func (s *stream) Free(b gpu.Buffer) {
	s.encode(func() error {
		b.Free()
		return nil
	})
}

// Commit queues the work.
func (s *stream) Commit() (gpu.Event, error) {
	if s.record {
		return nil, misused("commit", "a recording is under way")
	}
	c := &commit{work: s.work, before: s.last, asked: make(chan struct{}), over: make(chan struct{})}
	c.look()
	s.work, s.last = nil, c
	s.queue <- c
	return c, nil
}

// Record begins a recording.
func (s *stream) Record() error {
	if s.record {
		return misused("record", "a recording is under way")
	}
	s.before, s.work, s.record = s.work, nil, true
	return nil
}

// Finish ends it.
func (s *stream) Finish() (gpu.Graph, error) {
	if !s.record {
		return nil, misused("finish", "no recording is under way")
	}
	g := &graph{s.device, s.work}
	s.work, s.before, s.record = s.before, nil, false
	return g, nil
}

// A graph is recorded work: its copies and dispatches find what is in their buffers when it is replayed.
type graph struct {
	device *device
	work   []piece
}

func (g *graph) Replay(s gpu.Stream) error {
	to, ok := s.(*stream)
	if !ok || to.device != g.device || to.record {
		return misused("replay", "got a stream of another device, or one that records")
	}
	to.work = append(to.work, g.work...)
	return nil
}

// Bind refuses: the structs of this device lie in memory.
func (*graph) Bind(int, []gpu.Arg) error {
	return &gpu.Error{Code: gpu.Unsupported, Device: "emulated", Op: "bind", Index: -1, Free: -1}
}
func (g *graph) Launches() int { return len(g.work) }
func (*graph) Close()          {}

// Close ends the queue.
func (s *stream) Close() error {
	if len(s.work) > 0 {
		return misused("close stream", "%d pieces of work were not committed", len(s.work))
	}
	if s.last != nil {
		s.last.ask()
	}
	close(s.queue)
	<-s.ended
	return nil
}

// A commit is also its event.
type commit struct {
	work   []piece
	seen   []sight
	asking sync.Once
	asked  chan struct{} // closed when somebody wants its end
	before *commit       // of the same stream
	over   chan struct{}
	err    error
}

// ask lets the work begin, after that of earlier commits.
func (c *commit) ask() {
	c.asking.Do(func() {
		if c.before != nil {
			c.before.ask()
		}
		c.before = nil
		close(c.asked)
	})
}

func (c *commit) finish(err error) {
	c.err, c.work, c.seen = err, nil, nil
	close(c.over)
}

// A sight is what a part of shared memory held when work that reads it was committed.
type sight struct {
	part
	hash  uint64
	wrote int // how often the device had written to the buffer
}

var seed = maphash.MakeSeed()

// look remembers what the work will read that the processor can change.
func (c *commit) look() {
	known := map[part]bool{}
	for _, w := range c.work {
		for _, p := range w.reads {
			if p.buffer.host != nil && !known[p] {
				known[p] = true
				hash, wrote := p.buffer.device.state(p)
				c.seen = append(c.seen, sight{p, hash, wrote})
			}
		}
	}
}

// disturbed is the error of work that reads what the processor has changed since it was committed.
func (c *commit) disturbed() error {
	for _, s := range c.seen {
		b := s.buffer
		if hash, wrote := b.device.state(s.part); wrote == s.wrote && hash != s.hash {
			return fault(fmt.Sprintf("bytes %d to %d of a buffer of %d were changed by the processor before work that reads them was done", s.from, s.to, b.bytes))
		}
	}
	return nil
}

// Done asks for the end.
func (c *commit) Done() (bool, error) {
	c.ask()
	select {
	case <-c.over:
		return c.err == nil, c.err
	default:
		return false, nil
	}
}

func (c *commit) Wait(ctx context.Context, limit time.Duration) error {
	c.ask()
	var late <-chan time.Time
	if limit > 0 {
		late = time.After(limit)
	}
	select {
	case <-c.over:
		return c.err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-late:
		return &gpu.Error{Code: gpu.Timeout, Device: "emulated", Op: "wait", Index: -1}
	}
}

func (*commit) Close() {}

type stamp struct{ at time.Time }

func (t *stamp) Since(earlier gpu.Stamp) (time.Duration, error) {
	return t.at.Sub(earlier.(*stamp).at), nil
}
func (*stamp) Close() {}

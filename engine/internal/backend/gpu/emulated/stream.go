package emulated

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
)

// A stream is a queue that a goroutine works off, one commit after the other.
type stream struct {
	device *device
	work   []func() error // encoded, not committed
	before []func() error // what was encoded before a recording began
	record bool
	queue  chan *commit
	ended  chan struct{}
	broken error // what went wrong; only the goroutine uses it
}

// Stream starts a queue.
func (d *device) Stream() (gpu.Stream, error) {
	s := &stream{device: d, queue: make(chan *commit, 1024), ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		for c := range s.queue {
			start := time.Now()
			for _, run := range c.work {
				if s.broken == nil {
					s.broken = run()
				}
			}
			c.finish(time.Since(start), s.broken)
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
	s.work = append(s.work, func() error { return s.launch(l, uses) })
	return nil
}

// launch runs a kernel when its turn has come.
func (s *stream) launch(l check.Launch, uses []gpu.Buffer) error {
	for _, b := range uses {
		if err := s.device.check(b); err != nil { // it was freed before its turn came
			return &gpu.Error{Code: gpu.KernelFault, Device: "emulated", Op: "run", Text: l.Kernel + ": " + err.Error(), Index: -1}
		}
		if m := b.(*buffer); m.host != nil {
			if err := s.device.process.Write(m.at, m.host); err != nil {
				return lost(err)
			}
		}
	}
	err := s.device.process.Run(context.Background(), l)
	var fault *check.Fault
	if errors.As(err, &fault) {
		return &gpu.Error{Code: gpu.KernelFault, Device: "emulated", Op: "run", Text: fault.Error() + "\n" + fault.Report, Index: -1}
	}
	if err != nil {
		return lost(err)
	}
	for _, b := range uses {
		if m := b.(*buffer); m.host != nil {
			if err := s.device.process.Read(m.host, m.at); err != nil {
				return lost(err)
			}
		}
	}
	return nil
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
	s.work = append(s.work, func() error {
		data := make([]byte, bytes)
		if from.host != nil {
			copy(data, from.host[srcOffset:])
		} else if err := s.device.process.Read(data, from.at+check.Pointer(srcOffset)); err != nil {
			return lost(err)
		}
		return s.put(to, dstOffset, data)
	})
	return nil
}

func (s *stream) put(b *buffer, offset int, data []byte) error {
	if b.host != nil {
		copy(b.host[offset:], data)
		return nil
	}
	if err := s.device.process.Write(b.at+check.Pointer(offset), data); err != nil {
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
	s.work = append(s.work, func() error { return s.put(b.(*buffer), offset, slices.Repeat([]byte{value}, bytes)) })
	return nil
}

// Barrier has nothing to do: one piece of work runs after the other.
func (s *stream) Barrier() error { return nil }

// After waits for another stream's commit.
func (s *stream) After(e gpu.Event) error {
	other := e.(*commit)
	s.work = append(s.work, func() error {
		<-other.over
		return nil
	})
	return nil
}

// Stamp reads the clock.
func (s *stream) Stamp() (gpu.Stamp, error) {
	t := &stamp{}
	s.work = append(s.work, func() error {
		t.at = time.Now()
		return nil
	})
	return t, nil
}

// Free frees after the work that was encoded before.
func (s *stream) Free(b gpu.Buffer) {
	s.work = append(s.work, func() error {
		b.Free()
		return nil
	})
}

// Commit queues the work.
func (s *stream) Commit() (gpu.Event, error) {
	if s.record {
		return nil, misused("commit", "a recording is under way")
	}
	c := &commit{work: s.work, over: make(chan struct{})}
	s.work = nil
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
	work   []func() error
}

func (g *graph) Replay(s gpu.Stream) error {
	to, ok := s.(*stream)
	if !ok || to.device != g.device || to.record {
		return misused("replay", "got a stream of another device, or one that records")
	}
	to.work = append(to.work, g.work...)
	return nil
}

func (g *graph) Launches() int { return len(g.work) }
func (*graph) Close()          {}

// Close ends the queue.
func (s *stream) Close() error {
	if len(s.work) > 0 {
		return misused("close stream", "%d pieces of work were not committed", len(s.work))
	}
	close(s.queue)
	<-s.ended
	return nil
}

// A commit is also its event.
type commit struct {
	work    []func() error
	over    chan struct{}
	elapsed time.Duration
	err     error
}

func (c *commit) finish(elapsed time.Duration, err error) {
	c.elapsed, c.err, c.work = elapsed, err, nil
	close(c.over)
}

func (c *commit) Done() (bool, error) {
	select {
	case <-c.over:
		return c.err == nil, c.err
	default:
		return false, nil
	}
}

func (c *commit) Wait(ctx context.Context, limit time.Duration) error {
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

func (c *commit) Elapsed() (time.Duration, error) { return c.elapsed, c.err }
func (*commit) Close()                            {}

type stamp struct{ at time.Time }

func (t *stamp) Since(earlier gpu.Stamp) (time.Duration, error) {
	return t.at.Sub(earlier.(*stamp).at), nil
}
func (*stamp) Close() {}

package fake

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
)

// A piece of work takes so long by the fake's clock.
const tick = time.Microsecond

type stream struct {
	device    *device
	work      []func() // encoded, not committed
	recording bool
	recorded  []func()
	bindable  []*gpu.Dispatch       // of a recording
	broken    atomic.Pointer[error] // what went wrong on the device
	clock     atomic.Int64          // pieces of work done
	closed    bool
}

// Stream returns a queue, which records graphs too.
func (d *device) Stream() (gpu.Stream, error) {
	if err := d.driver.did("stream", "%s", d.name()); err != nil {
		return nil, err
	}
	return &stream{device: d}, nil
}

// encode adds work, to the recording if there is one.
func (s *stream) encode(run func()) {
	counted := func() { run(); s.clock.Add(1) }
	if s.recording {
		s.recorded = append(s.recorded, counted)
	} else {
		s.work = append(s.work, counted)
	}
}

// Dispatch copies the dispatch, whose arguments' bytes may change before the commit.
func (s *stream) Dispatch(d *gpu.Dispatch) error {
	name := "none"
	if d.Pipeline != nil {
		name = d.Pipeline.Name()
	}
	if err := s.device.driver.did("dispatch", "%s %v %v", name, d.Groups, d.Threads); err != nil {
		return err
	}
	if err := gpu.CheckDispatch(d, s.device.info.Limits); err != nil {
		return s.device.misused("dispatch", "%v", err)
	}
	c := *d
	if s.recording {
		s.bindable = append(s.bindable, &c)
	}
	c.Args, c.Uses = slices.Clone(d.Args), slices.Clone(d.Uses)
	for i, a := range c.Args {
		c.Args[i].Bytes = slices.Clone(a.Bytes)
		if a.Buffer != nil {
			c.Uses = append(c.Uses, a.Buffer)
		}
	}
	for _, b := range c.Uses {
		if err := s.device.check(b); err != nil {
			return s.device.misused("dispatch", "%s: %v", name, err)
		}
	}
	s.encode(func() {
		for _, b := range c.Uses {
			if err := s.device.check(b); err != nil { // it was freed before the device came to it
				s.fail(&gpu.Error{Code: gpu.KernelFault, Device: s.device.name(), Op: "run", Text: name + ": " + err.Error(), Index: -1})
				return
			}
		}
		c.Pipeline.(*pipeline).kernel(&c)
	})
	return nil
}

func (s *stream) fail(err error) { s.broken.CompareAndSwap(nil, &err) }

// Copy copies when the commit runs.
func (s *stream) Copy(dst gpu.Buffer, dstOffset int, src gpu.Buffer, srcOffset, bytes int) error {
	if err := s.device.driver.did("copy", "%d", bytes); err != nil {
		return err
	}
	if err := gpu.CheckCopy(dst, dstOffset, src, srcOffset, bytes); err != nil {
		return s.device.misused("copy", "%v", err)
	}
	for _, b := range []gpu.Buffer{dst, src} {
		if err := s.device.check(b); err != nil {
			return s.device.misused("copy", "%v", err)
		}
	}
	s.encode(func() { copy(dst.Host()[dstOffset:], src.Host()[srcOffset:srcOffset+bytes]) })
	return nil
}

// CopyFrom copies when the commit runs. The source must live then.
func (s *stream) CopyFrom(dst gpu.Buffer, dstOffset int, src gpu.Buffer, srcOffset, bytes int) error {
	if !s.device.driver.Peers {
		return errors.ErrUnsupported
	}
	if err := s.device.driver.did("copy from", "%d", bytes); err != nil {
		return err
	}
	other := src.(*buffer).device
	if err := cmp.Or(gpu.CheckCopy(dst, dstOffset, src, srcOffset, bytes), s.device.check(dst), other.check(src)); err != nil || other == s.device {
		return s.device.misused("copy from", "%v", err)
	}
	s.encode(func() {
		if err := other.check(src); err != nil {
			s.fail(&gpu.Error{Code: gpu.KernelFault, Device: s.device.name(), Op: "run", Text: "copy from: " + err.Error(), Index: -1})
			return
		}
		copy(dst.Host()[dstOffset:], src.Host()[srcOffset:srcOffset+bytes])
	})
	return nil
}

// Fill fills when the commit runs.
func (s *stream) Fill(b gpu.Buffer, offset, bytes int, value byte) error {
	if err := s.device.driver.did("fill", "%d %d", bytes, value); err != nil {
		return err
	}
	if err := gpu.CheckRange("fill", b, offset, bytes); err != nil {
		return s.device.misused("fill", "%v", err)
	}
	if err := s.device.check(b); err != nil {
		return s.device.misused("fill", "%v", err)
	}
	s.encode(func() {
		for i := range bytes {
			b.Host()[offset+i] = value
		}
	})
	return nil
}

// Barrier is recorded only: the fake runs one piece of work after the other.
func (s *stream) Barrier() error { return s.device.driver.did("barrier", "") }

// After is recorded only, because commits run in their order.
func (s *stream) After(e gpu.Event) error {
	if s.recording {
		return s.device.misused("after", "a recording is under way")
	}
	return s.device.driver.did("after", "")
}

// Stamp reads the count of work done.
func (s *stream) Stamp() (gpu.Stamp, error) {
	if s.recording {
		return nil, s.device.misused("stamp", "a recording is under way")
	}
	t := &stamp{stream: s}
	s.work = append(s.work, func() { t.at.Store(s.clock.Load() + 1) })
	return t, s.device.driver.did("stamp", "")
}

// Free frees after the work that was encoded before.
func (s *stream) Free(b gpu.Buffer) { s.work = append(s.work, b.Free) }

// Commit runs the work, or leaves it for Release.
func (s *stream) Commit() (gpu.Event, error) {
	if s.recording {
		return nil, s.device.misused("commit", "a recording is under way")
	}
	if err := s.device.driver.did("commit", "%d", len(s.work)); err != nil {
		s.work = nil
		return nil, err
	}
	work, e := s.work, &event{stream: s}
	s.work = nil
	s.device.driver.mu.Lock()
	broken := s.device.driver.failure("run")
	s.device.driver.mu.Unlock()
	s.device.driver.submit(func() {
		for _, run := range work {
			if s.broken.Load() == nil {
				run()
			}
		}
		if broken != nil {
			s.fail(broken)
		}
		e.done.Store(true)
	})
	return e, nil
}

// Close refuses a second time, and work that was not committed.
func (s *stream) Close() error {
	if s.closed || len(s.work) > 0 || s.recording {
		return s.device.misused("close stream", "closed before: %v, work not committed: %d, recording: %v", s.closed, len(s.work), s.recording)
	}
	s.closed = true
	return nil
}

// Record begins a recording.
func (s *stream) Record() error {
	if s.recording {
		return s.device.misused("record", "a recording is under way")
	}
	if err := s.device.driver.did("record", ""); err != nil {
		return err
	}
	s.recording, s.recorded, s.bindable = true, nil, nil
	return nil
}

// Finish ends it.
func (s *stream) Finish() (gpu.Graph, error) {
	if !s.recording {
		return nil, s.device.misused("finish", "no recording is under way")
	}
	s.recording = false
	return &graph{s.device, s.recorded, s.bindable}, s.device.driver.did("finish", "%d", len(s.recorded))
}

type graph struct {
	device *device
	work   []func()

	dispatches []*gpu.Dispatch
}

func (g *graph) Replay(s gpu.Stream) error {
	to, ok := s.(*stream)
	if !ok || to.device != g.device || to.recording {
		return g.device.misused("replay", "got a stream of another device, or one that records")
	}
	if err := g.device.driver.did("replay", "%d", len(g.work)); err != nil {
		return err
	}
	to.work = append(to.work, g.work...)
	return nil
}

// Bind sets the arguments that a dispatch runs with.
func (g *graph) Bind(n int, args []gpu.Arg) error {
	if n < 0 || n >= len(g.dispatches) {
		return g.device.misused("bind", "got dispatch %d of %d", n, len(g.dispatches))
	}
	d := g.dispatches[n]
	d.Args = slices.Clone(args)
	for i, a := range args {
		d.Args[i].Bytes = slices.Clone(a.Bytes)
	}
	return g.device.driver.did("bind", "%d", n)
}

func (g *graph) Launches() int { return len(g.work) }
func (g *graph) Close()        {}

type event struct {
	stream *stream
	done   atomic.Bool
}

// Done is true when the commit ran.
func (e *event) Done() (bool, error) {
	if !e.done.Load() {
		return false, nil
	}
	if err := e.stream.broken.Load(); err != nil {
		return true, *err
	}
	return true, nil
}

// Wait polls.
func (e *event) Wait(ctx context.Context, limit time.Duration) error {
	return gpu.Poll(ctx, limit, e.Done, func() error {
		return &gpu.Error{Code: gpu.Timeout, Device: e.stream.device.name(), Op: "wait", Text: limit.String(), Index: -1}
	})
}

func (e *event) Close() {}

type stamp struct {
	stream *stream
	at     atomic.Int64 // 1 more than the count of work, 0 while it is unknown
}

// Since counts a microsecond for each piece of work between the stamps.
func (t *stamp) Since(earlier gpu.Stamp) (time.Duration, error) {
	from, ok := earlier.(*stamp)
	if !ok || from.stream != t.stream || t.at.Load() == 0 || from.at.Load() == 0 {
		return 0, t.stream.device.misused("since", "want two stamps of one stream whose commits are over")
	}
	return time.Duration(t.at.Load()-from.at.Load()) * tick, nil
}

func (t *stamp) Close() {}

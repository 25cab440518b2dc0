package driver

import (
	"cmp"
	"errors"
	"runtime"
	"slices"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
)

// A stream is a CUDA stream with the calls that are to be made on it.
type stream struct {
	gpu.Queue
	device     *device
	handle     uintptr
	queue      list
	record     *list // what is being recorded, or nil
	dispatches []launch
}

// A list is calls, and the memory that their arguments point to. Those of its head are no work: the call that
// makes the context current, and in a recording the start of the capture.
type list struct {
	calls []ccall.Call
	head  int
	args  ccall.Arena
}

func newList(head ...ccall.Call) list { return list{calls: head, head: len(head)} }

func (l *list) call(f ccall.Func, args ...uintptr) { l.calls = append(l.calls, callOf(f, args)) }

func (l *list) reset() {
	l.calls = l.calls[:l.head]
	l.args.Reset()
}

// newStream makes a stream that does not wait for CUDA's default stream.
func (d *device) newStream() (uintptr, error) {
	const nonBlocking = 1
	handle := new(uintptr)
	err := d.do(cuStreamCreate, uintptr(unsafe.Pointer(handle)), nonBlocking)
	return *handle, err
}

// Stream returns a stream, which records graphs too.
func (d *device) Stream() (gpu.Stream, error) {
	handle, err := d.newStream()
	if err != nil {
		return nil, err
	}
	s := &stream{Queue: gpu.Queue{Owner: &d.Owner}, device: d, handle: handle, queue: newList(d.enter())}
	if !d.Add(s) {
		return nil, d.misused(cuStreamCreate, "the device was closed")
	}
	return s, nil
}

// target is the list that work is encoded into.
func (s *stream) target() *list {
	if s.record != nil {
		return s.record
	}
	return &s.queue
}

func (s *stream) encode(f function, args ...uintptr) { s.target().call(s.device.functions[f], args...) }

// accept is the stream as ours, if it and the operands are the device's and fit the work.
func (d *device) accept(to gpu.Stream, w gpu.Work, o *gpu.Operands, alignment, workspace int) (*stream, error) {
	s, ok := to.(*stream)
	if !ok || s.device != d {
		return nil, d.misused(cuLaunchKernel, "got a stream of another device")
	}
	if err := cmp.Or(gpu.CheckOperands(w, o, alignment, workspace), d.OwnsArgs(append(o.List[:], o.Workspace)...)); err != nil {
		return nil, d.misused(cuLaunchKernel, "%v: %v", w, err)
	}
	return s, nil
}

// Dispatch encodes a launch.
func (s *stream) Dispatch(d *gpu.Dispatch) error {
	if err := s.device.CheckDispatch(d, s.device.info.Limits, func(p gpu.Pipeline) error {
		if mine, ok := p.(*pipeline); ok && mine.device == s.device {
			return mine.check(d.Args)
		}
		return errors.New("got a pipeline of another device")
	}); err != nil {
		return s.device.misused(cuLaunchKernel, "%v", err)
	}
	if len(d.Threadgroup) > 1 {
		return gpu.Errorf(gpu.Unsupported, s.device.Name, cuLaunchKernel.String(), "%s: more than one argument of threadgroup memory", d.Pipeline.Name())
	}
	shared := 0
	for _, n := range d.Threadgroup {
		shared += n
	}
	p := d.Pipeline.(*pipeline)
	g, t := d.Groups, d.Threads
	l := s.target()
	arguments := bind(&l.args, d.Args)
	if s.record != nil {
		s.dispatches = append(s.dispatches, launch{function: p.function, args: d.Args})
	}
	if d.Early && p.overlaps && s.small(g) && s.afterLaunch(l) {
		s.encode(cuLaunchKernelEx, overlapping(&l.args, g, t, shared, s.handle), p.function, arguments)
		return nil
	}
	s.encode(cuLaunchKernel, p.function, uintptr(g.X), uintptr(g.Y), uintptr(g.Z), uintptr(t.X), uintptr(t.Y), uintptr(t.Z),
		uintptr(shared), s.handle, arguments)
	return nil
}

// small says whether a launch hardly fills the device: one that does gains nothing by an early beginning.
func (s *stream) small(groups gpu.Size) bool {
	return groups.Count() <= 4*s.device.info.Limits.Processors
}

// afterLaunch says whether the last call of a list launches a kernel of ours.
func (s *stream) afterLaunch(l *list) bool {
	f := s.device.functions
	last := l.calls[len(l.calls)-1].Func
	return len(l.calls) > l.head && (last == f[cuLaunchKernel] || last == f[cuLaunchKernelEx])
}

// overlapping writes down a CUlaunchConfig with one attribute: the kernel may begin once all threadgroups of
// the one before have begun.
func overlapping(memory *ccall.Arena, g, t gpu.Size, shared int, stream uintptr) uintptr {
	const programmaticStreamSerialization = 6 // a CUlaunchAttributeID
	pair := func(low, high int) uint64 { return uint64(low) | uint64(high)<<32 }
	c := memory.Take(16)
	clear(c)
	copy(c, []uint64{pair(g.X, g.Y), pair(g.Z, t.X), pair(t.Y, t.Z), uint64(shared), uint64(stream), uint64(ccall.Address(c[7:])), 1,
		programmaticStreamSerialization, 1})
	return ccall.Address(c)
}

// bind writes down the arguments of a launch and returns the address of the table of their addresses.
func bind(memory *ccall.Arena, args []gpu.Arg) uintptr {
	if len(args) == 0 {
		return 0
	}
	table := memory.Take(len(args))
	for i, a := range args {
		if a.Buffer == nil {
			table[i] = uint64(memory.Copy(a.Bytes))
		} else {
			table[i] = uint64(memory.Words(a.Buffer.Address() + uint64(a.Offset)))
		}
	}
	return ccall.Address(table)
}

// Copy encodes a copy; where the memories are, the driver sees from their addresses.
func (s *stream) Copy(dst gpu.Buffer, dstOffset int, src gpu.Buffer, srcOffset, bytes int) error {
	err := gpu.CheckCopy(dst, dstOffset, src, srcOffset, bytes)
	if err = cmp.Or(err, s.device.Owns(dst, src)); err != nil {
		return s.device.misused(cuMemcpyAsync, "%v", err)
	}
	if bytes > 0 {
		s.encode(cuMemcpyAsync, uintptr(dst.Address())+uintptr(dstOffset), uintptr(src.Address())+uintptr(srcOffset), uintptr(bytes), s.handle)
	}
	return nil
}

// Fill encodes a memset.
func (s *stream) Fill(b gpu.Buffer, offset, bytes int, value byte) error {
	err := gpu.CheckRange("fill", b, offset, bytes)
	if err = cmp.Or(err, s.device.Owns(b)); err != nil {
		return s.device.misused(cuMemsetD8Async, "%v", err)
	}
	if bytes > 0 {
		s.encode(cuMemsetD8Async, uintptr(b.Address())+uintptr(offset), uintptr(value), uintptr(bytes), s.handle)
	}
	return nil
}

// Barrier does nothing: a CUDA stream runs one piece of work after the other.
func (s *stream) Barrier() error { return nil }

// Free frees a buffer in the order of the stream: by the driver, or once the next commit is over where the
// driver cannot do that. It belongs to the queue even while something is recorded.
func (s *stream) Free(b gpu.Buffer) {
	mine, ok := b.(*buffer)
	switch {
	case !ok || !mine.Take():
	case mine.Memory == nil && s.device.pool != 0:
		s.queue.calls = append(s.queue.calls, s.device.make(cuMemFreeAsync, uintptr(mine.At), s.handle))
		s.device.Count(-int64(mine.Bytes))
	default:
		s.FreeLater(&mine.Held)
	}
}

// refuse is the error of what cannot be recorded.
func (s *stream) refuse(f function) error {
	if s.record == nil {
		return nil
	}
	return s.device.misused(f, "a recording is under way")
}

// Commit makes the encoded calls, and one that records their end.
func (s *stream) Commit() (gpu.Event, error) {
	if err := s.refuse(cuEventRecord); err != nil {
		return nil, err
	}
	s.Reap()
	end, err := s.device.newEvent(ends)
	if err != nil {
		return nil, err
	}
	l := &s.queue
	l.calls = append(l.calls, s.device.make(cuEventRecord, end, s.handle))
	runtime.LockOSThread() // a library may keep by thread what has begun, and what went wrong
	defer runtime.UnlockOSThread()
	n := s.device.run(l.calls)
	defer l.reset()
	if n < len(l.calls) {
		s.device.keepEvent(ends, end)
		return nil, s.broken(n)
	}
	return s.newEnd(end), nil
}

// run makes the calls of one stream at a time: a library's handle has the stream that was set last.
func (d *device) run(calls []ccall.Call) int {
	d.running.Lock()
	defer d.running.Unlock()
	return ccall.Run(calls)
}

// broken is the error of call n of the queue. What the calls after it were to free or to discard is freed and
// discarded all the same.
func (s *stream) broken(n int) error {
	l := &s.queue
	left := []ccall.Call{s.device.enter()}
	for _, c := range l.calls[n+1:] {
		if _, e := s.device.encoder(c.Func); c.Func != 0 && (e.does == isEnd || c.Func == s.device.functions[cuMemFreeAsync]) {
			left = append(left, c)
		}
	}
	ccall.Run(left)
	return s.device.brokenCall(l, n)
}

// brokenCall is the error of call n of a list: it has the function's name and the index of the work.
func (d *device) brokenCall(l *list, n int) error {
	calls := l.calls
	var err *gpu.Error
	if v, e := d.encoder(calls[n].Func); v != nil {
		err = v.failed(e.name, calls[n].Int())
	} else {
		err = d.failed(d.Name, function(slices.Index(d.functions, calls[n].Func)), calls[n].Int())
	}
	if n >= l.head && n < len(calls)-1 {
		err.Index = d.pieces(calls[l.head:n])
	}
	return err
}

// pieces is the number of pieces of work among calls.
func (d *device) pieces(calls []ccall.Call) int {
	n := 0
	for i := range calls {
		if _, e := d.encoder(calls[i].Func); e.does == isWork {
			n++
		}
	}
	return n
}

// Close destroys the stream, after at most a second for what must be freed in its order.
func (s *stream) Close() error {
	if len(s.queue.calls) > s.queue.head || s.record != nil {
		return s.device.misused(cuStreamDestroy, "work was encoded and not committed, or a recording is under way")
	}
	if open, err := s.Queue.Close(cuStreamDestroy.String(), s); !open {
		return err
	}
	return s.device.do(cuStreamDestroy, s.handle)
}

// Busy reports whether work is under way.
func (s *stream) Busy() bool { return s.device.code(cuStreamQuery, s.handle) == notReady }

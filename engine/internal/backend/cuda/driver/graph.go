package driver

import (
	"runtime"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
)

// Record begins to collect calls for a graph. The driver learns of it in Finish: the capture begins, gets its
// calls and ends in one batch, so no other call can come between.
func (s *stream) Record() error {
	if err := s.refuse(cuStreamBeginCapture); err != nil {
		return err
	}
	const relaxed = 2 // other threads, and other calls of this one, do as they like
	l := newList(s.device.enter(), s.device.make(cuStreamBeginCapture, s.handle, relaxed))
	s.record = &l
	return nil
}

// graph is a graph that the driver has made ready.
type graph struct {
	device   *device
	exec     uintptr
	launches int
}

// Finish captures the recorded calls.
func (s *stream) Finish() (gpu.Graph, error) {
	d, l := s.device, s.record
	if l == nil {
		return nil, d.misused(cuStreamEndCapture, "no recording is under way")
	}
	s.record = nil
	captured := new(uintptr)
	launches := d.pieces(l.calls[l.head:])
	l.calls = append(l.calls, d.make(cuStreamEndCapture, s.handle, uintptr(unsafe.Pointer(captured))))
	n := ccall.Run(l.calls)
	runtime.KeepAlive(captured)
	var err error
	if n < len(l.calls) {
		err = d.brokenCall(l, n)
		if n > 1 && n < len(l.calls)-1 { // a capture that is under way must end all the same
			d.do(cuStreamEndCapture, s.handle, uintptr(unsafe.Pointer(captured)))
		}
	}
	runtime.KeepAlive(l)
	if *captured != 0 {
		defer d.do(cuGraphDestroy, *captured)
	}
	if err != nil {
		return nil, err
	}
	exec := new(uintptr)
	if err := d.do(cuGraphInstantiate, uintptr(unsafe.Pointer(exec)), *captured, 0); err != nil {
		return nil, err
	}
	return &graph{d, *exec, launches}, nil
}

// Replay encodes a launch of the whole graph.
func (g *graph) Replay(s gpu.Stream) error {
	to, ok := s.(*stream)
	if !ok || to.device != g.device || to.record != nil || g.exec == 0 {
		return g.device.misused(cuGraphLaunch, "got a stream of another device, one that records, or a graph that was closed")
	}
	to.encode(cuGraphLaunch, g.exec, to.handle)
	return nil
}

func (g *graph) Launches() int { return g.launches }

// Close destroys the graph.
func (g *graph) Close() {
	if g.exec != 0 && !g.device.Closed() {
		g.device.do(cuGraphExecDestroy, g.exec)
	}
	g.exec = 0
}

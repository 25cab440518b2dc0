package driver

import (
	"bytes"
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
	s.record, s.dispatches = &l, nil
	return nil
}

// graph is a graph that the driver has made ready.
type graph struct {
	device     *device
	graph      uintptr // whose nodes those of dispatches are
	exec       uintptr
	launches   int
	dispatches []launch
}

// A launch is a dispatch in a graph.
type launch struct {
	function uintptr
	args     []gpu.Arg
	node     uintptr
}

// nodeParams is CUDA_KERNEL_NODE_PARAMS_v1.
type nodeParams struct {
	function       uintptr
	groups, blocks [3]uint32
	shared         uint32
	args, extra    uintptr
}

const kernelNode = 0 // of CUgraphNodeType

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
	n := d.run(l.calls)
	runtime.KeepAlive(captured)
	var err error
	if n < len(l.calls) {
		err = d.brokenCall(l, n)
		if n > 1 && n < len(l.calls)-1 { // a capture that is under way must end all the same
			d.do(cuStreamEndCapture, s.handle, uintptr(unsafe.Pointer(captured)))
		}
	}
	runtime.KeepAlive(l)
	g := &graph{device: d, graph: *captured, launches: launches, dispatches: s.dispatches}
	if err == nil {
		err = d.do(cuGraphInstantiate, uintptr(unsafe.Pointer(&g.exec)), g.graph, 0)
	}
	if err == nil {
		err = g.find()
	}
	if err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// find finds the nodes of the dispatches, if the driver lists nodes as they were captured. Those of libraries
// stand between them.
func (g *graph) find() error {
	count := new(uint64)
	if err := g.device.do(cuGraphGetNodes, g.graph, 0, uintptr(unsafe.Pointer(count))); err != nil || *count == 0 {
		return err
	}
	nodes := make([]uintptr, *count)
	if err := g.device.do(cuGraphGetNodes, g.graph, uintptr(unsafe.Pointer(&nodes[0])), uintptr(unsafe.Pointer(count))); err != nil {
		return err
	}
	found := 0
	for _, n := range nodes {
		if found == len(g.dispatches) {
			break
		}
		kind := new(int32)
		if err := g.device.do(cuGraphNodeGetType, n, uintptr(unsafe.Pointer(kind))); err != nil {
			return err
		}
		if *kind != kernelNode {
			continue
		}
		p := new(nodeParams)
		if err := g.device.do(cuGraphKernelNodeGetParams, n, uintptr(unsafe.Pointer(p))); err != nil {
			return err
		}
		if m := &g.dispatches[found]; p.function == m.function && p.carries(m.args) {
			m.node, m.args = n, nil
			found++
		}
	}
	return nil
}

// carries says whether a node's arguments are these.
func (p *nodeParams) carries(args []gpu.Arg) bool {
	for i, a := range args {
		at := *(*unsafe.Pointer)(unsafe.Add(*(*unsafe.Pointer)(unsafe.Pointer(&p.args)), i*pointerSize))
		if a.Buffer == nil {
			if !bytes.Equal(unsafe.Slice((*byte)(at), len(a.Bytes)), a.Bytes) {
				return false
			}
		} else if *(*uint64)(at) != a.Buffer.Address()+uint64(a.Offset) {
			return false
		}
	}
	return true
}

// Bind sets the arguments of a node.
func (g *graph) Bind(n int, args []gpu.Arg) error {
	if n < 0 || n >= len(g.dispatches) || g.exec == 0 {
		return g.device.misused(cuGraphExecKernelNodeSetParams, "got dispatch %d of %d, or a graph that was closed", n, len(g.dispatches))
	}
	if g.dispatches[n].node == 0 {
		return gpu.Errorf(gpu.Unsupported, g.device.Name, cuGraphGetNodes.String(), "the driver lists nodes in another order")
	}
	p := new(nodeParams)
	if err := g.device.do(cuGraphKernelNodeGetParams, g.dispatches[n].node, uintptr(unsafe.Pointer(p))); err != nil {
		return err
	}
	var memory ccall.Arena
	p.args = bind(&memory, args)
	err := g.device.do(cuGraphExecKernelNodeSetParams, g.exec, g.dispatches[n].node, uintptr(unsafe.Pointer(p)))
	runtime.KeepAlive(&memory)
	return err
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
	if !g.device.Closed() {
		if g.exec != 0 {
			g.device.do(cuGraphExecDestroy, g.exec)
		}
		if g.graph != 0 {
			g.device.do(cuGraphDestroy, g.graph)
		}
	}
	g.exec, g.graph = 0, 0
}

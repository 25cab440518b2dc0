package gpu

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
)

// What a library computes, see package kernel: a matrix product, with its matrices, and attention,
// convolutions and their gradients.
type (
	Product     = kernel.Product
	Matrix      = kernel.Matrix
	Attention   = kernel.Attention
	Convolution = kernel.Convolution
	Work        = kernel.Work
)

// A Librarian is a Device with libraries of kernels: cuBLASLt, cuDNN, cuSOLVER and cuFFT, or Metal
// Performance Shaders.
type Librarian interface {
	Device
	// Computation chooses how a library computes work. Operands begin at multiples of 16 bytes, those of a
	// product at multiples of the alignment, a power of two, and of their elements' size, and it has at most
	// so many bytes of workspace. The same arguments give the same choice. Its error has the code Unsupported
	// if no library has such work. It takes microseconds, for attention tens of milliseconds, and a second
	// where a library compiles or is loaded. Streams do not record a routine: it may wait for the device
	// while it is encoded.
	Computation(w Work, alignment, workspace int) (Computation, error)
}

// A Computation is work that is ready to be computed by a library. One goroutine at a time encodes it.
type Computation interface {
	// Name says what computes it: "cublasLt 12.8.4, algorithm 66".
	Name() string
	// Workspace is the number of bytes that it needs beside the operands.
	Workspace() int
	// Launches is how many launches the library makes for it.
	Launches() int
	// Encode encodes it into a stream of the same device, as a dispatch is encoded: it sees the results of
	// all work before the last barrier. A graph keeps the addresses of its operands.
	Encode(s Stream, o *Operands) error
	// Close lets go of it when no stream has it encoded.
	Close()
}

// A Chooser is a Computation for which the library has proposed several ways.
type Chooser interface {
	Computation
	// Choose takes the fastest of them on the device, for this process and for all that are given the same
	// folder. It takes milliseconds the first time, and where the library compiles a second. Where nothing
	// can be noted there, the choice is left as it is. No stream may have the work encoded.
	Choose(folder string)
}

// Operands are where the operands of work begin, by their numbers in package kernel: a buffer and an offset
// in bytes; those that there are not are zero. The workspace is aligned to 256 bytes. Scale counts if a
// product is scaled.
type Operands struct {
	List      [kernel.AttentionOperands]Arg
	Workspace Arg
	Scale     float32
}

// librariesSwitch is the variable that, set to off, leaves all products, attention and convolutions to the
// backend's own kernels, so that the two can be compared. Set to always, it gives a library all that it has.
// Set to untimed, it takes of the ways that a library proposes for work the first, as always does, too.
const librariesSwitch = "MCS_LIBRARIES"

// mostWorkspace is the workspace of products that NVIDIA recommends for Hopper.
const mostWorkspace = 32 << 20

// usually is how memory of the backend is aligned, at least, but for views that begin elsewhere.
const usually = 16

// A library has the work that groups were compiled to.
type library struct {
	sync.Mutex
	device Librarian
	always bool
	timed  bool             // the fastest of a library's ways is taken
	known  map[Work]*choice // nil where the library has none
}

// A choice is how work is computed with operands that are aligned as usual, and with those that are aligned
// to their elements alone.
type choice struct{ usual, loose Computation }

// newLibrary returns the library of a device, or nil if it has none or is not to be used.
func newLibrary(d Device) *library {
	m, ok := d.(Librarian)
	wanted := os.Getenv(librariesSwitch)
	if !ok || wanted == "off" {
		return nil
	}
	return &library{device: m, always: wanted == "always", timed: wanted != "always" && wanted != "untimed", known: map[Work]*choice{}}
}

// choose returns how work is computed, or nil.
func (l *library) choose(work Work) *choice {
	l.Lock()
	defer l.Unlock()
	c, known := l.known[work]
	if !known {
		c = l.prepare(work)
		l.known[work] = c
	}
	return c
}

func (l *library) prepare(work Work) *choice {
	usual, err := l.device.Computation(work, usually, mostWorkspace)
	if err != nil {
		return nil
	}
	if c, ok := usual.(Chooser); ok && l.timed {
		c.Choose(cacheDir())
	}
	loose := usual
	if _, ok := work.(Product); ok {
		if loose, err = l.device.Computation(work, 1, mostWorkspace); err != nil {
			usual.Close()
			return nil
		}
	}
	return &choice{usual, loose}
}

// offer tells package kernel whether there is such work, and how many bytes of workspace it needs.
func (l *library) offer(work Work) (workspace int, ok bool) {
	c := l.choose(work)
	if c == nil {
		return 0, false
	}
	return max(c.usual.Workspace(), c.loose.Workspace()), true
}

func (l *library) close() {
	for _, c := range l.known {
		if c == nil {
			continue
		}
		c.usual.Close()
		if c.loose != c.usual {
			c.loose.Close()
		}
	}
}

// mostRoom is the most that attention's scores, or a convolution's columns, take: several times what caches
// hold, so that launches are few.
const mostRoom = 256 << 20

// RoomOf is how many bytes attention's scores may take on a device, a convolution's columns, or what a
// library needs beside them: a small part of its memory.
func RoomOf(d Info) int { return int(min(mostRoom, d.Memory/256)) }

// A libraryCall is a step of a group that a library computes.
type libraryCall struct {
	*choice
	work  Work
	at    *kernel.Placement
	scale int // which of the command's scalars a product is scaled by; -1 if by none
}

// newCall is that of a dispatch, or nil if it is a text's.
func (b *Backend) newCall(d *kernel.Dispatch) *libraryCall {
	if d.Library == nil {
		return nil
	}
	c := &libraryCall{b.library.choose(d.Library.Work), d.Library.Work, &d.Library.Placement, -1}
	if p, ok := c.work.(Product); ok && p.Scaled {
		c.scale = d.Library.Scale
	}
	return c
}

// Lends says whether the device's library has a routine.
func (b *Backend) Lends(r ir.Routine) bool {
	return b.library != nil && b.library.choose(r) != nil
}

func (c *libraryCall) launches() int { return max(c.usual.Launches(), c.loose.Launches()) }

// String says which library computes what.
func (c *libraryCall) String() string { return fmt.Sprintf("%s: %v", c.usual.Name(), c.work) }

// placed finds an operand of a library in the memory of a run.
func placed(f kernel.Field, launch *backend.Launch, t *backend.Table) Arg {
	place := launch.Scratch
	if f.Kind == kernel.Pointer {
		place = launch.Bufs[f.Index]
	}
	return Arg{Buffer: t.Bufs[place.Index].(*buffer).Buffer, Offset: place.Offset + f.At}
}

// operands finds those of a call in the memory of a run. A library's workspace is aligned to 256 bytes.
func (c *libraryCall) operands(launch *backend.Launch, t *backend.Table) *Operands {
	o := &Operands{}
	for n, f := range c.at.Operands {
		if c.work.Bytes(n) > 0 {
			o.List[n] = placed(f, launch, t)
		}
	}
	if c.scale >= 0 {
		o.Scale = float32(t.Scalar(launch.Scalars[c.scale]).F)
	}
	if c.at.WorkspaceBytes > 0 {
		o.Workspace = placed(c.at.Workspace, launch, t)
		o.Workspace.Offset += int(-o.Workspace.address() & 255)
	}
	return o
}

func (a *Arg) address() uint64 { return a.Buffer.Address() + uint64(a.Offset) }

// A pin is what a library gets for a call, so that a graph has it: the addresses of its operands, 0 for what
// is not there, and of its workspace, and the bits of a product's scale.
type pin [kernel.AttentionOperands + 2]uint64

func (o *Operands) pin() (p pin) {
	for i, a := range append(o.List[:], o.Workspace) {
		if a.Buffer != nil {
			p[i] = a.address()
		}
	}
	p[len(p)-1] = uint64(math.Float32bits(o.Scale))
	return p
}

// encode encodes a call.
func (c *libraryCall) encode(s Stream, o *Operands) error {
	by := c.usual
	for i := range o.List {
		if a := &o.List[i]; a.Buffer != nil && a.address()%usually != 0 {
			by = c.loose
		}
	}
	return by.Encode(s, o)
}

// CheckOperands looks at what every driver must: that the operands of work lie within their buffers, and are
// aligned.
func CheckOperands(w Work, o *Operands, alignment, workspace int) error {
	var list []error
	check := func(what string, a *Arg, bytes int) {
		err := CheckRange(what, a.Buffer, a.Offset, bytes)
		if err == nil && a.address()%uint64(alignment) != 0 {
			err = fmt.Errorf("got %s at %#x, want a multiple of %d", what, a.address(), alignment)
		}
		list = append(list, err)
	}
	for n := range o.List {
		if bytes := w.Bytes(n); bytes > 0 {
			check(fmt.Sprintf("operand %d", n), &o.List[n], bytes)
		}
	}
	if workspace > 0 {
		check("workspace", &o.Workspace, workspace)
	}
	return errors.Join(list...)
}

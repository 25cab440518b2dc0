package gpu

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
)

// A Product is a matrix product for a library, see kernel.Product, and a Matrix is one of its matrices.
type (
	Product = kernel.Product
	Matrix  = kernel.Matrix
)

// A Multiplier is a Device with a library of matrix products: cuBLASLt, or Metal Performance Shaders.
type Multiplier interface {
	Device
	// Multiplication chooses how the library computes a product whose matrices begin at multiples of so many
	// bytes, a power of two, and of their elements' size, with at most so many bytes of workspace. The same
	// arguments give the same choice. Its error has the code Unsupported if the library lacks such a product.
	// It takes microseconds, but the first time the library is loaded.
	Multiplication(p Product, alignment, workspace int) (Multiplication, error)
}

// A Multiplication is a product that is ready to be computed. One goroutine at a time encodes it.
type Multiplication interface {
	// Name says what computes it: "cublasLt 12.8.4, algorithm 66".
	Name() string
	// Workspace is the number of bytes that it needs beside the matrices.
	Workspace() int
	// Launches is how many launches the library makes for it.
	Launches() int
	// Encode encodes it into a stream of the same device, as a dispatch is encoded: it sees the results of
	// all work before the last barrier. A graph keeps the addresses of its matrices.
	Encode(s Stream, o *Operands) error
	// Close lets go of it when no stream has it encoded.
	Close()
}

// A Chooser is a Multiplication for which the library has proposed several ways.
type Chooser interface {
	Multiplication
	// Choose takes the fastest of them on the device, for this process and for all that are given the same
	// folder. It takes milliseconds the first time. Where nothing can be noted there, the choice is left as
	// it is. No stream may have the product encoded.
	Choose(folder string)
}

// Operands are where the matrices of a product begin: a buffer and an offset in bytes. C and Bias are zero
// where the product has none. The workspace is aligned to 256 bytes. Scale counts if the product is scaled.
type Operands struct {
	A, B, C, D, Bias, Workspace Arg
	Scale                       float32
}

// librariesSwitch is the variable that, set to off, leaves all products and attention to the backend's own
// kernels, so that the two can be compared. Set to always, it gives a library all that it has. Set to
// untimed, it takes of the ways that a library proposes for a product the first, as always does, too.
const librariesSwitch = "MCS_LIBRARIES"

// mostWorkspace is the workspace that NVIDIA recommends for Hopper.
const mostWorkspace = 32 << 20

// usually is how memory of the backend is aligned, at least, but for views that begin elsewhere.
const usually = 16

// A library has the products and the attention that groups were compiled to.
type library struct {
	sync.Mutex
	device    Multiplier
	attender  Attender // nil if the device has no library of attention
	always    bool
	timed     bool                // the fastest of a library's ways is taken
	known     map[Product]*choice // nil where the library has none
	attention map[Attention]Attending
}

// A choice is how a product is computed with matrices that are aligned as usual, and with those that are
// aligned to their elements alone.
type choice struct{ usual, loose Multiplication }

// newLibrary returns the library of a device, or nil if it has none or is not to be used.
func newLibrary(d Device) *library {
	m, ok := d.(Multiplier)
	wanted := os.Getenv(librariesSwitch)
	if !ok || wanted == "off" {
		return nil
	}
	attender, _ := d.(Attender)
	return &library{device: m, attender: attender, always: wanted == "always", timed: wanted != "always" && wanted != "untimed",
		known: map[Product]*choice{}, attention: map[Attention]Attending{}}
}

// choose returns how a product is computed, or nil.
func (l *library) choose(p Product) *choice {
	l.Lock()
	defer l.Unlock()
	c, known := l.known[p]
	if !known {
		c = l.prepare(p)
		l.known[p] = c
	}
	return c
}

func (l *library) prepare(p Product) *choice {
	usual, err := l.device.Multiplication(p, usually, mostWorkspace)
	if err != nil {
		return nil
	}
	if c, ok := usual.(Chooser); ok && l.timed {
		c.Choose(cacheDir())
	}
	loose, err := l.device.Multiplication(p, 1, mostWorkspace)
	if err != nil {
		usual.Close()
		return nil
	}
	return &choice{usual, loose}
}

// offer tells package kernel whether there is a product.
func (l *library) offer(p Product) (workspace int, ok bool) {
	c := l.choose(p)
	if c == nil {
		return 0, false
	}
	return max(c.usual.Workspace(), c.loose.Workspace()), true
}

func (l *library) close() {
	for _, c := range l.known {
		if c != nil {
			c.usual.Close()
			c.loose.Close()
		}
	}
	for _, by := range l.attention {
		if by != nil {
			by.Close()
		}
	}
}

// mostRoom is the most that attention's scores, or a convolution's columns, take: several times what caches
// hold, so that launches are few.
const mostRoom = 256 << 20

// RoomOf is how many bytes attention's scores may take on a device, or a convolution's columns: a small part
// of its memory.
func RoomOf(d Info) int { return int(min(mostRoom, d.Memory/256)) }

// limits tells package kernel what there is.
func (l *library) limits() *kernel.Library {
	k := &kernel.Library{Offer: l.offer, Room: RoomOf(l.device.Info()), Always: l.always}
	if l.attender != nil {
		k.Attend = l.attend
	}
	return k
}

// A libraryCall is a step of a group that a library computes.
type libraryCall interface {
	launches() int
	String() string // which library computes what
	// pin is what the library gets in a run.
	pin(launch *backend.Launch, t *backend.Table) pin
	encode(s Stream, launch *backend.Launch, t *backend.Table) error
}

// A productCall is a product.
type productCall struct {
	*choice
	call *kernel.Call
}

func (c productCall) launches() int { return max(c.usual.Launches(), c.loose.Launches()) }

func (c productCall) String() string { return fmt.Sprintf("%s: %v", c.usual.Name(), &c.call.Product) }

func (c productCall) pin(launch *backend.Launch, t *backend.Table) pin {
	return operands(c.call, launch, t).pin()
}

func (c productCall) encode(s Stream, launch *backend.Launch, t *backend.Table) error {
	return c.multiply(s, operands(c.call, launch, t))
}

// placed finds an operand of a library in the memory of a run.
func placed(f kernel.Field, launch *backend.Launch, t *backend.Table) Arg {
	place := launch.Scratch
	if f.Kind == kernel.Pointer {
		place = launch.Bufs[f.Index]
	}
	return Arg{Buffer: t.Bufs[place.Index].(*buffer).Buffer, Offset: place.Offset + f.At}
}

// workspaceAt finds a library's workspace, which is aligned to 256 bytes.
func workspaceAt(f kernel.Field, launch *backend.Launch, t *backend.Table) Arg {
	a := placed(f, launch, t)
	a.Offset += int(-a.address() & 255)
	return a
}

// operands finds the matrices of a call in the memory of a run.
func operands(c *kernel.Call, launch *backend.Launch, t *backend.Table) *Operands {
	at := func(f kernel.Field) Arg { return placed(f, launch, t) }
	o := &Operands{A: at(c.A), B: at(c.B), D: at(c.D)}
	if c.Product.Added() {
		o.C = at(c.C)
	}
	if c.Product.Bias {
		o.Bias = at(c.Bias)
	}
	if c.Product.Scaled {
		o.Scale = float32(t.Scalar(launch.Scalars[c.Scale]).F)
	}
	if c.WorkspaceBytes > 0 {
		o.Workspace = workspaceAt(c.Workspace, launch, t)
	}
	return o
}

func (a *Arg) address() uint64 { return a.Buffer.Address() + uint64(a.Offset) }

// addresses are where the device finds the operands, 0 for what is not there.
func (o *Operands) addresses() (list [6]uint64) {
	for i, a := range []*Arg{&o.A, &o.B, &o.C, &o.D, &o.Bias, &o.Workspace} {
		if a.Buffer != nil {
			list[i] = a.address()
		}
	}
	return list
}

// A pin is what a library gets for a call, so that a graph has it: addresses, and the bits of a product's
// scale.
type pin [kernel.AttentionOperands + 1]uint64

func (o *Operands) pin() (p pin) {
	addresses := o.addresses()
	copy(p[:], addresses[:])
	p[6] = uint64(math.Float32bits(o.Scale))
	return p
}

// multiply encodes a call.
func (c *choice) multiply(s Stream, o *Operands) error {
	m := c.usual
	for _, a := range o.addresses() {
		if a%usually != 0 {
			m = c.loose
		}
	}
	return m.Encode(s, o)
}

// CheckOperands looks at what every driver must: that the operands of a product lie within their buffers, and
// are aligned.
func CheckOperands(p *Product, o *Operands, alignment, workspace int) error {
	for i, a := range o.addresses() {
		if a%uint64(alignment) != 0 {
			return fmt.Errorf("got operand %d of A, B, C, D, bias and workspace at %#x, want a multiple of %d", i, a, alignment)
		}
	}
	list := []error{
		CheckRange("A", o.A.Buffer, o.A.Offset, p.Bytes(p.A, p.Rows, p.Inner)),
		CheckRange("B", o.B.Buffer, o.B.Offset, p.Bytes(p.B, p.Inner, p.Columns)),
		CheckRange("D", o.D.Buffer, o.D.Offset, p.Bytes(p.D, p.Rows, p.Columns)),
	}
	if p.Added() {
		list = append(list, CheckRange("C", o.C.Buffer, o.C.Offset, p.Bytes(p.C, p.Rows, p.Columns)))
	}
	if p.Bias {
		list = append(list, CheckRange("bias", o.Bias.Buffer, o.Bias.Offset, p.Columns*p.D.DType.Size()))
	}
	if workspace > 0 {
		list = append(list, CheckRange("workspace", o.Workspace.Buffer, o.Workspace.Offset, workspace))
	}
	return errors.Join(list...)
}

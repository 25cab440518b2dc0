// Package backend is the border between the planner and the devices.
//
// Above it, package plan turns a graph into groups and an order; below it, a backend turns a [Group] into a
// [Kernel] once, loads a [Program] of such kernels, and runs it with one table of memory and numbers after
// the other. A backend never sees the graph, a tensor or a gradient; nothing above the border knows a backend
// by name. The reference backend (ref) is slow, exact and obvious. Package backendtest compares every other
// backend with it.
package backend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A Backend runs kernels on one device. All methods may be called by several goroutines.
//
// A device works in one order: if a call begins after another one has returned, its work comes after the work
// of that one, which the device may not have begun yet. So memory that one run reads may be given to the next
// at once. Only calls that overlap in time may take turns or run side by side.
//
// Results depend on nothing but the device, the program and what is in its table: not on timing, on the
// number of threads, or on whether a program is loaded again or replayed in a cheaper way. So no sum is made
// in an order that chance decides (no atomic addition of floats), and a stopwatch chooses only among
// algorithms that give the same bits. The one exception is a vendor's library that proposes several ways for
// a product: cuda times them once for a user and machine, notes the choice in the user's folder of caches,
// and keeps to it, so another machine, or this one without that folder, may have other last bits.
// MCS_LIBRARIES=untimed takes the first way, which depends on the device, the driver and the library's
// version alone.
type Backend interface {
	// Info says what the device is and can do. It is the same in each call.
	Info() Info
	// Alloc returns uninitialised memory of exactly so many bytes, aligned to 64 bytes. When there is not
	// enough it returns an *OutOfMemory.
	Alloc(bytes int) (ir.Buffer, error)
	// Free gives memory back once all work is done that was asked for before. Any goroutine may call it, a
	// timer's or a cleanup's too, so it neither waits nor fails.
	Free(b ir.Buffer)
	// Upload copies host bytes (little endian) to memory. The copy comes after the runs that were asked for
	// before, and before later ones; src may be used again when Upload returns.
	Upload(dst ir.Buffer, offset int, src []byte) error
	// Download copies memory to host bytes. It waits for the work that writes src, but not when ctx is done:
	// then it returns the context's cause, and what is in dst is undefined.
	Download(ctx context.Context, dst []byte, src ir.Buffer, offset int) error
	// Compile makes a kernel of a group. Calls for several groups may run in parallel. Package plan calls it
	// once for each distinct group, and keeps the kernel; that groups which differ in shapes alone share a
	// text is the backend's own business.
	Compile(g *Group) (Kernel, error)
	// Load prepares a program to be run often. Package plan calls it once for each plan. This is the place
	// for tables of arguments and for graphs that are replayed.
	Load(p *Program) (Loaded, error)
	// Run runs a program with the memory and the numbers of a table, which is the caller's again when Run
	// returns. It may return before the work is done, having called t.Later; it waits while too much work
	// (some 100 ms) is under way. When times is not nil it has a place for each launch: the backend then runs
	// them one at a time, synchronised, stores how long each one took on the device, and sets t.Began.
	//
	// Between launches, and inside long ones, a backend looks at ctx until it comes to Program.Commit, and
	// returns the context's cause when it is done; what the program writes is then undefined, but for what
	// the launches from Commit on would write, which is as it was.
	//
	// An error that the data cause (an index out of range) is returned by Run or, when the device finds it
	// later, given to the Outcome; the text is the same. Either way no launch from Commit on writes over what
	// it reads; what it writes elsewhere is undefined, as are the results of the launches before.
	Run(ctx context.Context, p Loaded, t *Table, times []time.Duration) error
	// Sync waits until all that was asked for is done and each Outcome is known, or ctx is done. It returns
	// an error if the device is lost, or the context's cause.
	Sync(ctx context.Context) error
}

// A CollectedAllocator is a Backend that has memory which Go's collector frees. Small blocks are taken from
// there: Free is not called for them.
type CollectedAllocator interface {
	Backend
	// AllocCollected returns uninitialised memory, aligned to 64 bytes, and the zero Block that is to have
	// it: both may be parts of one object.
	AllocCollected(bytes int) (*Block, ir.Buffer)
}

// Info describes a device.
type Info struct {
	Name    string // "cpu", "ref": what device.Lookup finds it by
	Detail  string // "2 threads, avx512"
	DTypes  []dtype.Type
	Threads int   // of a processor; an accelerator has none
	Memory  int64 // bytes that the device has, 0 if unknown
	Hints   Hints
}

// A Capturer is a Backend that can write what it does into a file for the tools of its vendor. The file must
// not exist. What ends the capture returns when the work of before is in the file.
type Capturer interface {
	Backend
	Capture(path string) (stop func() error, err error)
}

// A Kernel is a compiled group; opaque above the border.
type Kernel interface {
	// Name is what the profile shows.
	Name() string
	// Launches is how many launches the device makes for it: more than one where the group is computed in
	// phases, or partly by a library.
	Launches() int
	// Scratch is how many bytes of memory the kernel needs beside its inputs and outputs while it runs.
	Scratch() int
	// Close lets go of what the kernel has on the device. It is called once, when no program has the kernel
	// any more; as with Free, any goroutine may do that while earlier runs are under way.
	Close()
}

// A SourceKernel is a Kernel that can show what runs, as the text or assembly of the device.
type SourceKernel interface {
	Kernel
	Source() string
}

// A Group is what one launch computes: a small program in single-assignment form, without any view op. It is
// a pure description: it holds no tensor, so that compiled kernels keep nothing alive, and two groups with
// the same Key are the same work.
//
// What may stand in a group depends on its Kind; every backend supports exactly this:
//
//	Map     elementwise instructions of one Shape; any number of outputs. Without instructions it copies an input, or
//	        fills its output with a scalar.
//	Reduce  elementwise prologue over the full shape, then one reduction or several with the same axes, then an
//	        elementwise epilogue over the reduced shape (reduced axes have length 1). Outputs have the reduced shape.
//	MatMul  one or more ir.MatMul instructions, each of its own shapes, and an elementwise epilogue over each result; an
//	        epilogue reads one product of the group, and inputs. A later MatMul may use an earlier result of the group
//	        (after its epilogue), as it is: the launch then has phases. An input that is an
//	        operand of a product of F32 may be F16 or BF16: it is widened. One of a product of F16 or BF16 may be F32: it
//	        counts as it is, or rounded to the product's type, whichever suits the device. ir.Dequantize instructions, whose operands are
//	        contiguous inputs, stand before the products whose right operand they are, and for nothing else.
//	        As Hints say: an ir.RMSNorm of inputs stands before all, whose result is a left operand of products and nothing
//	        else (Normed); an epilogue reads an earlier product of the same shape, too (Gated). Up to 8 rows.
//	Row     elementwise prologue over the full shape, one FamilyRow instruction on its result, elementwise epilogue over
//	        the row op's first result. Further operands of the row op (weights, dy) come straight from inputs. Cross
//	        entropy and its gradient have neither prologue nor epilogue. A CrossEntropy may be followed by the
//	        CrossEntropyGrad of the same logits and targets, which takes its logsumexp.
//	Single  one instruction of any other op; its operands are inputs. Where Hints say Alike, also several of one
//	        op that share an index or positions: see Alone. With Hints.Stored also ropes and then overwrites: an input
//	        that is an overwrite's updates may be an output of a rope, in C order, which no later launch reads. With the flag InPlace, the result of an ir.Overwrite
//	        may lie in the memory of its base, and those of an ir.AdamW or ir.AdamW8 in the memory of what they
//	        replace.
//
// The result of a CrossEntropyGrad may lie in the memory of its logits: each of its elements is stored after
// the same element of the logits was read for the last time. No other output overlaps an input.
//
// Every value but a prologue's may be an output. A backend need not compute a result that is neither an
// output nor an argument of another instruction: the gradient of a frozen weight. It finds an index that is
// out of range when the group runs: see Backend.Run.
type Group struct {
	Name    string
	Kind    Kind
	Inputs  []Input
	Insts   []Inst
	Outputs []Output
	Flops   int64 // what the mathematics needs; -1 if nobody knows
	Bytes   int64 // each input and output once
	// TF32 allows products and attention of F32 to round their operands to TF32, which has 11 bits of
	// precision. Their sums stay in F32. A backend may ignore it, as ref and cpu do.
	TF32 bool
}

// Alone returns a Single group of instruction i of g only.
func (g *Group) Alone(i int) *Group {
	own := *g
	own.Insts, own.Outputs = g.Insts[i:i+1], nil
	for _, o := range g.Outputs {
		if o.Value.Index == i {
			o.Value.Index = 0
			own.Outputs = append(own.Outputs, o)
		}
	}
	return &own
}

// Type is that of a value of the group.
func (g *Group) Type(r Ref) ir.Type {
	if i, input := r.Input(); input {
		return ir.Type{DType: g.Inputs[i].DType, Shape: g.Inputs[i].Layout.Shape}
	}
	in := &g.Insts[r.Index]
	if in.Outs != nil {
		return in.Outs[r.Result]
	}
	return ir.Type{DType: in.DType, Shape: in.Shape}
}

// A Kind says what a group may consist of; see Group.
type Kind uint8

const (
	Map Kind = iota
	Reduce
	MatMul
	Row
	Single
	Maps // outputs of shapes of their own, each an input or one instruction. Only where Hints say Room
)

var kindNames = [...]string{"map", "reduce", "matmul", "row", "single", "maps"}

// String returns the kind in lower case.
func (k Kind) String() string { return kindNames[k] }

// Layout is where the output's elements lie.
func (o *Output) Layout() ir.Layout {
	l := ir.Contiguous(o.Shape)
	if o.Stride != nil {
		l.Stride = o.Stride
	}
	l.Offset = o.Offset
	return l
}

// An Input is a buffer read through a layout, or a scalar. Several inputs may read one buffer.
type Input struct {
	DType  dtype.Type
	Layout ir.Layout // Shape is the shape that the instructions see; Shape [] for a scalar
	Buf    int       // index into Launch.Bufs, or -1 for a scalar
	Scalar int       // index into Launch.Scalars when Buf is -1
	// Weight says of what a product multiplies with that no launch before it in the program writes there.
	Weight bool
	// Room says of what a product multiplies with that it lies in the room of a matrix that the product reads
	// before, see ir.Room, and that what lies between both are zeros.
	Room bool
}

// An Inst applies an op to earlier values. A scalar or an input with Shape [] (or with length-1 axes in an
// epilogue) broadcasts in elementwise instructions; otherwise shapes are equal.
type Inst struct {
	Op    ir.Op
	Attr  ir.Attr
	DType dtype.Type
	Shape []int
	Outs  []ir.Type // for an op with several results
	Args  []Ref
}

// A Ref names a value of the group: what instruction Index computes or, when Index is negative, input ^Index.
// Of an op with several results, Result says which.
type Ref struct {
	Index  int
	Result int
}

// In returns the Ref of input i.
func In(i int) Ref { return Ref{Index: ^i} }

// Input returns which input r is, or false.
func (r Ref) Input() (int, bool) { return ^r.Index, r.Index < 0 }

// An Output stores a value in the launch's buffer Buf. A scalar fills the output.
type Output struct {
	Value Ref
	Buf   int
	DType dtype.Type // equals the value's
	Shape []int      // that of the instructions, or of the input that is copied
	Final bool       // no later launch of the program reads it
	// Stride is nil if the elements lie in C order. Else it has the stride of each axis, in elements: those
	// of the axes in another order, of which the last one stays the last, or those of rows with room between
	// them. Only a device whose Hints say Permuted or Room gets that.
	Stride []int
	Offset int // elements from the start of Buf to the first one; 0 unless it lies in another value's room
}

// OutOfMemory says that a device has no room.
type OutOfMemory struct {
	Device     string
	Want, Free int64  // bytes; Free is -1 if unknown
	Held       string // what has the memory
}

func (e *OutOfMemory) Error() string {
	s := fmt.Sprintf("%s: out of memory: wanted %d bytes", e.Device, e.Want)
	if e.Free >= 0 {
		s += fmt.Sprintf(", %d are free", e.Free)
	}
	if e.Held != "" {
		s += "; " + e.Held
	}
	return s
}

// ErrInterrupted is what Run returns when its context was cancelled without a cause of its own.
var ErrInterrupted = errors.New("interrupted")

// Interrupted is the error of work that was stopped because ctx is done: the context's cause, or
// ErrInterrupted.
func Interrupted(ctx context.Context) error {
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return ErrInterrupted
}

// Package gpu is the backend for GPUs. It is written once, above the interface [Driver], which this file
// declares. There are drivers for CUDA (cuda/driver) and Metal (metal/driver), one that runs kernels on the
// processor (package emulated), and one that only records its calls (package fake).
//
// A driver is thin. It does not cache memory, choose kernels, order streams or retry: the backend does. It
// checks limits, freed buffers and offsets, because a mistake there would be a fault of the device; owner.go
// has what is the same in every driver. Its errors are of type *Error.
//
// How the parts belong together:
//
//	driver.Devices → driver.Open → device.Compile → library.Pipeline ┐
//	                               device.Alloc → buffer              ├→ stream.Dispatch … stream.Commit → event.Wait
//	                               device.Stream                      ┘
//
// Concurrency: a Stream is used by one goroutine at a time. Everything else may be used by several. No method
// needs a particular thread. A method that says nothing about waiting does not wait for the device.
//
// Close or Free gives a thing back as soon as the device is done with it; the caller does not use it
// afterwards. Nothing has a finalizer. Close of a device gives back all that is left of it.
package gpu

import (
	"context"
	"time"
)

// A Driver finds and opens the devices of one kind.
type Driver interface {
	// Name is "cuda" or "metal".
	Name() string
	// Present is nil when there may be a device, and otherwise an error that says what is missing. It loads
	// no library and takes microseconds: a list of devices asks it at each press of Tab.
	Present() error
	// Devices describes the devices without opening them: no context is made, no memory taken. It may load
	// the driver's library, which can take a tenth of a second the first time.
	Devices() ([]Info, error)
	// Open makes the device with that index ready for work. Two of one index are two devices that share
	// memory's limits but no buffers. After LostDevice a device is closed and opened again.
	Open(index int) (Device, error)
}

// A Language is what a device's kernels are written in.
type Language string

const (
	Metal Language = "metal" // Metal Shading Language, as in shaders/
	CUDA  Language = "cuda"  // CUDA C++, made from that by shaders/prelude
)

// Info describes a device.
type Info struct {
	Index     int
	Name      string // "NVIDIA H200", "Apple M3 Max"
	Driver    string // the version of the driver: "CUDA 12.8", "macOS 15.3"
	Family    string // what kernels are compiled for: "sm_90", "apple9"
	Memory    int64  // bytes; of a unified memory what the system recommends to use
	Unified   bool   // the processor reads and writes device memory: Buffer.Host is never nil
	Language  Language
	Limits    Limits
	Libraries []string // libraries with kernels that were found: "cublasLt 12.8.4"
}

// Limits are what a dispatch must keep to; a pipeline may allow less.
type Limits struct {
	Threads           int   // in a threadgroup
	ThreadgroupMemory int   // bytes, what a kernel declares and what a dispatch adds together
	Simdgroup         int   // threads of a simdgroup (a warp)
	Processors        int   // that run threadgroups side by side, 0 if unknown
	Groups            Size  // of a dispatch
	Args              int   // of a kernel, threadgroup memory not counted
	InlineBytes       int   // Arg.Bytes of all arguments together, buffers counted as 8
	Alignment         int   // bytes, of a buffer's start; a power of two
	Buffer            int64 // bytes of one buffer
}

// A Size is an extent in three dimensions, each at least 1.
type Size struct{ X, Y, Z int }

// Count is the number of elements.
func (s Size) Count() int { return s.X * s.Y * s.Z }

// A Memory is where a buffer lies.
type Memory uint8

const (
	DeviceMemory Memory = iota // fastest for the device; the processor sees it only if Info.Unified
	SharedMemory               // the processor reads and writes it; the device reaches it, perhaps slowly (pinned)
)

// A Device is an open device.
type Device interface {
	Info() Info
	// Alloc returns a buffer with undefined contents, at least 1 byte, aligned to Limits.Alignment. Without
	// room its error has the code OutOfMemory, with Want and Free. It may wait for the driver, never for
	// kernels.
	Alloc(bytes int, m Memory) (Buffer, error)
	// Usage says how much memory there is.
	Usage() (Usage, error)
	// Compile makes a library of kernels from text in the device's language. Its error has the code BadKernel
	// and the compiler's messages, with the names and lines of #line directives. It takes milliseconds to
	// seconds, and may be called side by side.
	Compile(ctx context.Context, s Source) (Library, error)
	// Load makes a library from what the compiler has made before: PTX or a cubin, or a metallib.
	Load(name string, binary []byte) (Library, error)
	// Stream returns a queue of work. Streams run side by side.
	Stream() (Stream, error)
	// Close waits a second for work under way and gives everything back. A lost device can be closed.
	Close() error
}

// Usage is the memory of a device, in bytes.
type Usage struct {
	InUse int64 // by this Device's buffers
	Peak  int64 // the most that was InUse
	Free  int64 // that all programs together have left, -1 if unknown
	Total int64
}

// A Buffer is memory that kernels read and write.
type Buffer interface {
	// Len is the number of bytes that was asked for.
	Len() int
	// Address is where the device finds it, for tables of pointers in other buffers. A dispatch that reaches
	// a buffer by its address names it in Dispatch.Uses.
	Address() uint64
	// Host is the memory as the processor sees it, or nil. Reading it while a kernel writes it is a race.
	Host() []byte
	// Free gives it back at once: the device no longer works on it. Stream.Free waits for that.
	Free()
}

// Source is the text of a library.
type Source struct {
	Name    string   // for messages
	Text    string   // self-contained: no include but the language's own
	Defines []string // "NAME" or "NAME=VALUE"
	// Relaxed allows the compiler to reorder sums, to assume that there are no NaN or infinities, and to make
	// an FMA of a product and a sum. Without it each operation rounds, as where kernels are checked; in Metal
	// the text says so itself, by #pragma METAL fp contract(off).
	Relaxed bool
	// Overlaps says that the kernels wait for the work before them: the device may begin them earlier.
	Overlaps bool
	// Cache is a directory where compiled kernels are kept, by a hash of the text, the options, the compiler
	// and the device. "" keeps nothing. A damaged entry is compiled anew.
	Cache string
}

// A Library holds compiled kernels.
type Library interface {
	// Pipeline returns the kernel with that name. constants are values of Metal's function constants by
	// index; CUDA has none, they are defines there. Without such a kernel the error has the code BadKernel
	// and lists those that there are, where the driver can tell.
	Pipeline(name string, constants ...Constant) (Pipeline, error)
	Close()
}

// A Constant is the value of a function constant: a bool, int32, uint32 or float32.
type Constant struct {
	Index int
	Value any
}

// A Pipeline is a kernel that is ready to run.
type Pipeline interface {
	Name() string
	// Limits says what a dispatch of this kernel may ask for.
	Limits() PipelineLimits
	Close()
}

// PipelineLimits are a kernel's own limits, and what it takes.
type PipelineLimits struct {
	Threads           int // in a threadgroup; less than the device's when it takes many registers
	Simdgroup         int
	ThreadgroupMemory int // bytes that the kernel declares itself
	Registers         int // of a thread, 0 if unknown
	Spilled           int // bytes of a thread that did not fit into registers, 0 if unknown
}

// A Dispatch runs a kernel once over a grid.
type Dispatch struct {
	Pipeline Pipeline
	Groups   Size // threadgroups
	Threads  Size // of a threadgroup
	Args     []Arg
	// Threadgroup has the bytes of each argument that is threadgroup memory, by its index:
	// [[threadgroup(i)]]. CUDA takes one.
	Threadgroup []int
	// Uses are buffers that the kernel reaches through addresses in memory. A dispatch that is recorded may
	// name none: it reaches whatever addresses it finds when it is replayed.
	Uses []Buffer
	// Early lets a device begin before the work before it is over, if the pipeline's kernel waits for that.
	Early bool
}

// An Arg is what an argument of a kernel is bound to: a buffer from a byte offset on, or the bytes of a
// constant, which are copied. [[buffer(i)]] is Args[i]; the zero Arg binds nothing and is an error where the
// kernel has that argument.
type Arg struct {
	Buffer Buffer
	Offset int
	Bytes  []byte
}

// A Stream takes work, which runs after Commit. A dispatch sees the results of all work before the last
// Barrier. Copies and fills see the results of all work before them, and all work after them sees theirs. Two
// dispatches without a Barrier between them may run side by side.
//
// An error of an encoding method means that this work was not encoded; earlier work stays encoded.
type Stream interface {
	Dispatch(d *Dispatch) error
	// Copy copies bytes. Within one buffer, the two ranges are apart.
	Copy(dst Buffer, dstOffset int, src Buffer, srcOffset, bytes int) error
	// Fill sets each byte.
	Fill(b Buffer, offset, bytes int, value byte) error
	Barrier() error
	// After makes what follows wait, on the device, for a commit of another stream.
	After(e Event) error
	// Stamp encodes that the device's clock is read, after the work before it.
	Stamp() (Stamp, error)
	// Free frees a buffer when the work that was encoded before is done.
	Free(b Buffer)
	// Commit hands the encoded work to the device, in one transition to the driver. It may block while the
	// driver's queue is full. After an error of a batch, Error.Index says which piece of work it was, and
	// nothing of what followed was handed over. Without any work it returns an event all the same.
	Commit() (Event, error)
	Close() error
}

// An Event is the end of a commit.
type Event interface {
	// Done reports whether the work is over, without waiting. What went wrong in it, on the device, is the
	// error; it is reported by each call and by each later event of the stream.
	Done() (bool, error)
	// Wait waits until the work is over. It returns ctx's cause when that ends first, and an error with the
	// code Timeout after limit, or never when that is 0: the work goes on in both cases, because a device
	// cannot be stopped.
	Wait(ctx context.Context, limit time.Duration) error
	Close()
}

// A Stamp is a time by the device's clock, known when the commit that it belongs to is over.
type Stamp interface {
	// Since is the time from an earlier stamp of the same stream to this one.
	Since(earlier Stamp) (time.Duration, error)
	Close()
}

// A Recorder is a Stream that can replay work: CUDA's graphs.
type Recorder interface {
	Stream
	// Record begins: dispatches, copies, fills and barriers until Finish are recorded, not run. Stamp, After,
	// Commit and Record are refused then. Free stays with the work outside of the recording.
	Record() error
	// Finish ends a recording. After an error nothing is recorded, and the stream is as before Record.
	Finish() (Graph, error)
}

// A Graph is recorded work. It holds no buffer: those that it uses must live, at their places, while it is
// replayed.
type Graph interface {
	// Replay encodes the recorded work into a stream of the same device.
	Replay(s Stream) error
	// Bind gives the n-th of its dispatches other arguments, from the next Replay on. Its error has the code
	// Unsupported where the driver cannot.
	Bind(n int, args []Arg) error
	// Launches is the number of dispatches, copies and fills in it.
	Launches() int
	Close()
}

// A Tracer is a Device that records what it does for the vendor's tools: a .gputrace of Metal.
type Tracer interface {
	Device
	// Trace begins a trace into a file, which must not exist, and returns what ends it. Its error says which
	// setting is missing when the system refuses traces.
	Trace(path string) (stop func() error, err error)
}

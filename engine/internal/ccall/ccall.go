// Package ccall calls C libraries without cgo. It opens them when the program runs, so only Go is needed to
// build mcs, and a machine without a library lacks only the functions of that library.
//
// [Open] and [Library.Symbol] find functions. [Func.Call] is for calls that happen once in a while, and takes
// pointers to Go memory like syscall.Syscall. [Call] and [Run] are for calls in the inner loop: the caller
// keeps the arguments in a struct, nothing is allocated, and Run makes many calls in one transition to C and
// back, which costs several times more than a call does.
//
//	cuda, err := ccall.Open("libcuda.so.1")
//	launch, err := cuda.Symbol("cuLaunchKernel")
//	calls := []ccall.Call{{Func: launch, Check: ccall.Zero, Args: [16]uintptr{…}}, …}
//	if n := ccall.Run(calls); n < len(calls) { … calls[n].Int() is the error code of the call that failed … }
//
// What a C function may take: integers and pointers, up to 16 of them, and up to 4 doubles (a float32 goes in
// as [Single]). It returns an integer, a pointer or a double. A struct of more than 16 bytes goes by pointer
// on arm64, as the convention there says; on amd64 it does not, and functions that want one cannot be called.
// On darwin arguments 9 to 16 must be 8 bytes wide, and functions with "…" in their declaration cannot be
// called; elsewhere both work.
//
// A call goes through the scheduler (runtime.cgocall), so it may block, and other goroutines run meanwhile.
// Calls past the scheduler would be ten nanoseconds faster. But if such a call blocked (a launch does, when
// the queue is full), the collector would wait for it, and all goroutines for the collector. Run saves more.
//
// Memory: C sees addresses, which keep nothing alive and do not follow a goroutine's stack when it moves.
// What Call.Args points to must be on the heap, must be reachable until the call is over (runtime.KeepAlive),
// and must not be kept by C afterwards.
//
// It works on linux/amd64, linux/arm64 and darwin/arm64. Elsewhere, and in a build with -tags mcs_static,
// Open says why it does not.
package ccall

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"unsafe"
)

// A Library is an open shared library. It stays open as long as the process lives: libraries that start
// threads, as drivers do, cannot be closed safely.
type Library struct {
	name   string
	handle uintptr
}

// A NotFound is the error of Open: no library of these names could be opened.
type NotFound struct {
	Names   []string
	Reasons []string // by Names, in the words of the system
}

// Error lists each name with its reason.
func (e *NotFound) Error() string {
	parts := make([]string, len(e.Names))
	for i, name := range e.Names {
		parts[i] = e.Reasons[i]
		if !strings.Contains(e.Reasons[i], name) {
			parts[i] = name + ": " + e.Reasons[i]
		}
	}
	return "open library: " + strings.Join(parts, "; ")
}

// Open opens the first of the libraries that can be opened: names for the system's search, as "libcuda.so.1",
// or paths. Its error is a *NotFound with all names and the reason of each.
func Open(names ...string) (*Library, error) {
	failed := &NotFound{Names: names}
	for _, name := range names {
		handle, err := open(name)
		if err == nil {
			return &Library{name, handle}, nil
		}
		failed.Reasons = append(failed.Reasons, err.Error())
	}
	return nil, failed
}

// Name is the name that the library was opened by.
func (l *Library) Name() string { return l.name }

// Symbol returns the function with that name.
func (l *Library) Symbol(name string) (Func, error) {
	address, err := l.Data(name)
	return Func(address), err
}

// Data returns the address of the variable with that name.
func (l *Library) Data(name string) (uintptr, error) {
	address, err := symbol(l.handle, name)
	if err != nil {
		return 0, fmt.Errorf("%s has no %s: %w", l.name, name, err)
	}
	return address, nil
}

// A Func is the address of a C function.
type Func uintptr

// Call calls the function with up to 16 arguments and returns its result. Arguments may be pointers to Go
// memory, converted in the call itself: f.Call(uintptr(unsafe.Pointer(&x))). They then live, and stay where
// they are, until the call is over.
//
//go:uintptrescapes
func (f Func) Call(args ...uintptr) uintptr {
	c := Call{Func: f}
	if copy(c.Args[:], args) < len(args) {
		panic(fmt.Sprintf("ccall: got %d arguments, want at most %d", len(args), len(c.Args)))
	}
	c.Do()
	return c.Result
}

// A Call is a call of a C function: what goes in and, afterwards, what came out. It may be made again and
// again. Assembly knows its layout.
type Call struct {
	Func    Func
	Args    [16]uintptr // integers and pointers, in their order
	Doubles [4]float64  // floating-point numbers, in their order, which is counted apart from that of Args
	Result  uintptr     // what came back, if it was an integer or a pointer
	Double  float64     // what came back, if it was a double
	Check   Check       // when the call has failed
}

// A Check says how Run tells a call that failed.
type Check uintptr

const (
	Never Check = iota // it does not fail
	Zero               // its result is a C int, which is zero unless it failed
)

// Do makes the call.
func (c *Call) Do() {
	f := frame{calls: c, n: 1}
	enter(&f)
}

// Int is the result of a function that returns a C int, whose upper half C leaves undefined.
func (c *Call) Int() int { return int(int32(c.Result)) }

// Run makes the calls in order, on one thread and in one transition, and returns how many succeeded. After a
// call that failed, by its Check, no more are made: Run then returns its index.
func Run(calls []Call) int {
	if len(calls) == 0 {
		return 0
	}
	f := frame{calls: &calls[0], n: uintptr(len(calls))}
	enter(&f)
	return int(f.done)
}

// A frame is what the trampoline works on. Assembly knows its layout.
type frame struct {
	calls *Call
	n     uintptr
	done  uintptr // calls that succeeded
}

// Single is the double whose register holds f as C's float does.
func Single(f float32) float64 { return math.Float64frombits(uint64(math.Float32bits(f))) }

// CString returns s as C reads it, with a zero byte at its end. It is in Go's memory: keep it alive over the
// call.
func CString(s string) *byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return &b[0]
}

// String copies the C string at an address; that of address 0 is "".
func String(address uintptr) string {
	if address == 0 {
		return ""
	}
	p := (*byte)(pointer(address))
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// Bytes is the memory of C from an address on.
func Bytes(address uintptr, n int) []byte {
	return unsafe.Slice((*byte)(pointer(address)), n)
}

// pointer converts an address of C's memory. The collector does not look after such memory, which is why
// vet's rule for unsafe.Pointer has nothing to say about it.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// onOneThread runs f without a change of thread: C keeps the reason of a failure by thread.
func onOneThread(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f()
}

package gpu

import (
	"fmt"
	"strings"
)

// A Code is a kind of failure. It is an error, so errors.Is(err, gpu.OutOfMemory) asks for it.
type Code uint8

const (
	Failed       Code = iota // the driver gave a reason that none of the others is
	OutOfMemory              // of the device, or pinned memory of the host
	Unsupported              // the device, or this build, cannot do it
	NoDriver                 // the driver's library is not installed, or there is no device
	DriverTooOld             // it lacks a function, or does not know the kernels' format
	BadKernel                // a text does not compile, or a library lacks the kernel
	KernelFault              // a kernel read or wrote where it must not, or trapped: the device must be opened anew
	LostDevice               // it was reset, removed or hangs: the device must be opened anew
	Timeout                  // it took longer than the caller wanted to wait
	Misuse                   // a limit, a freed buffer, an offset: the caller's mistake
)

var codes = [...]struct{ text, hint string }{
	Failed:       {"the driver failed", ""},
	OutOfMemory:  {"out of memory", "use smaller batches, a smaller type or checkpoints, or end other programs on the device"},
	Unsupported:  {"not supported", "use another device: -device cpu always works"},
	NoDriver:     {"no driver", "install the vendor's driver, or use -device cpu"},
	DriverTooOld: {"the driver is too old", "install a newer one, or use -device cpu"},
	BadKernel:    {"the kernel does not compile", "this is a mistake in mcs: please report it with this text"},
	KernelFault: {"a kernel faulted", "values on the device are lost; this is a mistake in mcs unless the kernel is yours: " +
		"please report it"},
	LostDevice: {"the device is lost", "values on it are lost; open it again, and look into the system's log if that fails"},
	Timeout:    {"the device has not finished", "wait longer, or interrupt: it may be stuck in a kernel"},
	Misuse:     {"wrong use", "this is a mistake in mcs: please report it with this text"},
}

// Error says what kind of failure it is.
func (c Code) Error() string { return codes[c].text }

// Hint says what a person can do, or is "".
func (c Code) Hint() string { return codes[c].hint }

// Fatal reports whether the device is of no use any more until it is opened again.
func (c Code) Fatal() bool { return c == KernelFault || c == LostDevice }

// An Error is the failure of a driver.
type Error struct {
	Code   Code
	Device string // "cuda:0"; "cuda" when it is not about a device
	Op     string // what was done, in the driver's words: "cuMemAllocAsync", "newLibraryWithSource"
	Native int    // the driver's own code, 0 if it has none
	Text   string // what the driver says, or the names and numbers: "got 2048 threads, want at most 1024"
	Want   int64  // bytes that were wanted when out of memory
	Free   int64  // bytes that were free then, -1 if unknown
	Index  int    // which piece of work of a commit failed, counted from 0; -1 if it is not about one
}

// Error gives the device, what was done, what went wrong and what to do.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s: %s", e.Device, e.Op, e.Code.Error())
	if e.Code == OutOfMemory && e.Want > 0 {
		fmt.Fprintf(&b, ": wanted %d bytes", e.Want)
		if e.Free >= 0 {
			fmt.Fprintf(&b, ", %d are free", e.Free)
		}
	}
	if e.Text != "" {
		fmt.Fprintf(&b, ": %s", e.Text)
	}
	if e.Native != 0 {
		fmt.Fprintf(&b, " (code %d)", e.Native)
	}
	if hint := e.Code.Hint(); hint != "" {
		fmt.Fprintf(&b, "; %s", hint)
	}
	return b.String()
}

// Is makes errors.Is find the code.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}

// Errorf is an error that is not about a piece of work, with a text as of fmt.Sprintf.
func Errorf(code Code, device, op, format string, args ...any) *Error {
	return &Error{Code: code, Device: device, Op: op, Text: fmt.Sprintf(format, args...), Free: -1, Index: -1}
}

// Misused is the error of a caller's mistake: got and want.
func Misused(device, op, format string, args ...any) *Error {
	return Errorf(Misuse, device, op, format, args...)
}

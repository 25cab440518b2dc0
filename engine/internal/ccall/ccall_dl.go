//go:build ((linux && (amd64 || arm64)) || (darwin && arm64)) && !mcs_static

package ccall

import (
	"unsafe"

	"github.com/ebitengine/purego"
)

// Available says why C cannot be called here, or is nil.
func Available() error { return nil }

func open(name string) (handle uintptr, err error) {
	onOneThread(func() { handle, err = purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL) })
	return handle, err
}

func symbol(handle uintptr, name string) (address uintptr, err error) {
	onOneThread(func() { address, err = purego.Dlsym(handle, name) })
	return address, err
}

// enter makes the calls of f on the system's stack. The runtime then counts the goroutine as in a system
// call: its stack does not move, so f and the calls may be on it.
func enter(f *frame) { cgocall(trampoline, unsafe.Pointer(f)) }

// trampoline is the address of the assembly that cgocall calls with a *frame, by the conventions of C.
var trampoline uintptr

// cgocall is what cgo itself calls C with. It needs the runtime to be set up for C, which purego does.
//
//go:linkname cgocall runtime.cgocall
//go:noescape
func cgocall(fn uintptr, arg unsafe.Pointer) int32

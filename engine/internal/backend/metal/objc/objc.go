// Package objc talks to the Objective-C runtime without cgo: it finds classes and selectors, sends messages
// and keeps autorelease pools. Metal, and all other frameworks of Apple's, are reached by it.
//
// Messages follow the conventions of arm64: integers, pointers and BOOLs in x0 to x7, a struct of more than
// 16 bytes (MTLSize, MTLRegion) by a pointer to it, doubles in d0 to d3. A method that returns such a struct
// cannot be called.
//
// [Runtime.Send] is for messages that are sent once in a while; it takes pointers to Go memory.
// [Runtime.Message] makes a call for ccall.Run: many messages in one transition, without an allocation.
//
// Rules of Objective-C that the caller keeps: what new…, alloc and copy… return is the caller's to release;
// all else is autoreleased, and lives until the end of the pool that is open ([Runtime.Pool]) unless it is
// retained.
//
// It has not run on Apple hardware. Its tests send messages on linux/arm64, also under qemu, to a small
// runtime of ours, whose objc_msgSend finds methods as Apple's does: all registers of the arguments arrive as
// they were sent.
package objc

import (
	"fmt"
	"maps"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/ccall"
)

// An ID is an object or a class; 0 is nil.
type ID uintptr

// A SEL is the name of a method, as the runtime knows it.
type SEL uintptr

// A Runtime is the open Objective-C runtime.
type Runtime struct {
	send, getClass, register, push, pop ccall.Func

	selectors, classes names

	with struct{ release, retain, utf8, text, domain, code, describe, responds SEL }
}

// System is where macOS has the runtime, and the framework with NSString.
var System = []string{"/usr/lib/libobjc.A.dylib", "/System/Library/Frameworks/Foundation.framework/Foundation"}

// Load opens the runtime, the first of libraries, and the frameworks that are to be used.
func Load(libraries ...string) (*Runtime, error) {
	r := &Runtime{}
	for i, name := range libraries {
		l, err := ccall.Open(name)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			continue
		}
		for name, f := range map[string]*ccall.Func{"objc_msgSend": &r.send, "objc_getClass": &r.getClass,
			"sel_registerName": &r.register, "objc_autoreleasePoolPush": &r.push, "objc_autoreleasePoolPop": &r.pop} {
			if *f, err = l.Symbol(name); err != nil {
				return nil, err
			}
		}
	}
	for name, s := range map[string]*SEL{"release": &r.with.release, "retain": &r.with.retain, "UTF8String": &r.with.utf8,
		"stringWithUTF8String:": &r.with.text, "domain": &r.with.domain, "code": &r.with.code,
		"localizedDescription": &r.with.describe, "respondsToSelector:": &r.with.responds} {
		*s = r.Selector(name)
	}
	return r, nil
}

// A names has what the runtime calls the names that it was asked for. To find one takes no lock and no
// allocation.
type names struct {
	mu    sync.Mutex
	known atomic.Pointer[map[string]uintptr]
}

// of asks the runtime for a name until it knows it.
func (n *names) of(name string, ask ccall.Func) uintptr {
	if known := n.known.Load(); known != nil && (*known)[name] != 0 {
		return (*known)[name]
	}
	text := ccall.CString(name)
	v := ask.Call(uintptr(unsafe.Pointer(text)))
	n.mu.Lock()
	defer n.mu.Unlock()
	grown := map[string]uintptr{name: v}
	if known := n.known.Load(); known != nil {
		maps.Copy(grown, *known)
	}
	n.known.Store(&grown)
	return v
}

// Selector returns the selector with that name, as "setBytes:length:atIndex:". It asks the runtime once.
func (r *Runtime) Selector(name string) SEL { return SEL(r.selectors.of(name, r.register)) }

// Class returns the class with that name, or nil where this version of the system has none. It asks the
// runtime until it has one.
func (r *Runtime) Class(name string) ID { return ID(r.classes.of(name, r.getClass)) }

// Message is the call that sends a message with up to 10 arguments. A message to nil does nothing and returns
// 0.
func (r *Runtime) Message(to ID, s SEL, args ...uintptr) ccall.Call {
	c := ccall.Call{Func: r.send, Args: [16]uintptr{uintptr(to), uintptr(s)}}
	if copy(c.Args[2:], args) < len(args) {
		panic(fmt.Sprintf("objc: got %d arguments, want at most %d", len(args), len(c.Args)-2))
	}
	return c
}

// Send sends a message and returns its result. Arguments may be pointers to Go memory, converted in the call
// itself.
//
//go:uintptrescapes
func (r *Runtime) Send(to ID, s SEL, args ...uintptr) ID {
	c := r.Message(to, s, args...)
	c.Do()
	return ID(c.Result)
}

// Bool sends a message whose result is a BOOL, of which only the lowest byte counts.
//
//go:uintptrescapes
func (r *Runtime) Bool(to ID, s SEL, args ...uintptr) bool { return byte(r.Send(to, s, args...)) != 0 }

// Double sends a message whose result is a double.
func (r *Runtime) Double(to ID, s SEL) float64 {
	c := r.Message(to, s)
	c.Do()
	return c.Double
}

// Responds reports whether an object has a method. Methods that are newer than the system are not there.
func (r *Runtime) Responds(to ID, s SEL) bool { return r.Bool(to, r.with.responds, uintptr(s)) }

// Retain makes the caller an owner of an object, and returns it.
func (r *Runtime) Retain(id ID) ID { return r.Send(id, r.with.retain) }

// Release ends the caller's ownership of an object.
func (r *Runtime) Release(id ID) { r.Send(id, r.with.release) }

// Pool runs f with an autorelease pool: objects that are autoreleased in f are released when f returns. Pools
// belong to a thread of the system, so the goroutine stays on its thread until then.
func (r *Runtime) Pool(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pool := r.push.Call()
	defer r.pop.Call(pool)
	f()
}

// String returns an autoreleased NSString.
func (r *Runtime) String(s string) ID {
	text := ccall.CString(s)
	return r.Send(r.Class("NSString"), r.with.text, uintptr(unsafe.Pointer(text)))
}

// Text is the content of an NSString; that of nil is "".
func (r *Runtime) Text(s ID) string {
	if s == 0 {
		return ""
	}
	return ccall.String(uintptr(r.Send(s, r.with.utf8)))
}

// An Error is an NSError.
type Error struct {
	Domain string
	Code   int
	Text   string
}

// Error gives the text with domain and code.
func (e *Error) Error() string { return fmt.Sprintf("%s (%s %d)", e.Text, e.Domain, e.Code) }

// Failure returns what an NSError says, or nil for nil.
func (r *Runtime) Failure(id ID) *Error {
	if id == 0 {
		return nil
	}
	return &Error{Domain: r.Text(r.Send(id, r.with.domain)), Code: int(r.Send(id, r.with.code)), Text: r.Text(r.Send(id, r.with.describe))}
}

package objc

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/ccall"
	"github.com/mcs-notebook/mcs/engine/internal/testing/cctest"
)

// The runtime of these tests is a C library for arm64. On other machines the tests run under qemu.
func TestARM64(t *testing.T) { cctest.UnderQEMU(t) }

func load(t testing.TB) (*Runtime, *ccall.Library) {
	t.Helper()
	if runtime.GOARCH != "arm64" || runtime.GOOS != "linux" {
		t.Skip("runs on linux/arm64: see TestARM64")
	}
	path := cctest.Library(t, "../driver/testdata/metal.c")
	r, err := Load(path, path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ccall.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return r, l
}

func ask(t testing.TB, l *ccall.Library, name string) string {
	t.Helper()
	f, err := l.Symbol(name)
	if err != nil {
		t.Fatal(err)
	}
	return ccall.String(f.Call())
}

// Arguments arrive in the registers, and on the stack, that the method looks for them in.
func TestRegisters(t *testing.T) {
	r, _ := load(t)
	object := r.Send(r.Class("Weigher"), r.Selector("new"))
	if got := r.Send(object, r.Selector("weigh:::::::::"), 1, 2, 3, 4, 5, 6, 7, 8); got != 204 {
		t.Errorf("eight arguments: got %d, want 204", got)
	}
	c := r.Message(object, r.Selector("half:"))
	c.Doubles[0] = 5
	if c.Do(); c.Double != 2.5 {
		t.Errorf("a double: got %g, want 2.5", c.Double)
	}
	type size struct{ x, y, z uint64 }
	a, b := &size{1, 2, 3}, &size{4, 5, 6}
	if got := r.Send(object, r.Selector("sizes:::"), 2, uintptr(unsafe.Pointer(a)), uintptr(unsafe.Pointer(b))); got != 2*654321 {
		t.Errorf("structs of 24 bytes by their addresses: got %d, want %d", got, 2*654321)
	}
	if got := r.Send(object, r.Selector("range::"), 1, 2, 3); got != 321 {
		t.Errorf("a struct of 16 bytes in two registers: got %d, want 321", got)
	}
	r.Release(object)
}

func TestNil(t *testing.T) {
	r, l := load(t)
	if got := r.Send(0, r.Selector("weigh:::::::::"), 1); got != 0 {
		t.Errorf("a message to nil: got %d, want 0", got)
	}
	if r.Text(0) != "" || r.Failure(0) != nil || r.Class("NoSuchClass") != 0 || r.Double(0, r.Selector("half:")) != 0 {
		t.Error("nil is not nil")
	}
	if complaint := ask(t, l, "stub_complaint"); complaint != "" {
		t.Error(complaint)
	}
}

// The runtime is asked for a class and for a selector once.
func TestCaches(t *testing.T) {
	r, _ := load(t)
	s, class := r.Selector("retain"), r.Class("NSURL")
	if n := testing.AllocsPerRun(100, func() {
		if r.Selector("retain") != s || r.Class("NSURL") != class {
			t.Error("got another one")
		}
	}); n != 0 {
		t.Errorf("got %g allocations, want none", n)
	}
}

// Messages that are collected and sent together allocate nothing.
func TestMessagesAllocateNothing(t *testing.T) {
	r, _ := load(t)
	object := r.Send(r.Class("Weigher"), r.Selector("new"))
	weigh := r.Selector("weigh:::::::::")
	calls := make([]ccall.Call, 0, 100)
	if n := testing.AllocsPerRun(20, func() {
		calls = calls[:0]
		for range cap(calls) {
			calls = append(calls, r.Message(object, weigh, 1, 2, 3, 4, 5))
		}
		ccall.Run(calls)
	}); n != 0 {
		t.Errorf("got %g allocations, want none", n)
	}
	if calls[99].Result != 1+4+9+16+25 {
		t.Errorf("got %d, want 55", calls[99].Result)
	}
	r.Release(object)
}

// What is autoreleased lives until its pool ends, on whatever thread the goroutine is.
func TestPools(t *testing.T) {
	r, l := load(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				var kept ID
				r.Pool(func() {
					s := r.String("outer")
					r.Pool(func() {
						kept = r.Retain(r.String("inner"))
						runtime.Gosched()
					})
					if r.Text(s) != "outer" {
						t.Error("the inner pool took the outer one's string")
					}
				})
				if r.Text(kept) != "inner" {
					t.Error("what was retained is gone")
				}
				r.Release(kept)
			}
		})
	}
	group.Wait()
	if complaint := ask(t, l, "stub_complaint"); complaint != "" {
		t.Error(complaint)
	}
}

func TestLoad(t *testing.T) {
	if _, err := Load("libnosuchobjc.dylib"); err == nil || ccall.Available() == nil && !strings.Contains(err.Error(), "libnosuchobjc") {
		t.Errorf("got %v, want what is missing", err)
	}
	if ccall.Available() == nil && runtime.GOOS == "linux" {
		if _, err := Load("libc.so.6"); err == nil || !strings.Contains(err.Error(), "libc.so.6 has no ") {
			t.Errorf("got %v, want the function that is missing", err)
		}
	}
}

//go:build ((linux && (amd64 || arm64)) || (darwin && arm64)) && !mcs_static

package ccall

import (
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/testing/cctest"
)

func library(t testing.TB) *Library {
	t.Helper()
	l, err := Open(cctest.Library(t, "testdata/calls.c"))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *Library) must(t testing.TB, name string) Func {
	t.Helper()
	f, err := l.Symbol(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func libc(t testing.TB) *Library {
	t.Helper()
	l, err := Open("libc.so.6", "libSystem.B.dylib")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestOpenSaysWhatItTriedAndWhy(t *testing.T) {
	_, err := Open("libnosuch.so.7", "/nowhere/libnosuch.so")
	var notFound *NotFound
	if !errors.As(err, &notFound) || len(notFound.Names) != 2 || len(notFound.Reasons) != 2 {
		t.Fatalf("got %#v, want a *NotFound with two names", err)
	}
	for _, want := range []string{"open library: ", "libnosuch.so.7", "/nowhere/libnosuch.so", "No such file"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want %q in it", err, want)
		}
	}
	l, err := Open("libnosuch.so.7", "libc.so.6", "libSystem.B.dylib")
	if err != nil || l.Name() == "libnosuch.so.7" {
		t.Errorf("got %v, %v, want the library that can be opened", l, err)
	}
	if _, err := l.Symbol("no_such_function"); err == nil || !strings.Contains(err.Error(), l.Name()+" has no no_such_function") {
		t.Errorf("got %v, want the library and the symbol", err)
	}
}

func TestCLibrary(t *testing.T) {
	l := libc(t)
	negative := -42
	if got := l.must(t, "labs").Call(uintptr(negative)); got != 42 {
		t.Errorf("labs(-42) = %d", got)
	}
	text := CString("eleven bytes"[:11])
	if got := l.must(t, "strlen").Call(uintptr(unsafe.Pointer(text))); got != 11 {
		t.Errorf("strlen = %d, want 11", got)
	}
	if runtime.GOOS == "linux" { // on darwin "…" goes by another convention
		buffer := make([]byte, 100)
		format := CString("%ld %s %ld %ld %ld %.2f")
		c := Call{Func: l.must(t, "snprintf"), Doubles: [4]float64{math.Pi}}
		copy(c.Args[:], []uintptr{uintptr(unsafe.Pointer(&buffer[0])), 100, uintptr(unsafe.Pointer(format)), 1,
			uintptr(unsafe.Pointer(text)), 3, 4, 5})
		c.Do()
		runtime.KeepAlive(format)
		runtime.KeepAlive(text)
		if got, want := string(buffer[:c.Int()]), "1 eleven byte 3 4 5 3.14"; got != want {
			t.Errorf("snprintf wrote %q, want %q", got, want)
		}
	}
	name := CString("MCS_TEST_NO_SUCH_VARIABLE")
	if got := String(l.must(t, "getenv").Call(uintptr(unsafe.Pointer(name)))); got != "" {
		t.Errorf("got %q, want \"\" for a null pointer", got)
	}
}

func TestArguments(t *testing.T) {
	l := library(t)
	if got := l.must(t, "weigh16").Call(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16); got != 1496 {
		t.Errorf("weigh16 = %d, want 1496", got)
	}
	c := Call{Func: l.must(t, "mixed"), Args: [16]uintptr{1, 2, 3}, Doubles: [4]float64{.5, .25, .125, 2}}
	c.Do()
	if want := 1 + 4 + 9 + 5 + 5 + 3.75 + 80; c.Double != want {
		t.Errorf("mixed = %g, want %g", c.Double, want)
	}
	c = Call{Func: l.must(t, "half"), Doubles: [4]float64{Single(3)}}
	c.Do()
	if got := math.Float32frombits(uint32(c.Result)); got != 1.5 {
		t.Errorf("half(3) = %g, want 1.5", got)
	}
	minus := -7
	c = Call{Func: l.must(t, "untidy"), Args: [16]uintptr{uintptr(minus)}}
	if c.Do(); c.Int() != -7 {
		t.Errorf("got %d, want -7 whatever is in the upper half", c.Int())
	}
	if got := String(l.must(t, "greeting").Call()); got != "good day" {
		t.Errorf("got %q, want \"good day\"", got)
	}
	if answer, err := l.Data("answer"); err != nil || Bytes(answer, 4)[0] != 42 {
		t.Errorf("got %v, %v, want the variable 42", answer, err)
	}
	if got := l.must(t, "deep").Call(20); got != 20 {
		t.Errorf("deep(20) = %d, want 20", got)
	}
}

func TestTooManyArguments(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("got no panic for 17 arguments")
		}
	}()
	libc(t).must(t, "labs").Call(make([]uintptr, 17)...)
}

// A struct of more than 16 bytes goes by pointer on arm64.
func TestStructs(t *testing.T) {
	if runtime.GOARCH != "arm64" {
		t.Skip("on amd64 structs go on the stack, which package ccall does not offer")
	}
	type size3 struct{ width, height, depth uint64 }
	a, b := &size3{1, 2, 3}, &size3{4, 5, 6}
	got := library(t).must(t, "volumes").Call(2, uintptr(unsafe.Pointer(a)), uintptr(unsafe.Pointer(b)))
	if got != 2*654321 {
		t.Errorf("volumes = %d, want %d", got, 2*654321)
	}
}

func TestRun(t *testing.T) {
	l := library(t)
	step := l.must(t, "step")
	for _, c := range []struct {
		name          string
		n, failing    int
		check         Check
		done, counted int
	}{
		{"no calls", 0, 1, Zero, 0, 0},
		{"one call", 1, 0, Zero, 1, 1},
		{"all succeed", 100, 0, Zero, 100, 100},
		{"the first fails", 5, 1, Zero, 0, 1},
		{"the third fails, and none follows", 5, 3, Zero, 2, 3},
		{"the last fails", 5, 5, Zero, 4, 5},
		{"failures are not looked for", 5, 3, Never, 5, 5},
	} {
		counted := new(int32)
		calls := make([]Call, c.n)
		for i := range calls {
			calls[i] = Call{Func: step, Check: c.check,
				Args: [16]uintptr{uintptr(unsafe.Pointer(counted)), uintptr(c.failing)}}
		}
		done := Run(calls)
		if done != c.done || int(*counted) != c.counted {
			t.Errorf("%s: got %d done of %d made, want %d of %d", c.name, done, *counted, c.done, c.counted)
		}
		if done < c.n && calls[done].Int() != 700 {
			t.Errorf("%s: got code %d, want 700", c.name, calls[done].Int())
		}
	}
}

// The high half of a C int is undefined, so a check must not read it.
func TestCheckReadsAnInt(t *testing.T) {
	untidy := library(t).must(t, "untidy")
	if n := Run([]Call{{Func: untidy, Check: Zero}}); n != 1 {
		t.Error("a zero with an untidy upper half counted as a failure")
	}
}

// Calls from many goroutines, whose stacks move while the collector runs.
func TestGoroutinesAndTheCollector(t *testing.T) {
	l := library(t)
	weigh, deep := l.must(t, "weigh16"), l.must(t, "deep")
	var grow func(n int) uintptr
	grow = func(n int) uintptr {
		c := Call{Func: weigh, Args: [16]uintptr{0: uintptr(n), 15: uintptr(n)}}
		if c.Do(); n == 0 {
			return 0
		}
		return c.Result + grow(n-1)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				if got := grow(300); got != 17*300*301/2 {
					t.Errorf("got %d, want %d", got, 17*300*301/2)
				}
				deep.Call(10)
				runtime.Gosched()
			}
		})
	}
	for range 10 {
		runtime.GC()
	}
	group.Wait()
}

func TestNothingIsAllocated(t *testing.T) {
	l := library(t)
	sum11 := l.must(t, "sum11")
	calls := make([]Call, 10)
	for i := range calls {
		calls[i] = Call{Func: sum11, Args: [16]uintptr{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}
	}
	for _, c := range []struct {
		name string
		f    func()
	}{
		{"Do", func() { c := Call{Func: sum11}; c.Do() }},
		{"Run", func() { Run(calls) }},
	} {
		if n := testing.AllocsPerRun(100, c.f); n != 0 {
			t.Errorf("%s: got %g allocations, want none", c.name, n)
		}
	}
}

// The trampoline for arm64, on this machine.
func TestARM64(t *testing.T) { cctest.UnderQEMU(t) }

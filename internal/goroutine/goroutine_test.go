package goroutine

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// deep grows the stack, which moves it.
func deep(n int) uintptr {
	var room [128]byte
	room[n%len(room)]++
	if n > 0 {
		return deep(n-1) + uintptr(room[(n+1)%len(room)])
	}
	return Current()
}

// Numbers are those of the runtime's stacks, and never come back.
func TestNumber(t *testing.T) {
	own := Number()
	if want := fmt.Sprintf("goroutine %d [running]:", own); !strings.HasPrefix(string(debug.Stack()), want) {
		t.Errorf("got %d, and the stack begins %.40q", own, debug.Stack())
	}
	seen := map[uint64]bool{own: true}
	for range 50 {
		got := make(chan uint64)
		go func() { got <- Number() }()
		n := <-got
		if seen[n] {
			t.Errorf("two goroutines were %d", n)
		}
		seen[n] = true
	}
}

// A number that is read where the runtime keeps it is the one that stacks begin with.
func TestNumberIsWritten(t *testing.T) {
	done := make(chan bool)
	for range 50 {
		go func() {
			if got, want := Number(), written(); got != want {
				t.Errorf("got %d, want %d", got, want)
			}
			done <- true
		}()
	}
	for range 50 {
		<-done
	}
}

// The depth of a stack grows by what calls take, also when the stack was moved.
func TestDepth(t *testing.T) {
	var down func(n int) uintptr
	down = func(n int) uintptr {
		var room [1024]byte
		if room[n%len(room)]++; n > 0 {
			return down(n-1) + uintptr(room[(n+1)%len(room)])
		}
		return Depth()
	}
	if Depth() == 0 {
		t.Skip("the depth is not known here")
	}
	for _, calls := range []uintptr{10, 1000, 50_000} {
		grown := down(int(calls)) - Depth()
		if least := calls << 10; grown < least || grown > 2*least {
			t.Errorf("%d calls of more than 1024 bytes each take %d bytes", calls, grown)
		}
	}
}

func TestCurrent(t *testing.T) {
	own := Current()
	ids := make(chan uintptr)
	stay := make(chan bool)
	defer close(stay)
	seen := map[uintptr]bool{own: true}
	for range 50 {
		go func() { // all live at once
			first := Current()
			runtime.Gosched()
			if got := deep(1000); got != first {
				t.Errorf("a goroutine was %x and is %x", first, got)
			}
			ids <- first
			<-stay
		}()
	}
	for range 50 {
		id := <-ids
		if seen[id] {
			t.Errorf("two goroutines are %x", id)
		}
		seen[id] = true
	}
	if got := deep(2000); got != own || own == 0 {
		t.Errorf("this goroutine was %x and is %x", own, got)
	}
}

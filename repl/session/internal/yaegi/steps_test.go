package yaegi

import (
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Code that runs for ever calls Look when it is told to, and a panic of Look ends it. Afterwards it runs
// as before.
func TestLook(t *testing.T) {
	stopped := errors.New("stopped")
	for _, test := range []struct{ name, code string }{
		{"for", "for { }"},
		{"with a body", "n := 0; for { n++ }"},
		{"with a condition", "for n := 0; n >= 0; { n &= 7 }"},
		{"with all", "s := 0; for i := 0; i >= 0; i++ { s += i; i &= 7 }"},
		{"nested", "for { for i := 0; i < 3; i++ { for range [2]int{} { } } }"},
		{"continue", "for { if two() == 2 { continue } }"},
		{"continue outer", "outer: for { for { continue outer } }"},
		{"goto", "again: two(); goto again"},
		{"a slice", "for { for _, x := range []int{1, 2} { _ = x } }"},
		{"a map", "for { for k := range map[int]int{1: 2} { _ = k } }"},
		{"a switch", "for { switch two() { case 1: case 2: continue; default: } }"},
		{"a select", "for { select { default: } }"},
		{"a short circuit", "n := 1; for n > 0 && (n < 2 || two() == 2) { }"},
		{"recursion", "deeper(0)"},
		{"a literal", "f := func() { for { } }; f()"},
		{"a literal with more", "func() { n := 0; n = 1; for { n++ } }()"},
		{"a literal for compiled code", "host.Call(func() { n := 0; for { if n < 0 { break }; n &= 1 } })"},
		{"a literal in a literal", "host.Call(func() { f := func() { n := 0; for { n++ } }; f() })"},
		{"calls from compiled code", "host.Forever(func() { })"},
	} {
		looks := func(t *testing.T, followed bool) {
			started, forever := make(chan bool), true
			in, err := New(Hooks{Trace: func(string) {}, Look: func() { panic(stopped) }})
			if err != nil {
				t.Fatal(err)
			}
			symbols := map[string]reflect.Value{"Call": reflect.ValueOf(func(f func()) { f() }), "Started": reflect.ValueOf(func() { close(started) }), "Forever": reflect.ValueOf(func(f func()) {
				for forever {
					f()
				}
			})}
			if err := in.Use("test/host", "host", symbols); err != nil {
				t.Fatal(err)
			}
			const before = `import "test/host"; func two() int { return 2 }; func deeper(n int) { if n < 1000 { deeper(n+1); deeper(n+1) } }; var end bool`
			if err := in.Run(compile(t, in, 1, before)); err != nil {
				t.Fatal(err)
			}
			p := compile(t, in, 2, "func work() { host.Started(); "+test.code+" }; func init() { work() }")
			in.Follow(followed)
			ended := make(chan error, 1)
			go func() { ended <- in.Run(p) }()
			<-started
			time.Sleep(time.Millisecond)
			look(in, true)
			select {
			case err := <-ended:
				if err == nil || !strings.Contains(err.Error(), "stopped") {
					t.Errorf("it ended with %v, want what Look panics with", err)
				}
			case <-time.After(time.Minute):
				t.Fatal("it does not look")
			}
			if err := in.Run(compile(t, in, 3, "func late() { two() }; func init() { late() }")); err == nil {
				t.Error("code that is compiled meanwhile does not look")
			}
			in.Follow(false)
			look(in, false)
			if err := in.Run(compile(t, in, 4, "func init() { n := 0; for i := 0; i < 3; i++ { n += two() }; if n != 6 { panic(n) } }")); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		}
		t.Run(test.name, func(t *testing.T) { looks(t, false) })
		t.Run(test.name+", followed", func(t *testing.T) { looks(t, true) })
	}
}

// look makes code look or not look, and waits until it does.
func look(in *Interp, on bool) {
	for in.Look(on); ; time.Sleep(time.Millisecond) {
		if in.points.wish.Lock(); !in.points.wish.granting {
			in.points.wish.Unlock()
			return
		}
		in.points.wish.Unlock()
	}
}

// Look does not wait for what holds up the change: a collection, while a weak pointer is read.
func TestLookDoesNotWait(t *testing.T) {
	in, err := New(Hooks{Trace: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	in.points.mu.Lock()
	in.Look(true)
	in.Look(false)
	in.Look(true)
	if in.Looks() {
		t.Error("code looks already")
	}
	in.points.mu.Unlock()
	for !in.Looks() {
		time.Sleep(time.Millisecond)
	}
}

// The data about code that is gone is dropped.
func TestLookForgets(t *testing.T) {
	in, err := New(Hooks{Trace: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	for cell := range 500 {
		if err := in.Run(compile(t, in, cell+1, "func f() int { for { return 1 } }; func init() { f() }")); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	look(in, true)
	look(in, false)
	if n := len(in.points.list); n > 100 {
		t.Errorf("%d points are known of 500 functions of which one is left", n)
	}
}

// A mark sets its variable, in order with the code around it.
func TestMark(t *testing.T) {
	place, seen := 0, []int{}
	in, err := New(Hooks{Trace: func(string) {}, IsMark: func(name string) bool { return name == "mark" }, Mark: func(string) *int { return &place }})
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Use("test/host", "host", map[string]reflect.Value{"See": reflect.ValueOf(func() { seen = append(seen, place) })}); err != nil {
		t.Fatal(err)
	}
	const code = `import "test/host"; var mark int
func init() { mark = 1; host.See(); for i := 0; i < 2; i++ { mark = 2; host.See(); if i == 1 { mark = 3 }; host.See() }; mark = 4 }`
	if err := in.Run(compile(t, in, 1, code)); err != nil {
		t.Fatal(err)
	}
	if want := []int{1, 2, 2, 2, 3}; !reflect.DeepEqual(seen, want) || place != 4 {
		t.Errorf("got marks %v and %d, want %v and 4", seen, place, want)
	}
}

package yaegi

import (
	"reflect"
	"slices"
	"testing"
)

// Code that is followed tells where each goroutine is, within functions, methods, literals and loops,
// whenever they were compiled; what has ended, or panicked, is under way no more.
func TestFollow(t *testing.T) {
	var in *Interp
	var seen [][]int
	look := func() {
		var lines []int
		for _, s := range in.Here().Steps(nil) {
			lines = append(lines, in.FileSet().Position(in.PosOf(s)).Line)
		}
		seen = append(seen, lines)
	}
	in, err := New(Hooks{Trace: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	recovers := func(f func()) {
		defer func() { recover() }()
		f()
	}
	symbols := map[string]reflect.Value{"Look": reflect.ValueOf(look), "Recovers": reflect.ValueOf(recovers)}
	if err := in.Use("test/host", "host", symbols); err != nil {
		t.Fatal(err)
	}
	const code = `import "test/host"
func leaf() {
	host.Look()
}
type T struct{ n int }
func (t *T) method() {
	leaf()
	t.n++
}
func endless() {
	for {
		host.Look()
		return
	}
}
func work() {
	host.Look()
	f := func() {
		leaf()
	}
	f()
	t := &T{}
	for i := 0; i < 2; i++ {
		t.method()
	}
	host.Recovers(func() {
		leaf()
		panic(1)
	})
	host.Look()
	endless()
	done := make(chan bool)
	go func() {
		host.Look()
		done <- true
	}()
	<-done
}`
	if err := in.Run(compile(t, in, 1, code)); err != nil {
		t.Fatal(err)
	}
	run := compile(t, in, 2, "func init() { work() }")
	for range 2 {
		in.Follow(true)
		if err := in.Run(run); err != nil {
			t.Fatal(err)
		}
		want := [][]int{{17}, {3, 19, 21}, {3, 7, 24}, {3, 7, 24}, {3, 27, 26}, {30}, {12, 31}, {34}}
		if !slices.EqualFunc(seen, want, slices.Equal) {
			t.Errorf("got %v, want %v", seen, want)
		}
		if th := in.Here(); th.Runs() || th.Steps(nil) != nil || in.Followed() <= 0 {
			t.Errorf("after the end got %v", th)
		}
		in.Follow(false)
		seen = nil
	}
}

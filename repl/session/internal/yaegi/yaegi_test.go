package yaegi

import (
	"go/parser"
	"reflect"
	"strings"
	"testing"
	"time"
)

// compile compiles the text of a file of the package that all code belongs to.
func compile(t testing.TB, in *Interp, cell int, text string) *Program {
	t.Helper()
	f, err := parser.ParseFile(in.FileSet(), FileName(cell), "package mcs; "+text, 0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := in.Compile(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A closure that was made before a halt works after it, a package is imported once for all files, and a panic
// says where it passed.
func TestHaltAndResume(t *testing.T) {
	var trace []string
	in, err := New(Hooks{Trace: func(line string) { trace = append(trace, line) }})
	if err != nil {
		t.Fatal(err)
	}
	got, started := 0, make(chan bool)
	symbols := map[string]reflect.Value{"Got": reflect.ValueOf(func(n int) { got = n }), "Started": reflect.ValueOf(func() { close(started) })}
	if err := in.Use("test/host", "host", symbols); err != nil {
		t.Fatal(err)
	}
	run := func(cell int, text string) error { return in.Run(compile(t, in, cell, text)) }
	if err := run(1, `import "test/host"; var f func(int) int; func init() { k := 40; f = func(n int) int { return n + k } }`); err != nil {
		t.Fatal(err)
	}
	number := in.RunNumber()
	ended := make(chan error, 1)
	p := compile(t, in, 2, "func init() { host.Started(); for { } }")
	go func() { ended <- in.Run(p) }()
	<-started
	in.Halt()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("an endless loop goes on after Halt")
	}
	in.Resume(number)
	if err := run(3, "func init() { host.Got(f(2)) }"); err != nil || got != 42 {
		t.Errorf("a closure gives %d (%v) after a halt, want 42", got, err)
	}
	if err := run(4, "func bad() { panic(1) }; func init() { bad() }"); err == nil {
		t.Error("a panic is no error")
	}
	if all := strings.Join(trace, "\n"); !strings.Contains(all, "4/cell:1:") || !strings.Contains(all, "mcs.bad(") {
		t.Errorf("trace %q", trace)
	}
}

func TestCellOf(t *testing.T) {
	for file, cell := range map[string]int{FileName(7): 7, "x": 0, "": 0, FileName(0): 0} {
		if got := CellOf(file); got != cell {
			t.Errorf("CellOf(%q) = %d, want %d", file, got, cell)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	in, err := New(Hooks{Trace: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(in.FileSet(), FileName(1), "package mcs; func f() int { return undefinedq }", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Compile(f); err == nil || !strings.Contains(err.Error(), "undefinedq") {
		t.Errorf("got error %v", err)
	}
}

// An error that the interpreter finds only when it makes a program's steps is returned, too.
func TestRunRefuses(t *testing.T) {
	in, err := New(Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	p := compile(t, in, 1, "type T struct{ f func(...int) int }; func init() { t := T{func(xs ...int) int { return 0 }}; t.f(1, 2) }")
	if err := in.Run(p); err == nil || !strings.Contains(err.Error(), "cannot compile") {
		t.Errorf("got error %v", err)
	}
}

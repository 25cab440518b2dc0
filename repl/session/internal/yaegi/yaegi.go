// Package yaegi puts the interpreter github.com/traefik/yaegi behind the few calls that a session needs, and
// keeps its peculiarities in one place. Nothing else imports it.
//
// A file that is compiled here has already been checked and lowered. All files count as one file of one
// package: they must be positioned under the same base name ([FileName]), because the interpreter finds an
// import by the base name of the file that uses it, and so a package is imported once in a session.
package yaegi

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"io"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/traefik/yaegi/interp"
)

// FileName is the name for parsing the cell with this number.
func FileName(cell int) string { return fmt.Sprintf("%d/cell", cell) }

// CellOf returns the number of the cell with this file name, or 0.
func CellOf(file string) int {
	n, _ := strconv.Atoi(strings.TrimSuffix(file, "/cell"))
	return n
}

// An Interp is one interpreter with one package of interpreted code.
type Interp struct {
	i      *interp.Interpreter
	id     *uint64       // the interpreter's run number: code of another run stops at its next step
	roots  reflect.Value // syntax trees that the interpreter keeps for its debugger
	scopes reflect.Value // of packages; they keep the scopes inside of them, and so their code, for the debugger too
	kinds
	hooks     Hooks
	points    points
	following following
}

// A Program is compiled code.
type Program struct {
	p         *interp.Program
	generated bool // its steps are made
}

// Known says why this package cannot take part in the interpreter's work: the layout of the interpreter's or
// of Go's data is another than it knows. Then interpreters have to be plain.
func Known() error {
	_, err := layout()
	return err
}

// New makes an interpreter. A plain one makes its steps itself: its loops are slower, its code does not look,
// is not followed, and does not find out how deep the stack is.
func New(h Hooks) (*Interp, error) {
	var k kinds
	if !h.Plain {
		var err error
		if k, err = layout(); err != nil {
			return nil, err
		}
	}
	in := &Interp{kinds: k, hooks: h, i: interp.New(interp.Options{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: traceWriter(h.Trace)})}
	v := reflect.ValueOf(in.i).Elem()
	id, roots, scopes := v.FieldByName("id"), v.FieldByName("roots"), v.FieldByName("scopes")
	if !id.IsValid() || id.Kind() != reflect.Uint64 || !isSlice(roots) || !scopes.IsValid() || scopes.Kind() != reflect.Map {
		return nil, errors.New("yaegi: this version keeps its state in another way than v0.16.1")
	}
	if s := scopes.Type().Elem(); s.Kind() != reflect.Pointer || !isSlice(reflect.Zero(s.Elem()).FieldByName("child")) {
		return nil, errors.New("yaegi: this version keeps its scopes in another way than v0.16.1")
	}
	in.id = (*uint64)(id.Addr().UnsafePointer())
	in.roots, in.scopes = settable(roots), scopes
	return in, nil
}

func isSlice(v reflect.Value) bool { return v.IsValid() && v.Kind() == reflect.Slice }

// settable is a field that may be changed though it is not exported.
func settable(v reflect.Value) reflect.Value {
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}

// forget drops the data that the interpreter keeps for its debugger only; otherwise each cell would stay
// in memory.
func (in *Interp) forget() {
	in.roots.SetZero()
	for s := in.scopes.MapRange(); s.Next(); {
		settable(s.Value().Elem().FieldByName("child")).SetZero()
	}
}

type traceWriter func(line string)

func (w traceWriter) Write(b []byte) (int, error) {
	for line := range bytes.Lines(b) {
		w(strings.TrimSpace(string(line)))
	}
	return len(b), nil
}

// FileSet returns the file set for parsing code to compile.
func (in *Interp) FileSet() *token.FileSet { return in.i.FileSet() }

// Use registers a compiled package under its import path. The doubled slash keeps the interpreter from
// recognising package fmt, some functions of which it would replace by its own, and from compiling its
// version of package slices.
func (in *Interp) Use(importPath, name string, symbols map[string]reflect.Value) error {
	return in.i.Use(interp.Exports{importPath + "//" + name: symbols})
}

// Compile compiles a file and executes its declarations; [Interp.Run] runs its init function.
func (in *Interp) Compile(file *ast.File) (p *Program, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the interpreter cannot compile this: %v", r)
		}
	}()
	defer in.forget()
	if !in.hooks.Plain {
		if file, err = in.typesFirst(file); err != nil {
			return nil, fmt.Errorf("the interpreter cannot compile this: %w", err)
		}
	}
	c, err := in.i.CompileAST(file)
	if err != nil {
		return nil, fmt.Errorf("the interpreter cannot compile this: %w", err)
	}
	sever(c)
	return &Program{p: c}, nil
}

// sever cuts the syntax trees of the program's declarations off the file's. While a panic passes through a
// function, the interpreter searches all nodes above it for a place, and never finds one. Without the cut,
// each panic would cost time in proportion to the file, for each function on its way.
func sever(c *interp.Program) {
	root := reflect.ValueOf(c).Elem().FieldByName("root")
	if !root.IsValid() || root.Kind() != reflect.Pointer || root.IsNil() {
		return
	}
	children := root.Elem().FieldByName("child")
	if !isSlice(children) {
		return
	}
	for i := range children.Len() {
		if d := children.Index(i); !d.IsNil() {
			if anc := d.Elem().FieldByName("anc"); anc.IsValid() {
				settable(anc).SetZero()
			}
		}
	}
}

// Run executes a program: its variables first, then its init function.
func (in *Interp) Run(p *Program) error {
	if err := in.steps(p); err != nil {
		return err
	}
	_, err := in.i.Execute(p.p)
	return err
}

// steps makes a program's steps, or returns the error that the interpreter finds then.
func (in *Interp) steps(p *Program) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the interpreter cannot compile this: %v", r)
		}
	}()
	in.generate(p)
	return nil
}

// Halt makes all interpreted code stop at its next step, without unwinding: no deferred function runs. The
// caller must call Resume when the code has ended.
func (in *Interp) Halt() { atomic.AddUint64(in.id, 1) }

// Resume makes closures from before Halt work again: they have the number of the run that made them.
func (in *Interp) Resume(run uint64) { atomic.StoreUint64(in.id, run) }

// RunNumber returns the argument of Resume; read it before Halt.
func (in *Interp) RunNumber() uint64 { return atomic.LoadUint64(in.id) }

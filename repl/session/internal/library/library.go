// Package library has the compiled packages for code of cells: the standard library and mcs's own. It
// replaces the functions that would use the streams of the process, end the process, or wait without an
// interrupt.
//
// It is a table: for the path of a package its symbols, some of them replaced. It knows no cells. Functions
// that wait do so in package rt, which wakes them when their cell is stopped. Reading order: library.go (the
// packages with replacements), streams.go (the output of cells), input.go (their input), logs.go (log, slog
// and flag), web.go (net/http), gob.go, clock.go, waits.go with waits_exec.go (functions that
// wait), satisfies.go.
//
// What the standard library has once for a process, and cells set or register with, a session has for itself:
// a variable of the table is the session's, and the functions that use it are replaced. The process's own
// stay what nothing can stand between: the environment and the working folder, time.Local, rand.Reader of
// crypto, net.DefaultResolver, build.Default, what packages runtime and debug set, formats of images, types
// of files (mime), compressors of archives, drivers of sql, profiles.
package library

import (
	"fmt"
	"go/types"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"sync"
	"unsafe"

	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/stdlib"
)

// A Library has the compiled packages for code of a session's cells.
type Library struct {
	rt      *rt.Runtime
	streams *Streams
	logger  *log.Logger // the logger of package log's functions
	args    []string    // the variable os.Args of cells
	web     func() *web
	limits  Limits
	clock   clock
}

// Limits are functions of the session in place of the process's.
type Limits struct {
	// Memory is how many bytes cells may take.
	Memory uint64
	// Exit is os.Exit: it ends a program, and leaves a cell.
	Exit func(code int)
	// Whole says that the code is a whole program: its print writes like a compiled program's.
	Whole bool
	// Confined says that no programs may be started: package os can, and is no package to refuse for that.
	Confined bool
}

// New makes the library of an empty session.
func New(r *rt.Runtime, streams *Streams, limits Limits) *Library {
	return &Library{
		rt: r, streams: streams, logger: log.New(streams.Err, "", log.LstdFlags), limits: limits,
		args: slices.Clone(os.Args), web: sync.OnceValue(newWeb),
	}
}

// variable is a variable of the session, in place of one that the process has.
func variable(p any) reflect.Value { return reflect.ValueOf(p).Elem() }

// Symbols returns a package's name and its symbols by name.
func (lib *Library) Symbols(path string) (name string, symbols map[string]reflect.Value, err error) {
	symbols, ok := stdlib.Symbols(path)
	if !ok {
		return "", nil, fmt.Errorf("package %s: %s", path, stdlib.WhyNot(path))
	}
	name, _ = stdlib.Name(path)
	return name, lib.override(path, symbols), nil
}

// Open makes the files os.Stdin, os.Stdout and os.Stderr if checked code mentions them, and notes what it
// does with the clock.
func (lib *Library) Open(info *types.Info) error {
	for _, o := range info.Uses {
		lib.clock.use(o)
		v, ok := o.(*types.Var)
		if !ok || v.IsField() || v.Pkg() == nil || v.Pkg().Path() != "os" {
			continue
		}
		to, ok := map[string]interface{ open() error }{"Stdin": lib.streams.In, "Stdout": lib.streams.Out, "Stderr": lib.streams.Err}[v.Name()]
		if !ok {
			continue
		}
		if err := to.open(); err != nil {
			return err
		}
	}
	return nil
}

// override replaces the functions of a package that would read or write the process's own streams, or wait in
// a way that cannot be interrupted.
func (lib *Library) override(path string, symbols map[string]reflect.Value) map[string]reflect.Value {
	var own map[string]any
	switch path {
	case "fmt":
		in := lib.streams.In
		own = map[string]any{
			"Print":   func(a ...any) (int, error) { return fmt.Fprint(lib.streams.Out.print(), a...) },
			"Printf":  func(f string, a ...any) (int, error) { return fmt.Fprintf(lib.streams.Out.print(), f, a...) },
			"Println": func(a ...any) (int, error) { return fmt.Fprintln(lib.streams.Out.print(), a...) },
			"Scan":    lib.calls(func(a ...any) (int, error) { return fmt.Fscan(in.read(), a...) }),
			"Scanf":   lib.calls(func(f string, a ...any) (int, error) { return fmt.Fscanf(in.read(), f, a...) }),
			"Scanln":  lib.calls(func(a ...any) (int, error) { return fmt.Fscanln(in.read(), a...) }),
		}
	case "log":
		l := lib.logger
		own = methodsFor(symbols, l)
		own["Default"] = func() *log.Logger { return l }
		own["Logger_Fatal"] = func(l *log.Logger, a ...any) { l.Print(a...); lib.limits.Exit(1) }
		own["Logger_Fatalf"] = func(l *log.Logger, f string, a ...any) { l.Printf(f, a...); lib.limits.Exit(1) }
		own["Logger_Fatalln"] = func(l *log.Logger, a ...any) { l.Println(a...); lib.limits.Exit(1) }
		own["Fatal"] = func(a ...any) { l.Print(a...); lib.limits.Exit(1) }
		own["Fatalf"] = func(f string, a ...any) { l.Printf(f, a...); lib.limits.Exit(1) }
		own["Fatalln"] = func(a ...any) { l.Println(a...); lib.limits.Exit(1) }
	case "log/slog":
		own = lib.slog(symbols)
	case "flag":
		own = lib.flags(symbols)
	case "encoding/gob":
		own = map[string]any{"Register": registerGob, "RegisterName": registerGobAs}
	case "net/http":
		own = lib.http(symbols)
	case "net/http/httptest":
		server := func(f func(http.Handler) *httptest.Server) any {
			return func(h http.Handler) *httptest.Server { return f(lib.web().handler(h)) }
		}
		own = map[string]any{"NewServer": server(httptest.NewServer), "NewTLSServer": server(httptest.NewTLSServer), "NewUnstartedServer": server(httptest.NewUnstartedServer)}
	case "testing":
		own = map[string]any{"Benchmark": lib.rt.Benchmark}
	case "os":
		own = map[string]any{
			"Exit": lib.limits.Exit, "Args": variable(&lib.args),
			"Stdin": variable(&lib.streams.In.file), "Stdout": variable(&lib.streams.Out.file), "Stderr": variable(&lib.streams.Err.file),
		}
		if lib.limits.Confined {
			own["StartProcess"] = func(name string, _ []string, _ *os.ProcAttr) (*os.Process, error) {
				return nil, &os.PathError{Op: "start", Path: name, Err: os.ErrPermission}
			}
		}
	case "time":
		own = map[string]any{"Sleep": lib.rt.Sleep, "Now": lib.clock.now, "Since": lib.clock.since}
	default:
		own = lib.waits(path)
	}
	if own == nil {
		return symbols
	}
	merged := make(map[string]reflect.Value, len(symbols))
	maps.Copy(merged, symbols)
	for name, f := range own {
		v, ok := f.(reflect.Value) // a variable
		if !ok {
			v = reflect.ValueOf(f)
		}
		merged[name] = v
	}
	return merged
}

// Runtime returns package rt's symbols for lowered code.
func (lib *Library) Runtime() map[string]reflect.Value {
	r := lib.rt
	// A panic in a handler aborts the response, silently: it has been reported.
	abort := r.ContainThen(func() { panic(http.ErrAbortHandler) })
	symbols := map[string]reflect.Value{
		"ContainHandler": reflect.ValueOf(abort),
		"Pointer":        reflect.ValueOf((*unsafe.Pointer)(nil)),
		"Defers":         reflect.ValueOf((*rt.Defers)(nil)), "Select": reflect.ValueOf((*rt.Select)(nil)),
		"Print":   reflect.ValueOf(func(a ...any) { r.Print(lib.streams.Err, "", "", lib.limits.Whole, a...) }),
		"Println": reflect.ValueOf(func(a ...any) { r.Print(lib.streams.Err, " ", "\n", lib.limits.Whole, a...) }),
	}
	for name, f := range map[string]any{
		"MinInt": rt.Min[int], "MinInt64": rt.Min[int64], "MinUint64": rt.Min[uint64], "MinFloat64": rt.Min[float64], "MinString": rt.Min[string],
		"MaxInt": rt.Max[int], "MaxInt64": rt.Max[int64], "MaxUint64": rt.Max[uint64], "MaxFloat64": rt.Max[float64], "MaxString": rt.Max[string],
		"Var": r.Var, "Method": r.Method, "Run": r.Run, "Stop": r.Stop, "Go": r.Go, "Deferred": r.Deferred, "Defer": r.Defer, "DeferCall": r.DeferCall,
		"Recover": r.Recover, "RecoverCalled": r.RecoverCalled, "Panic": r.Panic, "CheckMake": r.CheckMake, "Grown": r.Grown, "ShiftCount": r.ShiftCount, "NilUsed": r.NilUsed, "Rune": r.Rune, "Loop": r.Loop, "LoopAsking": r.LoopAsking,
		"Show": r.Show, "Check": r.Check, "CheckValue": r.CheckValue, "Recv": r.Recv, "Send": r.Send, "NewSelect": r.NewSelect, "Wrap": r.Wrap,
		"As": r.As, "AsInterface": r.AsInterface, "AsOwn": r.AsOwn, "Become": r.Become, "Box": r.Box, "Open": r.Open, "Dispatch": r.Dispatch, "Equal": r.Equal, "AssertFailed": r.AssertFailed,
		"ClearMap": r.ClearMap, "Quit": r.Quit, "ErrorsAs": r.ErrorsAs, "ErrorsAsType": r.ErrorsAsType, "Contain": r.Contain,
		"PointerOf": r.PointerOf, "PointerAt": r.PointerAt, "Address": r.Address, "PointTo": r.PointTo, "SamePlace": r.SamePlace,
		"PointerAdd": r.PointerAdd, "SliceAt": r.SliceAt, "DataOf": r.DataOf, "StringAt": r.StringAt, "StringData": r.StringData,
		"Forward": r.Forward,
	} {
		symbols[name] = reflect.ValueOf(f)
	}
	return symbols
}

package session

import (
	"bufio"
	"fmt"
	"go/types"
	"io"
	"log"
	"net/http"
	"reflect"
	"unsafe"

	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/stdlib"
)

// A library has the compiled packages as code of the session's cells gets them.
type library struct{ s *Session }

// Symbols are those of a package, under its name.
func (l library) Symbols(path string) (name string, symbols map[string]reflect.Value, err error) {
	symbols, ok := stdlib.Symbols(path)
	if !ok {
		return "", nil, fmt.Errorf("package %s: %s", path, stdlib.WhyNot(path))
	}
	name, _ = stdlib.Name(path)
	return name, l.s.override(path, symbols), nil
}

// Open makes the files that checked code mentions as os.Stdout and os.Stderr.
func (l library) Open(info *types.Info) error { return l.s.openStreams(info) }

// override replaces the functions of a package that would read or write the process's own streams, or wait in
// a way that cannot be interrupted.
func (s *Session) override(path string, symbols map[string]reflect.Value) map[string]reflect.Value {
	var own map[string]any
	switch path {
	case "fmt":
		in := s.stdin()
		own = map[string]any{
			"Print":   func(a ...any) (int, error) { return fmt.Fprint(s.out.print(), a...) },
			"Printf":  func(f string, a ...any) (int, error) { return fmt.Fprintf(s.out.print(), f, a...) },
			"Println": func(a ...any) (int, error) { return fmt.Fprintln(s.out.print(), a...) },
			"Scan":    func(a ...any) (int, error) { return fmt.Fscan(in, a...) },
			"Scanf":   func(f string, a ...any) (int, error) { return fmt.Fscanf(in, f, a...) },
			"Scanln":  func(a ...any) (int, error) { return fmt.Fscanln(in, a...) },
		}
	case "log":
		l := s.logger
		own = methodsFor(symbols, l)
		own["Default"] = func() *log.Logger { return l }
		own["Logger_Fatal"] = func(l *log.Logger, a ...any) { l.Print(a...); s.exit(1) }
		own["Logger_Fatalf"] = func(l *log.Logger, f string, a ...any) { l.Printf(f, a...); s.exit(1) }
		own["Logger_Fatalln"] = func(l *log.Logger, a ...any) { l.Println(a...); s.exit(1) }
		own["Fatal"] = func(a ...any) { l.Print(a...); s.exit(1) }
		own["Fatalf"] = func(f string, a ...any) { l.Printf(f, a...); s.exit(1) }
		own["Fatalln"] = func(a ...any) { l.Println(a...); s.exit(1) }
	case "log/slog":
		own = s.slog(symbols)
	case "flag":
		own = s.flags(symbols)
	case "testing":
		own = map[string]any{"Benchmark": s.rt.Benchmark}
	case "os":
		own = map[string]any{"Exit": s.exit, "Stdout": reflect.ValueOf(&s.out.file).Elem(), "Stderr": reflect.ValueOf(&s.errOut.file).Elem()}
	case "time":
		own = map[string]any{"Sleep": s.rt.Sleep}
	default:
		own = s.waits(path)
	}
	if own == nil {
		return symbols
	}
	merged := make(map[string]reflect.Value, len(symbols))
	for name, v := range symbols {
		merged[name] = v
	}
	for name, f := range own {
		v, ok := f.(reflect.Value) // a variable
		if !ok {
			v = reflect.ValueOf(f)
		}
		merged[name] = v
	}
	return merged
}

// exit is os.Exit: it ends a program, and leaves a cell with a request.
func (s *Session) exit(code int) {
	if s.program != nil {
		s.program.end(code)
	}
	panic(stdlib.ExitRequest{Code: code})
}

func (s *Session) stdin() *bufio.Reader {
	if s.opts.Stdin == nil {
		return bufio.NewReader(io.MultiReader())
	}
	return bufio.NewReader(s.opts.Stdin)
}

// rtSymbols is package rt as lowered code sees it.
func (s *Session) rtSymbols() map[string]reflect.Value {
	r := s.rt
	// A panic in a handler aborts the response, silently: it has been reported.
	abort := r.ContainThen(func() { panic(http.ErrAbortHandler) })
	symbols := map[string]reflect.Value{
		"ContainHandler": reflect.ValueOf(abort),
		"Pointer":        reflect.ValueOf((*unsafe.Pointer)(nil)),
		"Defers":         reflect.ValueOf((*rt.Defers)(nil)), "Select": reflect.ValueOf((*rt.Select)(nil)),
		"Print":   reflect.ValueOf(func(a ...any) { r.Print(s.errOut, "", "", s.program != nil, a...) }),
		"Println": reflect.ValueOf(func(a ...any) { r.Print(s.errOut, " ", "\n", s.program != nil, a...) }),
	}
	for name, f := range map[string]any{
		"MinInt": rt.Min[int], "MinInt64": rt.Min[int64], "MinUint64": rt.Min[uint64], "MinFloat64": rt.Min[float64], "MinString": rt.Min[string],
		"MaxInt": rt.Max[int], "MaxInt64": rt.Max[int64], "MaxUint64": rt.Max[uint64], "MaxFloat64": rt.Max[float64], "MaxString": rt.Max[string],
		"Var": r.Var, "Method": r.Method, "Run": r.Run, "Stop": r.Stop, "Go": r.Go, "Deferred": r.Deferred, "Defer": r.Defer,
		"Recover": r.Recover, "RecoverCalled": r.RecoverCalled, "Panic": r.Panic, "CheckMake": r.CheckMake, "Grown": r.Grown, "ShiftCount": r.ShiftCount, "NilUsed": r.NilUsed, "Rune": r.Rune, "Loop": r.Loop,
		"Show": r.Show, "Check": r.Check, "CheckValue": r.CheckValue, "Recv": r.Recv, "Send": r.Send, "NewSelect": r.NewSelect, "Wrap": r.Wrap,
		"As": r.As, "AsInterface": r.AsInterface, "AsOwn": r.AsOwn, "Become": r.Become, "Box": r.Box, "Open": r.Open, "Dispatch": r.Dispatch, "Equal": r.Equal, "AssertFailed": r.AssertFailed,
		"ClearMap": r.ClearMap, "Quit": r.Quit, "ErrorsAs": r.ErrorsAs, "Contain": r.Contain,
		"PointerOf": r.PointerOf, "PointerAt": r.PointerAt, "Address": r.Address, "PointTo": r.PointTo, "SamePlace": r.SamePlace,
		"PointerAdd": r.PointerAdd, "SliceAt": r.SliceAt, "DataOf": r.DataOf, "StringAt": r.StringAt, "StringData": r.StringData,
		"Forward": r.Forward,
	} {
		symbols[name] = reflect.ValueOf(f)
	}
	return symbols
}

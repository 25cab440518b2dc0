package stdlib

import (
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"log"
	"reflect"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/stdlib/internal/engine"
	"github.com/traefik/yaegi/interp"
)

// TestTablesMatchTypes holds the two generated descriptions of each package against each other: what go/types
// says there is must be in the interpreter's table, of the right kind and, for constants, with the value of
// this system.
func TestTablesMatchTypes(t *testing.T) {
	im := Importer()
	for _, path := range Paths() {
		pkg, err := im.Import(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if name, _ := Name(path); pkg.Name() != name {
			t.Errorf("%s: package name %s, want %s", path, pkg.Name(), name)
		}
		table, ok := Symbols(path)
		if !ok {
			t.Errorf("%s: no symbols", path)
		}
		for _, name := range pkg.Scope().Names() {
			if obj := pkg.Scope().Lookup(name); obj.Exported() {
				checkSymbol(t, table, obj)
			}
		}
	}
}

func checkSymbol(t *testing.T, table map[string]reflect.Value, obj types.Object) {
	t.Helper()
	where := obj.Pkg().Path() + "." + obj.Name()
	v, ok := table[obj.Name()]
	if isGeneric(obj) {
		if ok {
			t.Errorf("%s: generic, but has a symbol", where)
		}
		return
	}
	if !ok {
		t.Errorf("%s: no symbol", where)
		return
	}
	switch obj := obj.(type) {
	case *types.Const:
		if got := constantOf(v); !sameConstant(got, obj.Val()) {
			t.Errorf("%s: symbol is %v, type data say %v", where, got, obj.Val())
		}
	case *types.Var:
		if !v.CanSet() {
			t.Errorf("%s: variable cannot be set", where)
		}
	case *types.Func:
		if v.Kind() != reflect.Func || v.Type().NumIn() != obj.Signature().Params().Len() {
			t.Errorf("%s: symbol is %v, want %v", where, v.Type(), obj.Type())
		}
	case *types.TypeName:
		if v.Kind() != reflect.Pointer {
			t.Errorf("%s: symbol is %v, want a pointer type", where, v.Type())
			return
		}
		if w, ok := table["_"+obj.Name()]; ok && !w.Type().Elem().Implements(v.Type().Elem()) {
			t.Errorf("%s: wrapper %v does not implement it", where, w.Type().Elem())
		}
	}
}

func isGeneric(obj types.Object) bool {
	switch obj := obj.(type) {
	case *types.Func:
		return obj.Signature().TypeParams().Len() > 0
	case *types.TypeName:
		if named, ok := obj.Type().(*types.Named); ok && named.TypeParams().Len() > 0 {
			return true
		}
		iface, ok := obj.Type().Underlying().(*types.Interface)
		return ok && !iface.IsMethodSet()
	}
	return false
}

// sameConstant compares numbers as far as a float64 goes: a table's literals have 100 digits, not all of
// them.
func sameConstant(a, b constant.Value) bool {
	if constant.ToFloat(a).Kind() == constant.Float && constant.ToFloat(b).Kind() == constant.Float {
		x, _ := constant.Float64Val(a)
		y, _ := constant.Float64Val(b)
		return x == y && constant.Sign(a) == constant.Sign(b)
	}
	return constant.Compare(a, token.EQL, b)
}

func constantOf(v reflect.Value) constant.Value {
	if c, ok := v.Interface().(constant.Value); ok {
		return c
	}
	switch {
	case v.CanInt():
		return constant.MakeInt64(v.Int())
	case v.CanUint():
		return constant.MakeUint64(v.Uint())
	case v.CanFloat():
		return constant.MakeFloat64(v.Float())
	case v.Kind() == reflect.Bool:
		return constant.MakeBool(v.Bool())
	}
	return constant.MakeString(v.String())
}

// Types that two packages mention are the same types, in whatever order they are imported.
func TestImporterSharesTypes(t *testing.T) {
	for _, order := range [][]string{{"io", "bufio", "fmt"}, {"fmt", "bufio", "io"}} {
		im := newImporter()
		for _, path := range order {
			if _, err := im.Import(path); err != nil {
				t.Fatal(err)
			}
		}
		writer := im.packages["io"].Scope().Lookup("Writer").Type()
		param := im.packages["fmt"].Scope().Lookup("Fprint").(*types.Func).Signature().Params().At(0)
		if !types.Identical(writer, param.Type()) || param.Name() != "w" {
			t.Errorf("order %v: fmt.Fprint takes %v %v, want w io.Writer", order, param.Name(), param.Type())
		}
	}
	if _, err := Importer().Import("net/rpc"); err == nil || !strings.Contains(err.Error(), `"net/rpc": not available in cells: it finds methods`) {
		t.Errorf("import of a package that is not there: got error %v, want one that names it", err)
	}
}

func TestImportFor(t *testing.T) {
	for _, tt := range []struct{ name, path string }{
		{"fmt", "fmt"},
		{"json", "encoding/json"},
		{"rand", "math/rand/v2"},
		{"template", "text/template"},
		{"filepath", "path/filepath"},
		{"dtype", "github.com/mcs-notebook/mcs/engine/dtype"},
		{"http", "net/http"},
		{"signal", ""},
	} {
		if path, ok := ImportFor(tt.name); path != tt.path || ok != (tt.path != "") {
			t.Errorf("ImportFor(%q) = %q, %v, want %q", tt.name, path, ok, tt.path)
		}
	}
}

// A name that several packages declare means the one that was chosen, not the first of the list.
func TestAmbiguousNamesAreSettled(t *testing.T) {
	first := map[string]string{}
	for _, path := range Paths() {
		name, _ := Name(path)
		if other, ok := first[name]; ok && preferred[name] == "" && find(engine.Packages, other) == nil {
			t.Errorf("%s means %s or %s: add it to preferred", name, other, path)
		}
		if _, ok := first[name]; !ok {
			first[name] = path
		}
	}
}

func TestDoc(t *testing.T) {
	for _, tt := range []struct{ path, symbol, prefix, contains string }{
		{"io", "", "package io", "basic interfaces to I/O primitives"},
		{"io", "Copy", "func Copy(dst Writer, src Reader) (written int64, err error)\n\n", "Copy copies from src to dst"},
		{"io", "Reader", "type Reader interface {\n", "Read(p []byte) (n int, err error)"},
		{"bytes", "Buffer.Len", "func (b *Buffer) Len() int\n\n", "number of bytes"},
		{"math", "Pi", "const Pi untyped float", ""},
		{"os", "Args", "var Args []string", "command-line arguments"},
		{"io", "NoSuch", "", ""},
	} {
		got := Doc(tt.path, tt.symbol)
		if !strings.HasPrefix(got, tt.prefix) || !strings.Contains(got, tt.contains) {
			t.Errorf("Doc(%q, %q) = %q, want prefix %q and %q", tt.path, tt.symbol, got, tt.prefix, tt.contains)
		}
	}
}

// os.Exit and log.Fatal must not end the process that runs the cell.
func TestExitIsAPanic(t *testing.T) {
	call := func(path, name string, args ...any) (got any) {
		defer func() { got = recover() }()
		table, _ := Symbols(path)
		in := make([]reflect.Value, len(args))
		for i, a := range args {
			in[i] = reflect.ValueOf(a)
		}
		table[name].Call(in)
		return nil
	}
	var out strings.Builder
	logger := log.New(&out, "", 0)
	for _, tt := range []struct {
		path, name string
		args       []any
		want       any
	}{
		{"os", "Exit", []any{3}, ExitRequest{Code: 3}},
		{"log", "Logger_Fatal", []any{logger, "gone"}, ExitRequest{Code: 1}},
		{"log", "Logger_Fatalf", []any{logger, "%d gone", 2}, ExitRequest{Code: 1}},
		{"log", "Logger_Fatalln", []any{logger, "all", "gone"}, ExitRequest{Code: 1}},
	} {
		if got := call(tt.path, tt.name, tt.args...); got != tt.want {
			t.Errorf("%s.%s: panicked with %v, want %v", tt.path, tt.name, got, tt.want)
		}
	}
	if want := "gone\n2 gone\nall gone\n"; out.String() != want {
		t.Errorf("log: wrote %q, want %q", out.String(), want)
	}
}

// An interpreted type must be able to stand for a compiled interface.
func TestWrapperCarriesInterpretedType(t *testing.T) {
	i := interp.New(interp.Options{})
	exports := interp.Exports{}
	for _, path := range []string{"sort", "strconv"} {
		table, _ := Symbols(path)
		name, _ := Name(path)
		exports[path+"/"+name] = table
	}
	if err := i.Use(exports); err != nil {
		t.Fatal(err)
	}
	const src = `
import ("sort"; "strconv")
type down []int
func (d down) Len() int { return len(d) }
func (d down) Less(i, j int) bool { return d[i] > d[j] }
func (d down) Swap(i, j int) { d[i], d[j] = d[j], d[i] }
func sorted() string { d := down{2, 3, 1}; sort.Sort(d); return strconv.Itoa(d[0]*100 + d[1]*10 + d[2]) }`
	if _, err := i.Eval(src); err != nil {
		t.Fatal(err)
	}
	got, err := i.Eval("sorted()")
	if err != nil || fmt.Sprint(got) != "321" {
		t.Errorf("sorted() = %v, %v, want 321", got, err)
	}
}

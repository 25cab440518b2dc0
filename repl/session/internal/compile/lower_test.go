package compile

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/stdlib"
)

// A testEnv is a session that has one package with some declarations, for package lower: its tests are here,
// where the types of the standard library are linked anyway.
type testEnv struct {
	keys []types.Type
}

func (e *testEnv) Name(o types.Object) string {
	if o.Parent() != nil && o.Pkg() != nil && o.Parent() == o.Pkg().Scope() && o.Pkg().Path() == lower.CellsPath {
		return o.Name()
	}
	return ""
}
func (e *testEnv) Package(path string) string { return strings.ReplaceAll(path, "/", "_") }
func (e *testEnv) Instance(generic types.Object, args []types.Type, pos token.Pos) (string, error) {
	return fmt.Sprintf("%s__of_%s", generic.Name(), args[0]), nil
}
func (e *testEnv) Mark(lower.Mark) int { return 1 }
func (e *testEnv) Slot(slot int)       {}
func (e *testEnv) LocalType(o *types.TypeName, declare func(string) ast.Decl) string {
	return o.Name() + "__local"
}
func (e *testEnv) Dispatcher(method string, sig *types.Signature, typ func() ast.Expr) string {
	return "dispatch·" + method
}
func (e *testEnv) TypeKey(t types.Type) int {
	for i, k := range e.keys {
		if types.Identical(k, t) {
			return i + 1
		}
	}
	e.keys = append(e.keys, t)
	return len(e.keys)
}
func (e *testEnv) SelfMade(t types.Type) string { return "Self" }
func (*testEnv) Plain() bool                    { return false }

func (e *testEnv) TypeName(t types.Type) string { return t.String() }

const testDecls = `package mcs
import ("errors"; "fmt"; "io"; "encoding/json"; "container/list"; "strings")
var _, _, _, _, _, _ = errors.New, fmt.Print, io.EOF, json.Marshal, list.New, strings.Join
type F float64
func (F) Area() int { return 1 }
func (*F) Set(int) {}
type Shape interface{ Area() int }
type Err struct{ code int }
func (Err) Error() string { return "" }
type Holder struct { Shape; x any }
func two() (F, error) { return 0, nil }
func take(x any, more ...any) {}
func read(r io.Reader) {}
`

// lowered is the body of func f, lowered, one statement a line, without tests of the stop flag and marks.
func lowered(t *testing.T, params, body string) string {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "test.go", testDecls+"func f("+params+") {\n"+body+"\n}", 0)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Instances: map[*ast.Ident]types.Instance{}, Implicits: map[ast.Node]types.Object{}}
	conf := types.Config{Importer: stdlib.Importer()}
	if _, err := conf.Check(lower.CellsPath, fset, []*ast.File{file}, info); err != nil {
		t.Fatal(err)
	}
	d := file.Decls[len(file.Decls)-1].(*ast.FuncDecl)
	out, err := lower.New(&testEnv{}, info).Func(d, "f", "f", lower.FirstSlot, lower.Version{})
	if err != nil {
		return "refused: " + err.Error()
	}
	var lines []string
	for _, s := range out.Body.List {
		var b bytes.Buffer
		if err := printer.Fprint(&b, token.NewFileSet(), s); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(b.String()), " ")
		if !strings.HasPrefix(text, "if "+lower.StopVar) && !strings.HasPrefix(text, "__mark") {
			lines = append(lines, text)
		}
	}
	return strings.Join(lines, "\n")
}

// TestLower shows what becomes of code: of values on their way into interfaces first of all.
func TestLower(t *testing.T) {
	for _, test := range []struct{ name, params, body, want string }{
		{"a named type goes into an any in a box", "x any, f F", "x = f", "x = __rt.Box(1, f)"},
		{"a basic type needs none", "x any, f float64", "x = f", "x = f"},
		{"a compiled type needs none", "x any, b *list.List", "x = b", "x = b"},
		{"a slice of a named type is in a box of its own", "x any, f []F", "x = f", "x = __rt.Box(1, f)"},
		{"an interface of a cell is an any", "s Shape, f F", "s = f", "s = __rt.Box(1, f)"},
		{"one interface of a cell becomes another as it is", "x any, s Shape", "x = s", "x = s"},
		{"a compiled interface is opened", "x any, e error", "x = e", "x = __rt.Open(e)"},
		{"a value becomes a compiled interface in a wrapper", "e error, v Err", "e = v", "var __v1 error\n__rt.Wrap(1, v, &__v1)\ne = __v1"},
		{"nil is nil", "s Shape, e error", "s = nil; e = nil", "s = nil\ne = nil"},
		{"results are converted one by one", "x any, e error", "x, e = two()", "var __tmp1 F\nvar __tmp2 error\n__tmp1, __tmp2 = two()\nx = __rt.Box(1, __tmp1)\ne = __tmp2"},
		{"an argument is converted", "f F", "take(f, f, 1)", "take(__rt.Box(1, f), []any{__rt.Box(1, f), 1}...)"},
		{"a slice of any beside others is one argument", "xs []any", "take(1, xs, 2)", "take(1, []any{xs, 2}...)"},
		{"compiled code gets a value with its type", "f F", "json.Marshal(f)", "encoding_json.Marshal(__rt.Box(1, f))"},
		{"and a pointer with the type of what it points to", "b []byte, f F", "json.Unmarshal(b, &f)", "encoding_json.Unmarshal(b, __rt.Box(1, &f))"},
		{"a slice that may double asks for memory", "xs []int", "xs = append(xs, xs...)", "xs = append(xs, xs...)\nif len(xs) > 2097152 { __rt.Grown() }"},
		{"but not behind each element", "xs []int", "xs = append(xs, 1)", "xs = append(xs, 1)"},
		{"so does a buffer that writes itself", "b *strings.Builder", "b.WriteString(b.String())", "var __tmp1 string\n__tmp1 = b.String()\nb.WriteString(__tmp1)\nif b.Len() > 16777216 { __rt.Grown() }"},
		{"what is dynamic has the newest of its type", "b []byte, x any", "json.Unmarshal(b, x)", "encoding_json.Unmarshal(b, __rt.Open(x))"},
		{"a container gets the box", "l *list.List, f F", "l.PushBack(f)", "l.PushBack(__rt.Box(1, f))"},
		{"a key is converted", "m map[any]int, f F", "m[f] = 1; delete(m, f)", "m[__rt.Box(1, f)] = 1\ndelete(m, __rt.Box(1, f))"},
		{"interfaces are compared by value and type", "x any, f F, b bool", "b = x == f", "b = __rt.Equal(x, __rt.Box(1, f))"},
		{"other values by the operator", "f, g F, b bool", "b = f == g", "b = f == g"},
		{"an assertion asks for the type's number", "x any, f F, ok bool", "f, ok = x.(F)", "var __v1 F\n__ok2 := false\n__ok2 = __rt.As(x, &__v1, 1)\nf = __v1\nok = __ok2"},
		{"a method is a function", "f F, n int", "n = f.Area()", "n = F·Area(f)"},
		{"its receiver is copied", "f *F, n int", "n = f.Area()", "n = F·Area(*f)"},
		{"or taken by its address", "f F", "f.Set(1)", "F·Set(&f, 1)"},
		{"a call through an interface finds the method by the value", "s Shape, n int", "n = s.Area()", "n = dispatch·Area(s)"},
		{"a promoted one goes through the field", "h Holder, n int", "n = h.Area()", "n = dispatch·Area(h.Shape)"},
		{"a compiled interface has its own methods", "e error, s string", "s = e.Error()", "s = e.Error()"},
		{"recover works in a literal that is deferred", "", "defer func() { recover() }()", "__rt.Deferred(func(__d1 *__rt.Defers) { __mark3 = 1 __mark1 = 0 __d1.Add(func() { __mark1 = 1 __rt.Recover() }) })"},
		{"and elsewhere only if defer has called", "x any", "x = recover()", "x = __rt.RecoverCalled()"},
		{"what acts beside something else is taken out, in order", "xs []int, g func(int) int, n int", "n = xs[0] + g(n) + g(2)", "var __tmp1 int\nvar __tmp2 int\n__tmp1 = g(n)\n__tmp2 = g(2)\nn = xs[0] + __tmp1 + __tmp2"},
		{"what acts alone stays", "m map[string]int, s []string, n int", "n = m[s[0]] * 2", "n = m[s[0]] * 2"},
		{"a temporary variable is used again", "g func(int) int, n int", "n = g(n) + 1; n = g(n) + 2", "var __tmp1 int\n__tmp1 = g(n)\nn = __tmp1 + 1\n__tmp1 = g(n)\nn = __tmp1 + 2"},
		{"a value is known before its place panics", "xs []int, g func(int) int", "xs[1] = g(2)", "var __tmp1 int\n__tmp1 = g(2)\nxs[1] = __tmp1"},
		{"operands of places, then values, then places from the left", "a [2]int, i int", "i, a[i] = 1, 5", "var __tmp1 int\n__tmp1 = i\ni = 1\na[__tmp1] = 5"},
		{"a conversion is no condition", "b bool", "if bool(b) { b = false }", "var __tmp1 bool\n__tmp1 = bool(b)\nif __tmp1 { b = false }"},
		{"the right side of && runs if the left is true", "x any, b bool", "b = b && x.(bool)", "var __tmp3 bool\n__tmp3 = b\nif __tmp3 { var __v1 bool __ok2 := false __ok2 = __rt.As(x, &__v1, 0) if !__ok2 { __rt.AssertFailed(x, \"any\", \"bool\", \"\") } __tmp3 = __v1 }\nb = __tmp3"},
		{"an element that dereferences is taken out", "p **Err, x []int", "x = []int{1, (*p).code}", "var __tmp1 int\n__tmp1 = (*p).code\nx = []int{1, __tmp1}"},
		{"a blank field has no value", "x struct{ _, y int }", "x = struct{ _, y int }{1, 2}", `x = struct { blank__0 int y int }{*new(int), 2}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := lowered(t, test.params, test.body); got != test.want {
				t.Errorf("%s\ngot  %s\nwant %s", test.body, got, test.want)
			}
		})
	}
}

// TestRefuse shows what is refused, and in which words.
func TestRefuse(t *testing.T) {
	for _, test := range []struct{ params, body, want string }{
		{"", "var a [1 << 40]int; _ = a", "refused: an array of type [1099511627776]int is larger than 1 GiB, which cells cannot have"},
	} {
		if got := lowered(t, test.params, test.body); got != test.want {
			t.Errorf("%s: got %q, want %q", test.body, got, test.want)
		}
	}
}

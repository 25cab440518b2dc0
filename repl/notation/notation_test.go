package notation

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

// Brackets that are no Go but an index of several axes are read as a call of Index; all others stay.
func TestBracketsBecomeIndices(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"x[:, 0]", "x.Index(__tensor.All, __tensor.At(0))"},
		{"x[0, 1]", "x.Index(__tensor.At(0), __tensor.At(1))"},
		{"x[i, j+1]", "x.Index(__tensor.At(i), __tensor.At(j + 1))"},
		{"x[1:3, :]", "x.Index(__tensor.Span(1, 3), __tensor.All)"},
		{"x[a:, :b, a:b]", "x.Index(__tensor.Span(a, __tensor.Open), __tensor.Span(__tensor.Open, b), __tensor.Span(a, b))"},
		{"x[::2]", "x.Index(__tensor.SpanStep(__tensor.Open, __tensor.Open, 2))"},
		{"x[1::]", "x.Index(__tensor.Span(1, __tensor.Open))"},
		{"x[::, ::-1]", "x.Index(__tensor.All, __tensor.SpanStep(__tensor.Open, __tensor.Open, -1))"},
		{"x[a:b:c, nil]", "x.Index(__tensor.SpanStep(a, b, c), __tensor.At(nil))"},
		{"x[..., 0]", "x.Index(__tensor.Rest, __tensor.At(0))"},
		{"x[...]", "x.Index(__tensor.Rest)"},
		{"x[:, 0,]", "x.Index(__tensor.All, __tensor.At(0))"},
		{"x[y[:, 0], f(z[1:2, 0], 3):]", "x.Index(__tensor.At(y.Index(__tensor.All, __tensor.At(0))), __tensor.Span(f(z.Index(__tensor.Span(1, 2), __tensor.At(0)), 3), __tensor.Open))"},
		{"f(x)[:, 0][1]", "f(x).Index(__tensor.All, __tensor.At(0))[1]"},
		{"x[\"a,b:c\", ':']", "x.Index(__tensor.At(\"a,b:c\"), __tensor.At(':'))"},
		{"x[func() int { return m[1:2][0] }(), :]", "x.Index(__tensor.At((func() int literal)()), __tensor.All)"},

		{"x[i, j]", "x[i, j]"}, // an instantiation, until the checker knows x
		{"x[1:2]", "x[1:2]"},
		{"x[:2:3]", "x[:2:3]"},
		{"Pair[int, []string]{}", "Pair[int, []string]{}"},
		{"[...]int{1, 2}[1:]", "[...]int{…}[1:]"},
		{"map[string][2]int{}[`a`][:]", "map[string][2]int{}[`a`][:]"},

		{"x[:, ,0]", ""}, {"x[:, 0", ""}, {"x[1:2:3:4, 0]", ""}, {"x[,0]", ""}, {"x[:, a b]", ""}, {"x[:,, 0]", ""},
	} {
		e, err := ParseExpr(c.text)
		got := ""
		if err == nil {
			got = types.ExprString(e)
		}
		if got != c.want {
			t.Errorf("%s: got %s (%v), want %s", c.text, got, err, c.want)
		}
	}
}

// Declarations that do not parse for another reason keep their type parameters.
func TestBracketsOfDeclarations(t *testing.T) {
	const src = "package p\nfunc f[K comparable, V any](x T) { x[:, 0] = g[K, V](x[1, 2]) }\ntype P[K, V any] struct{}\n"
	file, err := ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if n := file.Decls[0].(*ast.FuncDecl).Type.TypeParams.NumFields(); n != 2 {
		t.Errorf("got %d type parameters, want 2", n)
	}
}

// A text keeps its length and its lines, whatever is between its brackets, and Go stays as it is.
func FuzzBrackets(f *testing.F) {
	for _, s := range []string{"x[:, 0]", "x[a[:,1], ::2]", "f[K, V](x)[..., nil]", "x[`\n`, 1:\n2,\n]", "[[[:,:]]]", "x[(]", "x[:,//\n0]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		plain, groups := readBrackets(src)
		if len(plain) != len(src) || strings.Count(plain, "\n") != strings.Count(src, "\n") {
			t.Fatalf("%q became %q", src, plain)
		}
		if plain != src != (len(groups) > 0) {
			t.Fatalf("%q became %q with %d groups", src, plain, len(groups))
		}
		if _, err := parser.ParseExpr(src); err == nil {
			e, err := ParseExpr(src)
			if err != nil || strings.Contains(types.ExprString(e), Tensor) {
				t.Fatalf("%q is Go and became %v, %v", src, e, err)
			}
		}
		_, _ = ParseFile(token.NewFileSet(), "", "package p; func _() {"+src+"\n}", parser.AllErrors) // does not panic
	})
}

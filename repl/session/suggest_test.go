package session

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/repl/session/internal/help"
	"github.com/mcs-notebook/mcs/stdlib"
)

// Names that suggestions tell people to write exist.
func TestSuggestionsExist(t *testing.T) {
	s, _ := newSession(t, Options{})
	var texts []string
	for _, i := range help.ForeignLines() {
		texts = append(texts, i.Say)
	}
	texts = append(texts, slices.Collect(maps.Values(help.Modules()))...)
	texts = append(texts, slices.Collect(maps.Values(help.ForeignNames()))...)
	qualified := regexp.MustCompile(`\b([a-z]\w*)\.([A-Z]\w*)`)
	found := 0
	for _, text := range texts {
		for _, m := range qualified.FindAllStringSubmatch(text, -1) {
			path, ok := stdlib.ImportFor(m[1])
			if !ok {
				continue // $x.Method
			}
			pkg, err := s.compiler.Import(path)
			if err != nil || pkg.Scope().Lookup(m[2]) == nil {
				t.Errorf("%s: there is no %s.%s (%v)", text, m[1], m[2], err)
			}
			found++
		}
	}
	if found < 20 {
		t.Errorf("the texts name %d functions, want at least 20: is the pattern wrong?", found)
	}
}

// A name is taken for another only if it is near: the longer, the more may differ.
func TestDidYouMean(t *testing.T) {
	for _, c := range []struct{ name, candidates, want string }{
		{"hal", "half ham", "half"},
		{"i", "m n x", ""},
		{"N", "n m", "n"},
		{"ab", "ac", ""},
		{"totl", "total tot", "total"},
		{"input", "int uint", ""},
		{"Printl", "Print Println", "Println"},
		{"matmul", "MatMul MatMulT", "MatMul"},
		{"Tranpsoe", "Transpose", "Transpose"},
		{"Sofmtaxx", "Softmax", "Softmax"},
		{"convolution", "Conv1d", ""},
		{"__hidden", "__hiddem", ""},
	} {
		want := ""
		if c.want != "" {
			want = "did you mean " + c.want + "?"
		}
		if got := help.DidYouMean(c.name, strings.Fields(c.candidates)); got != want {
			t.Errorf("didYouMean(%s, %s): got %q, want %q", c.name, c.candidates, got, want)
		}
	}
}

// A command on the right of an assignment is answered with a line that can be pasted, or with where its
// result is.
func TestAssignedCommands(t *testing.T) {
	s, _ := newSession(t, Options{})
	if r := s.Run(t.Context(), "x := 2\nfunc f() int { return x }"); r.Err != nil {
		t.Fatal(r.Err)
	}
	ran := map[string]bool{}
	for _, tt := range []struct{ cell, want string }{
		{"r := %timeit f()", "r := bench.Time(func() { f() })"},
		{"r := %timeit x + 1", "r := bench.Time(func() { _ = x + 1 })"},
		{"var r = %timeit f()", "r := bench.Time(func() { f() })"},
		{"x := 1\nr := %timeit f()", "r := bench.Time(func() { f() })"},
		{"r := %timeit -t 1s f()", "%timeit -t 1s f() in a cell; its result is _ in the next one: r := _"},
		{"y := %time f()", "%time y := f()"},
		{"y = %time f()", "%time y := f()"},
		{"c := %bench a := f() ; b := f()", "%bench a := f() ; b := f() in a cell; its result is _ in the next one: c := _"},
		{"k := %kernels f()", "%kernels f() in a cell; its result is _ in the next one: k := _"},
	} {
		r := s.Run(t.Context(), tt.cell)
		if r.Err == nil || !strings.Contains(r.Err.Error(), "write "+tt.want+"\n") && !strings.HasSuffix(r.Err.Error(), "write "+tt.want) {
			t.Errorf("%s: got %v, want write %s", tt.cell, r.Err, tt.want)
		}
		if strings.HasPrefix(tt.want, "r := ") && !ran[tt.want] && (len(ran) == 0 || long.CI()) { // one takes a second
			ran[tt.want] = true
			if r := s.Run(t.Context(), tt.want+"\nr.Refused"); r.Err != nil {
				t.Errorf("%s: %v", tt.want, r.Err)
			}
		}
	}
}

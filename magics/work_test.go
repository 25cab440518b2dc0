package magics

import (
	"reflect"
	"strings"
	"testing"
)

func TestSplitCases(t *testing.T) {
	for _, tt := range []struct {
		text string
		want [][2]string // names and texts
	}{
		{"", nil},
		{"f(x)", [][2]string{{"f(x)", "f(x)"}}},
		{"fused := f(x) ; plain := g(x).Add(1)", [][2]string{{"fused", "fused := f(x)"}, {"plain", "plain := g(x).Add(1)"}}},
		{"a := f(x)\nb := g(\n\tx,\n)\n", [][2]string{{"a", "a := f(x)"}, {"b", "b := g(\n\tx,\n)"}}},
		{"a := func() int { x := 1; return x }()", [][2]string{{"a", "a := func() int { x := 1; return x }()"}}},
		{`a := "x;y"; b = 2`, [][2]string{{"a", `a := "x;y"`}, {"b = 2", "b = 2"}}},
	} {
		var got [][2]string
		for _, c := range splitCases(tt.text) {
			got = append(got, [2]string{c.name, c.code.Text})
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("splitCases(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestOnlyDefinition(t *testing.T) {
	for _, tt := range []struct{ source, want string }{
		{"y := f(x)", "f(x)"},
		{"a, b := f(x)  ", "f(x)"},
		{"y := x[1:2, :]", "x[1:2, :]"},
		{"y = f(x)", ""},
		{"a, b := 1, 2", ""},
		{"y := f(x); z := y", ""},
		{"f(x)", ""},
		{"y := ", ""},
	} {
		got := ""
		if code := onlyDefinition(parsed(tt.source)); code != nil {
			got = code.Text
		}
		if got != tt.want {
			t.Errorf("onlyDefinition(%q) = %q, want %q", tt.source, got, tt.want)
		}
	}
}

// The table of %bench tells its statements apart by their names.
func TestBenchNames(t *testing.T) {
	for _, tt := range []struct{ text, names, err string }{
		{"a := f(1); b := f(2)", "a b", ""},
		{"a := f(1); a := f(2)", "", "%bench: got the name a twice"},
		{"f(1); f(1); f(1)", "f(1) f(1) (2) f(1) (3)", ""},
	} {
		cases := splitCases(tt.text)
		err := (&call{magic: Lookup("bench")}).tellApart(cases)
		if err != nil || tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: got %v, want %q", tt.text, err, tt.err)
			}
			continue
		}
		var names []string
		for _, c := range cases {
			names = append(names, c.name)
		}
		if got := strings.Join(names, " "); got != tt.names {
			t.Errorf("%s: got %s, want %s", tt.text, got, tt.names)
		}
	}
}

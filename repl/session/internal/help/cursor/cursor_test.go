package cursor

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each text is the code before the cursor. Rest completes it, inside lists the kinds of the open brackets.
func TestAt(t *testing.T) {
	for _, c := range []struct{ src, prefix, rest string }{
		{"", "", "cursor__\n"},
		{"x.Fo", "Fo", "cursor__\n"},
		{"f(a, ", "", "cursor__)\n"},
		{"f(a ", "", ")\n"},
		{"f(a[", "", "cursor__])\n"},
		{"m := map[", "", "cursor__]int\n"},
		{"m := map[string]", "", "cursor__\n"},
		{"T{A: ", "", "cursor__}\n"},
		{"if x := f(", "", "cursor__); true {}\n"},
		{"if x := 1; x ", "", " {}\n"},
		{"if x > ", "", "cursor__ {}\n"},
		{"for i := ", "", "cursor__;; {}\n"},
		{"for i := 0; i < ", "", "cursor__; {}\n"},
		{"for i := 0; i < 3; i = ", "", "cursor__ {}\n"},
		{"for _, x := range ", "", "cursor__ {}\n"},
		{"for _, x := range []int{", "", "cursor__} {}\n"},
		{"for _, x := range list {", "", "cursor__}\n"},
		{"if a[i] {", "", "cursor__}\n"},
		{"switch v := x.(", "", "cursor__); {}\n"},
		{"switch x {\ncase ", "", "cursor__:}\n"},
		{"switch x {\ncase 1:\n", "", "cursor__}\n"},
		{"select {\ncase v := <-", "", "cursor__:}\n"},
		{"go ", "", "cursor__()\n"},
		{"defer func() {", "", "cursor__}()\n"},
		{"if f(func() bool { return ", "", "cursor__}) {}\n"},
		{"func f(a ", "", "cursor__)\n"},
		{"func f() (", "", "cursor__)\n"},
		{"type T struct { a ", "", "cursor__}\n"},
		{"var x ", "", "cursor__\n"},
		{"s := \"ab", "ab", "\"\"\n"},
		{"f(`a\nb", "a\nb", "\"\")\n"},
		{"// x", "", "\n\n"},
		{"f(1.5", "5", "5)\n"},
	} {
		p := At(c.src)
		if p.Prefix != c.prefix || p.Rest != c.rest {
			t.Errorf("At(%q) = %q, %q; want %q, %q", c.src, p.Prefix, p.Rest, c.prefix, c.rest)
		}
	}
}

func TestLevels(t *testing.T) {
	for _, c := range []struct {
		src    string
		inside Inside
		call   bool
		commas int
		keys   string
		begins bool
	}{
		{"x := ", TopLevel, false, 0, "", false},
		{"x := 1\n", TopLevel, false, 0, "", true},
		{"f(a, b, ", Parens, true, 2, "", false},
		{"(a + ", Parens, false, 0, "", false},
		{"func f(a int, ", Parens, false, 1, "", false},
		{"T{A: 1, B: ", Elements, false, 1, "A B", false},
		{"a[", Brackets, true, 0, "", false},
		{"[", Brackets, false, 0, "", false},
		{"if x {", Block, false, 0, "", true},
		{"} else {", Block, false, 0, "", true},
		{"switch x {", Cases, false, 0, "", true},
		{"switch x {\ncase 1, ", Cases, false, 1, "", false},
		{"switch x {\ncase 1:", Cases, false, 0, "", true},
		{"type T interface {", Members, false, 0, "", true},
		{"outer:", TopLevel, false, 0, "", true},
		{"var (", Parens, false, 0, "", true},
	} {
		p := At(c.src)
		l := p.Inner()
		if l.Inside != c.inside || l.Call != c.call || l.Commas != c.commas || strings.Join(l.Keys, " ") != c.keys || p.Begins != c.begins {
			t.Errorf("At(%q): got %+v, begins %v", c.src, *l, p.Begins)
		}
	}
}

// Real code that is cut between two words becomes whole, but where half of an operator is left or a new name
// is wanted.
func TestWholeParses(t *testing.T) {
	files, err := filepath.Glob("../../../*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources to cut: %v", err)
	}
	all, bad := 0, 0
	for _, name := range files[:8] {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		src := string(b)
		for i := strings.Index(src, "\n)\n") + 3; i < len(src); i += 61 {
			for i < len(src) && trailingName(src[i-1:i+1]) != "" {
				i++
			}
			p := At(src[:i])
			if l := p.Inner(); l.Inside == TopLevel || l.Params {
				continue // the name of a function, type or parameter
			}
			text, _ := p.Whole(src[:i])
			all++
			if _, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution); err != nil {
				bad++
			}
		}
	}
	if all < 100 || bad*30 > all {
		t.Errorf("%d of %d cuts do not parse", bad, all)
	}
}

func FuzzAt(f *testing.F) {
	for _, s := range []string{"f(a, ", "switch { case", "x := \"", "`", "}{", "if x := T{", "'", "// a", "/*", "0x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		p := At(src)
		if p.From < 0 || p.From > len(src) || src[p.From:] != p.Prefix && p.Kind == Code {
			t.Errorf("At(%q): from %d, prefix %q", src, p.From, p.Prefix)
		}
		if text, at := p.Whole(src); at > len(text) {
			t.Errorf("Whole(%q): cursor at %d of %d", src, at, len(text))
		}
	})
}

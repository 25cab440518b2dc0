package term

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestColours(t *testing.T) {
	names := map[colour]string{magenta: "keyword", green: "string", cyan: "number", grey: "comment", yellow: "type", blue: "builtin",
		red: "red", boldRed: "place", bold: "call"}
	tag := func(s string) string { // colours as words: <number 1>
		for c, name := range names {
			s = strings.ReplaceAll(s, "\x1b["+string(c)+"m", "<"+name+" ")
		}
		return strings.ReplaceAll(s, "\x1b[0m", ">")
	}
	th := theme{enabled: true}
	for _, c := range []struct{ src, live, shown string }{
		{"for i := 0; ; {", "<keyword for> i := <number 0>; ; {", ""},
		{"x := \"a\" // b", "x := <string \"a\"> <comment // b>", ""},
		{"var f float64 = len(s)", "<keyword var> f <type float64> = <builtin len>(s)", ""},
		{"f(x)", "f(x)", "<call f>(x)"},
		{"x % 2", "x % <number 2>", ""},
		{"%timeit f(2)", "<builtin %timeit> f(<number 2>)", "<builtin %timeit> <call f>(<number 2>)"},
		{"!ls", "<builtin !ls>", ""},
		{"x?", "x<builtin ?>", ""},
		{"s := \"unfinished", "s := <string \"unfinished>", ""},
		{"`a\nb`", "<string `a>\n<string b`>", ""},
		{"", "", ""},
	} {
		if got := tag(th.live(c.src)); got != c.live {
			t.Errorf("typed: got %s, want %s", got, c.live)
		}
		if c.shown == "" {
			c.shown = c.live
		}
		if got := tag(th.code(c.src)); got != c.shown {
			t.Errorf("shown: got %s, want %s", got, c.shown)
		}
		if off := (theme{}); off.live(c.src) != c.src || off.code(c.src) != c.src {
			t.Errorf("%q is changed without colours", c.src)
		}
	}
	got := tag(th.errorText("In[2]:1:3: no\n    x.Foo(1)\n      ^^^\n    hint", 80))
	if want := "<place In[2]:1:3:> no\n    x.Foo(<number 1>)\n<place       ^^^>\n    hint"; got != want {
		t.Errorf("error: got %s, want %s", got, want)
	}
	got = tag(th.errorText("In[2]:1:3: undefined: somewhere; did you mean\n    x.Foo(1)\n      ^^^", 24))
	if want := "<place In[2]:1:3:> undefined:\n  somewhere; did you\n  mean\n    x.Foo(<number 1>)\n<place       ^^^>"; got != want {
		t.Errorf("error: got %s, want %s", got, want)
	}
}

// Colours never change the text, whatever is typed.
func FuzzColours(f *testing.F) {
	for _, seed := range []string{"x := `a\n// b", "'", "/*", "%timeit \"", "s := \"\\\n", "0x_.p", "\ufeffpackage", "a\r\nb", "日本 := 1"} {
		f.Add(seed)
	}
	escapes := regexp.MustCompile("\x1b\\[[0-9;]*m")
	th := theme{enabled: true}
	f.Fuzz(func(t *testing.T, src string) {
		if !utf8.ValidString(src) || strings.Contains(src, "\x1b") {
			t.Skip("no cell has it")
		}
		if got := escapes.ReplaceAllString(th.live(src), ""); got != src {
			t.Errorf("typed: got %q, want %q", got, src)
		}
		if got := escapes.ReplaceAllString(th.code(src), ""); got != src {
			t.Errorf("shown: got %q, want %q", got, src)
		}
	})
}

// Carets stand below what they point at, however long the line is.
func TestLongSourceLines(t *testing.T) {
	const source = "    run := train.Run(ctx, m, data.Windows(code, 64, 16), train.Options{Steps: 3000, Plot: true}) // ähnlich"
	for _, c := range []struct {
		of        string // what the carets point at
		width     int
		line, put string
	}{
		{"run", 200, source, "    ^^^"},
		{"run", 40, "    run := train.Run(ctx, m, data.Windo…", "    ^^^"},
		{"Windows", 40, "    …x, m, data.Windows(code, 64, 16), …", "                ^^^^^^^"},
		{"3000", 40, "    …ons{Steps: 3000, Plot: true}) // ä…", "                ^^^^"},
		{"true", 40, "    …teps: 3000, Plot: true}) // ähnlich", "                       ^^^^"},
		{"data.Windows(code, 64, 16), train.Options{", 40, "    …un(ctx, m, data.Windows(code, 64, …", "                ^^^^^^^^^^^^^^^^^^^^^^^^"},
		{"Windows", 6, source, strings.Repeat(" ", 34) + "^^^^^^^"},
	} {
		at := strings.Index(source, c.of)
		line, put := pointedAt(source, strings.Repeat(" ", at)+strings.Repeat("^", len(c.of)), c.width)
		if line != c.line || put != c.put {
			t.Errorf("%s in %d columns: got\n%q\n%q, want\n%q\n%q", c.of, c.width, line, put, c.line, c.put)
		}
	}
	if line, put := pointedAt("    a\tb "+strings.Repeat("x", 40), "    \t ^", 30); line != "    a    b "+strings.Repeat("x", 18)+"…" || put != "         ^" {
		t.Errorf("a line with a tab: got\n%q\n%q", line, put)
	}
}

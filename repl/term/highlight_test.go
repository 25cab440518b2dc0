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
		{"!ls", "<builtin !ls>", "<builtin !>ls"},
		{"x?", "x<builtin ?>", "x?"},
		{"s := \"unfinished", "s := <string \"unfinished>", "s := \"unfinished"},
		{"`a\nb`", "<string `a\nb`>", "<string `a>\n<string b`>"},
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
	got := tag(th.errorText("In[2]:1:3: no\n    x.Foo(1)\n      ^^^\n    hint"))
	if want := "<place In[2]:1:3:> no\n    x.Foo(<number 1>)\n<place       ^^^>\n    hint"; got != want {
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
		if strings.Contains(src, "\r") {
			t.Skip("chroma makes line breaks one")
		}
		if got := escapes.ReplaceAllString(th.code(src), ""); got != src {
			t.Errorf("shown: got %q, want %q", got, src)
		}
	})
}

package term

import (
	"go/format"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBufferHoldsCells(t *testing.T) {
	for _, c := range []struct{ text, buffer string }{
		{"x := 1", "x := 1"},
		{"f {\n\tg\n}", "f {↵    g↵}"},
		{"f {\n\t\tg\t// h\n}", "f {↵        g⇥// h↵}"},
		{"s := `a\n\tb\n    c`\n\tx", "s := `a↵⇥b↵    c`↵    x"},
		{"a\n\n\tb", "a↵↵    b"},
		{"\t  x", "      x"},
		{"s := `open\n\tb", "s := `open↵⇥b"},
	} {
		marks := strings.NewReplacer("↵", string(markNewline), "⇥", string(markTab))
		buffer := marks.Replace(c.buffer)
		if got := toBuffer(c.text); got != buffer {
			t.Errorf("toBuffer(%q) = %q, want %q", c.text, got, buffer)
		}
		if got := fromBuffer("", buffer); got != c.text {
			t.Errorf("fromBuffer(%q) = %q, want %q", buffer, got, c.text)
		}
	}
	if got, want := fromBuffer("s := `a", "    b`"), "    b`"; got != want {
		t.Errorf("below an open raw string: got %q, want %q", got, want)
	}
}

// A formatted file survives the editor's buffer, byte for byte.
func FuzzBuffer(f *testing.F) {
	f.Add("package p\nfunc f() {\n\ts := `\n\t    raw`\n\treturn /* a\n\tb */ s\n}\n")
	f.Fuzz(func(t *testing.T, src string) {
		if strings.ContainsAny(src, "\r"+string([]rune{markNewline, markTab, markPaste, markDelete})) {
			t.Skip("never reaches the buffer: keyReader drops it")
		}
		formatted, err := format.Source([]byte(src))
		if err != nil || strings.Contains(string(formatted), "/*") { // inside of comments, four blanks are no tab
			t.Skip("not Go without block comments")
		}
		if got := fromBuffer("", toBuffer(string(formatted))); got != string(formatted) {
			t.Errorf("got %q, want %q", got, formatted)
		}
	})
}

func TestIndentAfter(t *testing.T) {
	for _, c := range []struct {
		src  string
		want int
	}{
		{"x := 1", 0},
		{"f {", 1},
		{"f({", 1},
		{"f({\n\ta,\n})", 0},
		{"f {\n\tg {", 2},
		{"f {\n\tg {\n\t}", 1},
		{"f(a,", 1},
		{"} else {", 1},
		{"x := []T{\n\t{1,\n\t\t2},", 1},
		{"s := `{", 0},
		{"s := \"{\"", 0},
		{"// {", 0},
	} {
		if got := indentAfter(c.src); got != c.want {
			t.Errorf("indentAfter(%q) = %d, want %d", c.src, got, c.want)
		}
	}
}

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
		{"%timeit f(2)", "<builtin %><builtin timeit> f(<number 2>)", "<builtin %timeit> <call f>(<number 2>)"},
		{"!ls", "<builtin !><builtin ls>", "<builtin !>ls"},
		{"x?", "x<builtin ?>", "x?"},
		{"s := \"unfinished", "s := <string \"unfinished>", "s := \"unfinished"},
		{"`a\nb`", "<string `a\nb`>", "<string `a>\n<string b`>"},
		{"", "", ""},
	} {
		if got := tag(th.live(c.src, 0)); got != c.live {
			t.Errorf("typed: got %s, want %s", got, c.live)
		}
		if c.shown == "" {
			c.shown = c.live
		}
		if got := tag(th.code(c.src)); got != c.shown {
			t.Errorf("shown: got %s, want %s", got, c.shown)
		}
		if off := (theme{}); off.live(c.src, 0) != c.src || off.code(c.src) != c.src {
			t.Errorf("%q is changed without colours", c.src)
		}
	}
	if got, want := tag(th.live("s := `a\nb` + 1", 8)), "<string b`> + <number 1>"; got != want {
		t.Errorf("continuation: got %s, want %s", got, want)
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
			t.Skip("keyReader drops it")
		}
		if got := escapes.ReplaceAllString(th.live(src, 0), ""); got != src {
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

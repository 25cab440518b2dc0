package cell

import (
	"fmt"
	"go/scanner"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What a text is made of, where five scanners once had five opinions. Pieces are written kind[text]; a piece
// that ends in a written semicolon is quiet.
func TestSplit(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"", ""},
		{"x := 1\ny := 2", "statement[x := 1] statement[y := 2]"},
		{"x := 1; y", "statement[x := 1]quiet statement[y]"},
		{"x;", "statement[x]quiet"},
		{"x\n;", "statement[x]quiet"},
		{"import \"a\"\nx", `import[import "a"] statement[x]`},
		{"func f() {}\ntype T int\nconst c = 1\nvar v int", "declaration[func f() {}] declaration[type T int] declaration[const c = 1] statement[var v int]"},
		{"func() {}()", "statement[func() {}()]"},
		{"func (t T) M() {}", "declaration[func (t T) M() {}]"},
		{"func (t T) (U) { return t }", "statement[func (t T) (U) { return t }]"},
		{"func /* a */ f() {}", "declaration[func /* a */ f() {}]"},
		{"f(\n\ta,\n\tb)", "statement[f(\n\ta,\n\tb)]"},
		{"x\r\n\ty\r\n", "statement[x\r] statement[y\r]"},

		// Command lines.
		{"%time f()\nx\n%whos", "command[%time f()] statement[x] command[%whos]"},
		{"\t%whos \r\n", "command[%whos]"},
		{"!ls *.go", "command[!ls *.go]"},
		{"%bench a := f(1); b := f(2)\nx", "command[%bench a := f(1); b := f(2)] statement[x]"},
		{"!cd a; ls;\nx", "command[!cd a; ls;] statement[x]"},
		{"x?\ny.Add??", "command[x?] command[y.Add??]"},
		{`m["a"]?`, `command[m["a"]?]`},
		{"%%bench\na := 1\n%b\n", "command[%%bench\na := 1\n%b\n]"},
		{"\n %%bench\na", "command[\n %%bench\na]"},
		{"x\n%%bench\na", "statement[x] command[%%bench] statement[a]"},
		{"outer:\n%whos", "statement[outer:] command[%whos]"},
		{"%timeit f(\nx\n%whos", "command[%timeit f(] statement[x] command[%whos]"},
		{"!echo don't `\nx", "command[!echo don't `] statement[x]"},
		{"%save -f don't\nx", "command[%save -f don't] statement[x]"},

		// Lines that are none: a statement goes on there, or the mark is text.
		{"x := `\n%whos\n!ls\nx?\n// %%\n`\n%whos", "statement[x := `\n%whos\n!ls\nx?\n// %%\n`] command[%whos]"},
		{"/*\n%whos\nx?\n*/ y", "statement[y]"},
		{"/* a\n*/ %whos", "statement[%whos]"},
		{"f(\n%v)", "statement[f(\n%v)]"},
		{"x +\n%y", "statement[x +\n%y]"},
		{"x := 1 // right?", "statement[x := 1 // right?]"},
		{"x := 1 /* right */ ?", "statement[x := 1 /* right */ ?]"},
		{"// why?\nx", "statement[x]"},
		{"s := \"!ls\" + \"?\"", "statement[s := \"!ls\" + \"?\"]"},
		{"s := \"what?", "statement[s := \"what?]"},
		{"%bench a := f(1) ; b := f(2)\nx", "command[%bench a := f(1) ; b := f(2)] statement[x]"},
		{"x; %whos", "statement[x]quiet statement[%whos]"},
		{"r := '?'\nq := '\"'\nx", "statement[r := '?'] statement[q := '\"'] statement[x]"},
		{"// %% title\nx", "statement[x]"},
	} {
		if got := pieces(c.src, Split(c.src)); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.src, got, c.want)
		}
	}
}

func pieces(src string, list []Piece) string {
	var words []string
	for _, p := range list {
		text := fmt.Sprintf("%v[%s]", p.Kind, p.Text(src))
		if p.Quiet {
			text += "quiet"
		}
		words = append(words, text)
	}
	return strings.Join(words, " ")
}

func TestJoin(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"x := 1\ny := 2;", "statement[x := 1\ny := 2]quiet"},
		{"import \"a\"\nimport \"b\"", `import[import "a"] import[import "b"]`},
		{"func f() {}\ntype T int\nf()\n\ng()", "declaration[func f() {}\ntype T int] statement[f()\n\ng()]"},
		{"%a\n%b\nx\n%c\ny", "command[%a] command[%b] statement[x] command[%c] statement[y]"},
	} {
		if got := pieces(c.src, Join(Split(c.src))); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.src, got, c.want)
		}
	}
}

// The bar is where the fault is.
func TestCheck(t *testing.T) {
	for _, c := range []struct{ src, missing, message string }{
		{"x := 1", "", ""},
		{"", "", ""},
		{"func f() {\n}", "", ""},
		{"x++", "", ""},
		{"label:", "", ""},
		{"case 1:", "", ""},
		{"return", "", ""},
		{"a, b", "", ""},
		{"%timeit f(", "", ""},
		{"!echo \"", "", ""},
		{"!", "", ""},
		{"f()?", "", ""},
		{"x := 1\n%whos", "", ""},

		// A line that follows can help.
		{"func f() |{", "}", "missing }"},
		{"f(a[1], []int{2}|[", "]", "missing ]"},
		{"f(g|(1,", ")", "missing )"},
		{"x |:=", "an operand", "missing an operand"},
		{"a |+ // b", "an operand", ""},
		{"a|,", "an operand", ""},
		{"x|.", "a name", "missing a name"},
		{"|`raw", "`", "raw string literal not terminated"},
		{"x |/* open", "*/", "comment not terminated"},
		{"|/*", "*/", ""},
		{"%whos\nf|(", ")", ""},
		{"if x {\n} else |{", "}", ""},
		{"%%time\nf()|", "an empty line", "missing an empty line"},
		{"for i in range(3):|", "an empty line", "missing an empty line"},
		{"for i in range(3):  # three\n\tprint('i')|", "an empty line", "missing an empty line"},
		{"def f(x):\n\treturn {x|", "an empty line", "missing an empty line"},
		{"%%time\nf()\n", "", ""},

		// No line that follows can help.
		{"x := |\"open", "", "string literal not terminated"},
		{"fmt.Println(|\"hi)", "", "string literal not terminated"},
		{"fmt.Println(|'hi)\n", "", "rune literal not terminated"},
		{"|}", "", "unexpected }"},
		{"f(1|]", "", "unexpected ], want )"},
		{"func f() {\n\tg(|}\n", "", "unexpected }, want )"},
		{"f(1)|)", "", "unexpected )"},
	} {
		before, after, marked := strings.Cut(c.src, "|")
		src := before + after
		f, ok := Check(src)
		if ok == marked || f.Missing != c.missing || marked && f.At != len(before) || c.message != "" && f.Message != c.message {
			t.Errorf("%q: got %+v, %v", c.src, f, ok)
		}
		if Incomplete(src) != (c.missing != "") {
			t.Errorf("Incomplete(%q) = %v", src, Incomplete(src))
		}
	}
}

func TestParseCommand(t *testing.T) {
	for _, tt := range []struct {
		line, name, args string
		whole            bool
	}{
		{"%whos", "whos", "", false},
		{"  %timeit  -t 2s  f(x) ", "timeit", "-t 2s  f(x)", false},
		{"%%time\nf(x)\ng(x)", "time", "f(x)\ng(x)", true},
		{"%%time\r\nf(x)", "time", "f(x)", true},
		{"%%bench -n 3\na := 1", "bench", "-n 3\na := 1", true},
		{"!ls -l", "!", "ls -l", false},
		{"! ls", "!", " ls", false},
		{"x.Add?", "?", "x.Add", false},
		{"x??", "??", "x", false},
		{"%timeit?", "help", "timeit", false},
		{"%timeit??", "help", "timeit", false},
		{"%", "", "", false},
	} {
		name, args, whole := ParseCommand(tt.line)
		if name != tt.name || args != tt.args || whole != tt.whole {
			t.Errorf("ParseCommand(%q) = %q, %q, %v, want %q, %q, %v", tt.line, name, args, whole, tt.name, tt.args, tt.whole)
		}
	}
}

// The bar is the place that is asked about.
func TestWithin(t *testing.T) {
	for _, c := range []struct {
		src  string
		want token.Token // ILLEGAL: none
	}{
		{`x := |"a"`, token.ILLEGAL},
		{`x := "|a"`, token.STRING},
		{`x := "a|"`, token.STRING},
		{`x := "a"|`, token.ILLEGAL},
		{`x := "a|`, token.STRING},
		{`x := "\"|`, token.STRING},
		{`x := "\\"|`, token.ILLEGAL},
		{"x := `a\n|", token.STRING},
		{"x := `a\n`|", token.ILLEGAL},
		{"x := '|", token.CHAR},
		{"x // y|", token.COMMENT},
		{"x // y\n|", token.ILLEGAL},
		{"x /* y\n|", token.COMMENT},
		{"x /*/|", token.COMMENT},
		{"x /* y */|", token.ILLEGAL},
		{"!echo `\n|", token.ILLEGAL},
		{"|", token.ILLEGAL},
	} {
		head, tail, _ := strings.Cut(c.src, "|")
		src := head + tail
		got, _ := Within(src, Scan(src), len(head))
		if got.Tok != c.want {
			t.Errorf("%s: got %v, want %v", c.src, got.Tok, c.want)
		}
	}
}

func TestIndent(t *testing.T) {
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
		{"f {\n\ts := `\n", 0},
		{"f {\n\ts := `\n`", 1},
		{"s := \"{\"", 0},
		{"// {", 0},
		{"switch x {", 1},
		{"!awk '{\nx", 0},
		{"%timeit f(\nx", 0},
	} {
		if got := Indent(c.src); got != c.want {
			t.Errorf("after %q: got %d, want %d", c.src, got, c.want)
		}
	}
}

// The bar stands before the bracket that is asked about; its partner is marked in want.
func TestPartner(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"f|(a[1], b)", "f(a[1], b|)"},
		{"f(a[1], b|)", "f|(a[1], b)"},
		{"f(a|[(1)], b)", "f(a[(1)|], b)"},
		{"%timeit f|(a)", "%timeit f(a|)"},
		{"%timeit f|(a\nb)", "none"},
		{"x := |{", "none"},
		{"x := |(a]", "none"},
		{"|)", "none"},
		{"|f()", "no bracket"},
		{`"|("`, "no bracket"},
		{"", "no bracket"},
	} {
		head, tail, _ := strings.Cut(c.src, "|")
		src := head + tail
		at, bracket := Partner(Scan(src), len(head))
		got := "no bracket"
		switch {
		case bracket && at < 0:
			got = "none"
		case bracket:
			got = src[:at] + "|" + src[at:]
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.src, got, c.want)
		}
	}
}

// Of real Go the tokens are those of go/scanner.
func TestScanIsGo(t *testing.T) {
	files, err := filepath.Glob("../*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		list := Scan(string(src))
		file := token.NewFileSet().AddFile("", -1, len(src))
		var s scanner.Scanner
		s.Init(file, src, nil, scanner.ScanComments)
		for i := 0; ; i++ {
			pos, tok, lit := s.Scan()
			if tok == token.EOF {
				break
			}
			got := list[i]
			if got.Tok == LineEnd {
				got.Tok = token.SEMICOLON
			}
			if got.Tok != tok || got.From != file.Offset(pos) && tok != token.SEMICOLON || lit != "" && lit != "\n" && got.Text(string(src)) != lit {
				t.Fatalf("%s: token %d is %v %q, want %v %q", name, i, got.Tok, got.Text(string(src)), tok, lit)
			}
		}
	}
}

// Whatever the text is: tokens and blanks tile it, pieces are made of tokens and cover all that are no
// comments, a fault is inside, and the partner of a bracket's partner is the bracket.
func FuzzTokens(f *testing.F) {
	for _, seed := range []string{"x := `a\n// b", "'", "/*", "%timeit \"", "s := \"\\\n", "0x_.p", "\ufeffpackage", "日本 := 1", "\x800",
		"%a (\r\n\ufeff!b\r\nx??", "/* a\n*/ b /* c\n", "`\r\n`\r", "\"\\x", "a\n%%b\n", "%%b\n%c", "0\n\ufeff?", "\xfe\xff", "\xff\xfex"} {
		f.Add(seed, 3)
	}
	f.Fuzz(func(t *testing.T, src string, pos int) {
		list := Scan(src)
		last := 0
		for _, tok := range list {
			if tok.From < last || tok.To < tok.From || tok.To > len(src) || tok.Depth < 0 {
				t.Fatalf("token %v after byte %d of %d", tok, last, len(src))
			}
			blank(t, src, last, tok.From)
			last = tok.To
		}
		blank(t, src, last, len(src))
		last = 0
		n := 0
		for _, p := range Split(src) {
			if p.From < last || p.To < p.From || p.To > len(src) || len(p.Tokens) == 0 || p.Kind != Command && p.Tokens[0].From != p.From {
				t.Fatalf("piece %+v after byte %d of %d", p, last, len(src))
			}
			last = p.To
			n += len(p.Tokens)
		}
		for _, tok := range list {
			if tok.Tok != token.COMMENT && !tok.Ends() {
				n--
			}
		}
		if n < 0 {
			t.Errorf("%d tokens are in no piece", -n)
		}
		Join(Split(src))
		if fault, ok := Check(src); fault.At < 0 || fault.At > len(src) || ok != (fault.Message == "") {
			t.Errorf("fault %+v, %v", fault, ok)
		}
		pos = min(max(pos, 0), len(src))
		Within(src, list, pos)
		if at, _ := Partner(list, pos); at >= 0 {
			if back, _ := Partner(list, at); back != pos {
				t.Errorf("the partner of byte %d is at %d, whose partner is at %d", pos, at, back)
			}
		}
		Indent(src)
	})
}

func blank(t *testing.T, src string, from, to int) {
	if text := src[from:to]; strings.Trim(text, " \t\r\n") != "" && !(from == 0 && strings.HasPrefix(text, "\ufeff")) {
		t.Fatalf("%q is in no token", text)
	}
}

// Tokens that are kept up to date are the tokens, whatever is changed.
func FuzzUpdate(f *testing.F) {
	f.Add("x := 1\ny := f(x) // z\nfor {\n\tg()\n}\n", 8, 3, "`")
	f.Add("s := `a\nb`\nx\n\n/* c\n*/ d\n", 5, 1, "")
	f.Add("a\n\"b\nc\n", 2, 1, "x")
	f.Add("x // y\nz\n", 2, 0, "/*")
	f.Add("x\n%whos\n(y\n%z)\n", 0, 0, "(")
	f.Add("%a\n%b\nx\n", 1, 0, "%")
	f.Add("x\n\ufeffy\r\nz", 1, 1, "\r\n")
	f.Fuzz(func(t *testing.T, old string, at, cut int, text string) {
		at = min(max(at, 0), len(old))
		cut = min(max(cut, 0), len(old)-at)
		src := old[:at] + text + old[at+cut:]
		want := Scan(src)
		if got := Update(Scan(old), old, src); !slices.Equal(got, want) {
			t.Errorf("%q to %q: got %v, want %v", old, src, got, want)
		}
	})
}

// The same for many changes one after the other of a text that is long.
func TestUpdate(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"x", "\n", "`", "\"", "//", "/*", "*/", "{", "}", " ", "1", "\n\t", "'", "\n%", "?\n", "!"}
	src := strings.Repeat("for i := range 10 {\n\tf(i, `raw\nstring`) // comment\n}\n%time x\n", 20)
	list := Scan(src)
	for range 2000 {
		at := r.IntN(len(src) + 1)
		cut := min(r.IntN(3), len(src)-at)
		next := src[:at] + words[r.IntN(len(words))] + src[at+cut:]
		list = Update(list, src, next)
		if src = next; !slices.Equal(list, Scan(src)) {
			t.Fatalf("after a change at %d the tokens of %q are wrong", at, src)
		}
	}
}

package syntax

import (
	"go/token"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

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
	} {
		if got := Indent(c.src); got != c.want {
			t.Errorf("after %q: got %d, want %d", c.src, got, c.want)
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
		{"|", token.ILLEGAL},
	} {
		head, tail, _ := strings.Cut(c.src, "|")
		got, _ := Within(Tokens(head+tail), len(head))
		if got.Tok != c.want {
			t.Errorf("%s: got %v, want %v", c.src, got.Tok, c.want)
		}
	}
}

// The bar stands before the bracket that is asked about; its partner is marked in want.
func TestPartner(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"f|(a[1], b)", "f(a[1], b|)"},
		{"f(a[1], b|)", "f|(a[1], b)"},
		{"f(a|[(1)], b)", "f(a[(1)|], b)"},
		{"x := |{", "none"},
		{"x := |(a]", "none"},
		{"|)", "none"},
		{"|f()", "no bracket"},
		{`"|("`, "no bracket"},
		{"", "no bracket"},
	} {
		head, tail, _ := strings.Cut(c.src, "|")
		src := head + tail
		at, bracket := Partner(Tokens(src), len(head))
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

// Tokens cover the text in order, whatever it is.
func FuzzTokens(f *testing.F) {
	for _, seed := range []string{"x := `a\n// b", "'", "/*", "%timeit \"", "s := \"\\\n", "0x_.p", "\ufeffpackage", "日本 := 1"} {
		f.Add(seed, 3)
	}
	f.Fuzz(func(t *testing.T, src string, pos int) {
		if strings.Contains(src, "\r") {
			t.Skip("cells have none")
		}
		list := Tokens(src)
		last := 0
		for _, tok := range list {
			if tok.From < last || tok.To < tok.From || tok.To > len(src) {
				t.Fatalf("token %v after byte %d of %d", tok, last, len(src))
			}
			if tok.Tok != token.SEMICOLON { // one that stands for a line break covers what follows, a comment
				last = tok.To
			}
		}
		pos = min(max(pos, 0), len(src))
		Within(list, pos)
		if at, _ := Partner(list, pos); at >= 0 {
			if back, _ := Partner(list, at); back != pos {
				t.Errorf("the partner of byte %d is at %d, whose partner is at %d", pos, at, back)
			}
		}
		Indent(src)
	})
}

// Tokens that are kept up to date are the tokens, whatever is changed.
func FuzzUpdate(f *testing.F) {
	f.Add("x := 1\ny := f(x) // z\nfor {\n\tg()\n}\n", 8, 3, "`")
	f.Add("s := `a\nb`\nx\n\n/* c\n*/ d\n", 5, 1, "")
	f.Add("a\n\"b\nc\n", 2, 1, "x")
	f.Add("x // y\nz\n", 2, 0, "/*")
	f.Fuzz(func(t *testing.T, old string, at, cut int, text string) {
		if strings.ContainsAny(old+text, "\r\ufeff") {
			t.Skip("cells have none")
		}
		at = min(max(at, 0), len(old))
		cut = min(max(cut, 0), len(old)-at)
		src := old[:at] + text + old[at+cut:]
		want := Tokens(src)
		if got := Update(Tokens(old), old, src); !slices.Equal(got, want) {
			t.Errorf("%q to %q: got %v, want %v", old, src, got, want)
		}
	})
}

// The same for many changes one after the other of a text that is long.
func TestUpdate(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"x", "\n", "`", "\"", "//", "/*", "*/", "{", "}", " ", "1", "\n\t", "'"}
	src := strings.Repeat("for i := range 10 {\n\tf(i, `raw\nstring`) // comment\n}\n", 20)
	list := Tokens(src)
	for range 2000 {
		at := r.IntN(len(src) + 1)
		cut := min(r.IntN(3), len(src)-at)
		next := src[:at] + pieces[r.IntN(len(pieces))] + src[at+cut:]
		list = Update(list, src, next)
		if src = next; !slices.Equal(list, Tokens(src)) {
			t.Fatalf("after a change at %d the tokens of %q are wrong", at, src)
		}
	}
}

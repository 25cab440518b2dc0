package syntax

import (
	"go/token"
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

package tokenizer

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func words(t *testing.T, pattern, text string) []string {
	t.Helper()
	p, err := compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	findPattern(p)(text, func(start, end int) { list = append(list, text[start:end]) })
	return list
}

// Where package regexp has the construct, a pattern matches as its Perl-like matcher does.
func TestPatternsAgreeWithRegexp(t *testing.T) {
	texts := []string{"", "a", "aaab abab ba", "it's 12345 — naïve\n\tx_y", "aXbxA.B-c]d{2}", "Ω≈ç√ 東京 12", "a\n\nb  c"}
	for _, pattern := range []string{
		"a+b?", "(?:ab)+", "a|ab|b", "(?:a|ab)(?:c|bab)?", "[^a-c\\s]+", "[a\\]b-]+", `\p{L}+\p{N}*`, `\P{L}`, `[\p{L}\d_]{2,3}`, "a{2}", "a{1,}b", "(?:a*b)*",
		"x?y??_", "a*?b", "(?:ab){2,3}?", `\x{3a9}|\x61`, "(?i:AX|b)", "^a|c$", ".b", "a{,2}", "[^]a]+",
	} {
		for _, text := range texts {
			var want []string
			for _, w := range regexp.MustCompile(pattern).FindAllString(text, -1) {
				if w != "" {
					want = append(want, w)
				}
			}
			if got := words(t, pattern, text); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s in %q: got %q, want %q", pattern, text, got, want)
			}
		}
	}
}

// What regexp lacks: looking ahead, and repeats that give nothing back.
func TestPatternsAhead(t *testing.T) {
	for _, test := range []struct{ pattern, text, want string }{
		{`\s+(?!\S)|\s+`, "a   b  ", "[  | |  ]"},
		{`a(?=b)`, "abac", "[a]"},
		{`a++b|a`, "aab", "[aab]"},
		{`a++ab`, "aab", "[]"},
		{`(?>a|ab)c|ab`, "abc", "[ab]"},
		{`(?i:'s|'ll)`, "It'S we'Ll 'ſ", "['S|'Ll|'ſ]"},
		{`\s*[\r\n]+|\s+`, " \n x", "[ \n| ]"},
	} {
		if got := "[" + strings.Join(words(t, test.pattern, test.text), "|") + "]"; got != test.want {
			t.Errorf("%s in %q: got %q, want %q", test.pattern, test.text, got, test.want)
		}
	}
}

func TestPatternsRefuse(t *testing.T) {
	for _, pattern := range []string{
		"(", "(a", "[a", "a)", "*a", "a**b(", `\`, `\p{Nope}`, `\p{L`, `(?<=a)b`, `(?<n>a)`, `\1`, `\b`, `[b-a]`, `[a&&b]`, "a{1001}", "a{3,2}", strings.Repeat("(?:", 200),
		"(?:(?:(?:a{900}){900}){900})", `\x{zz}`, `\u12`, "[[:nope:]]",
	} {
		if _, err := compile(pattern); err == nil {
			t.Errorf("%s: no error", brief(pattern, 40))
		}
	}
}

// A pattern that would try exponentially many ways ends all the same.
func TestPatternsEnd(t *testing.T) {
	words(t, "(?:a*)*b", strings.Repeat("a", 2000))
	words(t, "(?:a|a)*c", strings.Repeat("a", 300))
}

func FuzzPattern(f *testing.F) {
	f.Add(Llama4, "a b")
	f.Add(`(?i:a+)*(?!b)[^\s]{1,3}+`, "aab")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		p, err := compile(pattern)
		if err != nil {
			return
		}
		last := 0
		findPattern(p)(text, func(start, end int) {
			if start < last || end <= start || end > len(text) {
				t.Fatalf("%q in %q: match %d…%d after %d", pattern, text, start, end, last)
			}
			last = end
		})
	})
}

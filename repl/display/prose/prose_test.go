package prose

import (
	"fmt"
	"testing"

	"github.com/mcs-notebook/mcs/repl/display"
)

// marks is a style that can be read.
func marks(role display.Role, text string) string {
	return fmt.Sprintf("<%s %s>", map[display.Role]string{display.Strong: "b", display.Emphasis: "i", display.Name: "c", display.Link: "a", display.Dim: "d", display.Code: "go", display.Heading: "h"}[role], text)
}

// TestSet: what the elements of CommonMark's quick reference (commonmark.org/help) and GitHub's tables
// become.
func TestSet(t *testing.T) {
	for _, c := range []struct {
		name, text  string
		width       int
		plain, want string // want "": plain
	}{
		{"headings", "# Sums\n\n## of rows\n### small", 40, "Sums\n════\n\nof rows\n───────\n\nsmall", "<b Sums>\n<d ════>\n\n<b of rows>\n<d ───────>\n\n<b small>"},
		{"a paragraph is filled", "one two\nthree four five", 13, "one two three\nfour five", ""},
		{"a hard break", "one  \ntwo\\\nthree", 40, "one\ntwo\nthree", ""},
		{"emphasis and code", "**b c** *i* `x + y` ~~no~~", 40, "**b c** *i* `x + y` ~~no~~", "<b b c> <i i> <c x + y> <d no>"},
		{"stressed words break", "a **bold word** b", 8, "a **bold\nword** b", "a <b bold>\n<b word> b"},
		{"escapes and entities", `\*x\* &amp; &#8594; 2 < 3`, 40, "*x* & → 2 < 3", ""},
		{"a link", "see [the guide](https://x.org/a) now", 60, "see the guide (https://x.org/a) now", "see <a the guide> <d (https://x.org/a)> now"},
		{"an address", "https://x.org/a or <https://x.org/b>", 60, "https://x.org/a or https://x.org/b", "<a https://x.org/a> or <a https://x.org/b>"},
		{"a picture", "![a curve](a.png)", 60, "[picture: a curve]", ""},
		{"a list", "- one two three\n- b\n  1. x\n  2. y", 11, "• one two\n  three\n• b\n  1. x\n  2. y", "<d • >one two\n  three\n<d • >b\n  <d 1. >x\n  <d 2. >y"},
		{"a loose list", "3) a\n\n4) b", 11, "3) a\n\n4) b", "<d 3) >a\n\n<d 4) >b"},
		{"tasks", "- [ ] a\n- [x] b", 11, "• [ ] a\n• [x] b", "<d • >[ ] a\n<d • >[x] b"},
		{"a quotation", "> one two\n> three\n>\n> four", 15, "│ one two three\n│\n│ four", "<d │ >one two three\n<d │ >\n<d │ >four"},
		{"source", "```go\nx :=\t1\n\ny\n```\n\n```\n$ ls\n```", 40, "    x :=    1\n\n    y\n\n    $ ls", "    <go x :=    1\n\n    y>\n\n    $ ls"},
		{"a table", "| a | n |\n|---|--:|\n| `x` b | 10 |\n| y | 2 |", 40, "a     n\nx b  10\ny     2", "<h a>     <h n>\n< x b>  < 10>\n< y>     < 2>"},
		{"a rule", "a\n\n---\n\nb", 5, "a\n\n─────\n\nb", "a\n\n<d ─────>\n\nb"},
		{"HTML is left out", "<div>x</div>\n\na <b>c</b>", 40, "a c", ""},
		{"a long word stays whole", "abcdefghij k", 5, "abcdefghij\nk", ""},
		{"wide letters", "größe 日本語 x", 12, "größe 日本語\nx", ""},
		{"nothing", "", 40, "", ""},
		{"control characters are seen", "a\x1b[2J &#27;b", 40, `a\x1b[2J \x1bb`, ""},
	} {
		if c.want == "" {
			c.want = c.plain
		}
		if got := Set(c.text, c.width, nil); got != c.plain {
			t.Errorf("%s, plain: got\n%s\nwant\n%s", c.name, got, c.plain)
		}
		if got := Set(c.text, c.width, marks); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

package visible

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"plain", "a\tb\nc", "a\tb\nc"},
		{"other scripts", "größer 日本 👨‍👩‍👧 e\u0301 a\u00a0b", "größer 日本 👨‍👩‍👧 e\u0301 a\u00a0b"},
		{"a window's title", "\x1b]0;owned\x07", `\x1b]0;owned\a`},
		{"colours", "\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"the 8-bit escapes", "\u009b2J", `\u009b2J`},
		{"a line that is written over", "ok\rno", `ok\rno`},
		{"line breaks of Windows", "a\r\nb", "a\nb"},
		{"backspaces", "rm\b\bls", `rm\b\bls`},
		{"text from right to left", "a\u202eb", `a\u202eb`},
		{"a mark of a byte order", "\ufeffa", `\ufeffa`},
		{"other line breaks", "a\u2028b\vc\fd", `a\u2028b\vc\fd`},
		{"no UTF-8", "a\xff\xc3", `a\xff\xc3`},
		{"delete and zero", "a\x7f\x00", `a\x7f\x00`},
	} {
		if got := Text(test.text); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestLine(t *testing.T) {
	if got, want := Line("a\nb\tc\x1b"), `a\nb\tc\x1b`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStyled(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"colours of the theme", "\x1b[1;31mred\x1b[0m \x1b[90mgrey\x1b[0m", "\x1b[1;31mred\x1b[0m \x1b[90mgrey\x1b[0m"},
		{"colours of a plot", "\x1b[38;5;202m⠤\x1b[0m", "\x1b[38;5;202m⠤\x1b[0m"},
		{"other fixed colours may be those of the ground", "\x1b[38;5;16mx", `\x1b[38;5;16mx`},
		{"hidden text", "\x1b[8mhidden\x1b[0m", `\x1b[8mhidden` + "\x1b[0m"},
		{"blinking", "\x1b[1;5mx", `\x1b[1;5mx`},
		{"a cleared screen", "\x1b[2J\x1b[2m", `\x1b[2J` + "\x1b[2m"},
		{"half of one", "\x1b[", `\x1b[`},
	} {
		if got := Styled(test.text); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// FuzzText: nothing that a terminal obeys is left, and text that is fit stays as it is.
func FuzzText(f *testing.F) {
	f.Add("a\x1b[2Jb\r\nc\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := Text(s)
		if !utf8.ValidString(got) || Text(got) != got {
			t.Errorf("%q: got %q, which is not fit", s, got)
		}
		for _, r := range got {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
				t.Errorf("%q: got %q with %q", s, got, r)
			}
		}
		if line := Line(s); strings.ContainsAny(line, "\n\t") {
			t.Errorf("%q: got %q, want one line", s, line)
		}
		Styled(s)
	})
}

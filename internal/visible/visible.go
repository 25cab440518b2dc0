// Package visible makes text safe for a terminal: characters that would move the cursor, change the
// window's title or hide other text become escapes of Go. Names, errors and sources come from files, and
// the author of a file must not control the terminal. Output of the person's own program is not changed.
package visible

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/internal/lazy"
)

// Text returns s with all characters escaped except letters, marks, signs, spaces, tabs and line breaks:
// "\x1b", "\u202e", "\xff". The line break of Windows becomes a plain one.
func Text(s string) string {
	if plain(s) {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || !shows(r) {
			quoted := strconv.Quote(s[i : i+n])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// Line is Text on one line: line breaks and tabs are escaped, too.
func Line(s string) string { return breaks.Replace(Text(s)) }

// Clip cuts what a file says to a length that a person reads.
func Clip(s string) string {
	const limit = 300
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

var breaks = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// colours are the escape sequences with which mcs colours text: bright, dim, underlined, swapped, and the
// foregrounds of a terminal's theme; and alone, the fixed ones of a plot's series, which read on any ground.
var colours = lazy.Regexp("\x1b\\[(?:(?:0|1|2|4|7|3[1-6]|90)(?:;(?:0|1|2|4|7|3[1-6]|90))*|38;5;(?:27|65|163|202))?m")

// Styled is Text that leaves colours as they are.
func Styled(s string) string {
	if strings.IndexByte(s, 0x1b) < 0 {
		return Text(s)
	}
	var b strings.Builder
	at := 0
	for _, m := range colours().FindAllStringIndex(s, -1) {
		b.WriteString(Text(s[at:m[0]]))
		b.WriteString(s[m[0]:m[1]])
		at = m[1]
	}
	b.WriteString(Text(s[at:]))
	return b.String()
}

// plain says whether nothing in s needs a closer look, as in nearly all text.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\n' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return true
}

// shows says whether a terminal shows a rune and does nothing else. The two joiners belong to scripts and
// emoji.
func shows(r rune) bool {
	return r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d' || unicode.IsGraphic(r)
}

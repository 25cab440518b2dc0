package edit

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/mattn/go-runewidth"
)

// next is the place behind the character at pos.
func (b *Buffer) next(pos int) int { return pos + clusterLen(b.text[pos:]) }

// previous is the place of the character before pos.
func (b *Buffer) previous(pos int) int {
	if pos == 0 {
		return 0
	}
	if pos == 1 || b.text[pos-1] < utf8.RuneSelf {
		return pos - 1
	}
	start := strings.LastIndexByte(b.text[:pos-1], '\n') + 1
	for at := start; ; {
		n := b.next(at)
		if n >= pos {
			return at
		}
		at = n
	}
}

func (b *Buffer) lineStart() int { return strings.LastIndexByte(b.text[:b.pos], '\n') + 1 }

func (b *Buffer) lineEnd() int {
	if i := strings.IndexByte(b.text[b.pos:], '\n'); i >= 0 {
		return b.pos + i
	}
	return len(b.text)
}

// AtEnd says whether nothing but blanks follows the cursor.
func (b *Buffer) AtEnd() bool { return strings.TrimSpace(b.text[b.pos:]) == "" }

// Left moves by a character; at the start of a line to the end of the one above.
func (b *Buffer) Left() { b.Place(b.previous(b.pos)) }

// Right moves by a character; at the end of a line to the start of the one below.
func (b *Buffer) Right() {
	if b.pos < len(b.text) {
		b.Place(b.next(b.pos))
	}
}

// Home moves to the first character of the line that is not blank, and from there to the start of the line.
func (b *Buffer) Home() {
	start := b.lineStart()
	first := start + indentLen(b.text[start:])
	if b.pos == first {
		first = start
	}
	b.Place(first)
}

// End moves to the end of the line.
func (b *Buffer) End() { b.Place(b.lineEnd()) }

// Start and Finish move to the start and the end of the text.
func (b *Buffer) Start()  { b.Place(0) }
func (b *Buffer) Finish() { b.Place(len(b.text)) }

// indentLen is how many blanks s begins with.
func indentLen(s string) int { return len(s) - len(strings.TrimLeft(s, " \t")) }

// Up and Down move to the line above or below and keep the column, as far as lines are long enough. They
// return false if there is no such line.
func (b *Buffer) Up() bool {
	start := b.lineStart()
	if start == 0 {
		return false
	}
	b.vertically(strings.LastIndexByte(b.text[:start-1], '\n') + 1)
	return true
}

func (b *Buffer) Down() bool {
	end := b.lineEnd()
	if end == len(b.text) {
		return false
	}
	b.vertically(end + 1)
	return true
}

// vertically moves to the goal column of the line that starts at to.
func (b *Buffer) vertically(to int) {
	if b.begin(vertical); b.before != vertical {
		b.goal = Columns(b.text[b.lineStart():b.pos])
	}
	line, _, _ := strings.Cut(b.text[to:], "\n")
	column, at := 0, 0
	for at < len(line) {
		n := clusterLen(line[at:])
		w := advance(column, line[at:at+n])
		if 2*(b.goal-column) <= w && column+w > b.goal { // the nearer side of a wide character or tab
			break
		}
		column, at = column+w, at+n
	}
	b.place(to + at)
}

// TabColumns is how wide a step of indentation looks.
const TabColumns = 4

// advance is how many columns a character takes at a column.
func advance(column int, cluster string) int {
	if cluster == "\t" {
		return TabColumns - column%TabColumns
	}
	return ClusterColumns(cluster)
}

// ClusterColumns returns the number of columns of a character on the screen: 2 for most characters from
// East Asia and emoji. A character that a screen cannot show takes one column, for a sign in its place.
func ClusterColumns(cluster string) int {
	if len(cluster) == 1 {
		return 1
	}
	return max(runewidth.StringWidth(cluster), 1)
}

// Columns returns the number of columns of a line, with tabs as indentation.
func Columns(line string) int {
	column := 0
	for clusters := graphemes.FromString(line); clusters.Next(); {
		column += advance(column, clusters.Value())
	}
	return column
}

func wordRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// wordRight is the end of the word at or behind the cursor.
func (b *Buffer) wordRight() int {
	pos := b.pos
	for _, in := range []bool{false, true} {
		for pos < len(b.text) {
			r, n := utf8.DecodeRuneInString(b.text[pos:])
			if wordRune(r) != in {
				break
			}
			pos += n
		}
	}
	return pos
}

// back is the start of the stretch before the cursor that begins after a rune that is not in it; other runes
// between it and the cursor are part of it.
func (b *Buffer) back(in func(r rune) bool) int {
	pos := b.pos
	for _, want := range []bool{false, true} {
		for pos > 0 {
			r, n := utf8.DecodeLastRuneInString(b.text[:pos])
			if in(r) != want {
				break
			}
			pos -= n
		}
	}
	return pos
}

// WordLeft moves to the start of the word at or before the cursor, WordRight to the end of the word at or
// behind it.
func (b *Buffer) WordLeft()  { b.Place(b.back(wordRune)) }
func (b *Buffer) WordRight() { b.Place(b.wordRight()) }

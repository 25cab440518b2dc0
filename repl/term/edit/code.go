package edit

import (
	"go/token"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
)

// TypeRune types a rune. A closing bracket, or the colon of a case, that is first in its line takes the line
// back to where gofmt would have it.
func (b *Buffer) TypeRune(r rune) {
	b.Type(string(r))
	switch r {
	case ')', ']', '}':
		b.outdentBracket()
	case ':':
		b.outdentCase()
	}
}

func (b *Buffer) outdentBracket() {
	start := b.lineStart()
	if strings.Trim(b.text[start:b.pos-1], " \t") == "" && !b.literal(b.pos-1) {
		b.indentTo(start, cell.Indent(b.text[:b.pos]))
	}
}

func (b *Buffer) outdentCase() {
	start := b.lineStart()
	line := b.text[start:b.pos]
	words := cell.Scan(line)
	if len(words) == 0 || words[0].Tok != token.CASE && (words[0].Tok != token.DEFAULT || len(words) > 2) || b.literal(b.pos-1) {
		return
	}
	if start > 0 {
		b.indentTo(start, max(cell.Indent(b.text[:start-1])-1, 0))
	}
}

// indentTo takes blanks from the start of a line until it is no deeper than that many steps.
func (b *Buffer) indentTo(start, steps int) {
	blanks := indentLen(b.text[start:])
	if Columns(b.text[start:start+blanks]) <= steps*TabColumns {
		return
	}
	after := b.pos - start - blanks
	indent := strings.Repeat("\t", steps)
	b.replace(start, start+blanks, indent)
	b.place(start + len(indent) + after)
}

// NewLine starts another line, indented as gofmt would; between a pair of brackets it makes room for one.
func (b *Buffer) NewLine() {
	b.begin(other)
	if b.literal(b.pos) {
		b.replace(b.pos, b.pos, "\n")
		return
	}
	head, rest := b.text[:b.pos], b.text[b.pos:b.lineEnd()]
	blanks := indentLen(rest)
	rest = rest[blanks:]
	text := "\n" + strings.Repeat("\t", cell.Indent(head))
	at := len(text)
	if rest != "" && strings.IndexByte(")]}", rest[0]) >= 0 {
		closing := "\n" + strings.Repeat("\t", cell.Indent(head+"\n"+rest[:1]))
		if opens(head) {
			text += closing
		} else {
			text, at = closing, len(closing)
		}
	}
	from := b.pos
	if rest == "" && b.InIndent() { // a line of blanks is left without them
		from = b.lineStart()
	}
	b.replace(from, len(head)+blanks, text)
	b.place(from + at)
}

// opens says whether a line ends in an open bracket.
func opens(head string) bool {
	head = strings.TrimRight(head, " \t")
	return head != "" && strings.IndexByte("([{", head[len(head)-1]) >= 0
}

// literal says whether a place is inside of a string or comment.
func (b *Buffer) literal(pos int) bool {
	_, ok := cell.Within(b.text, cell.Scan(b.text), pos)
	return ok
}

// InIndent says whether only blanks stand between the start of the line and the cursor.
func (b *Buffer) InIndent() bool { return strings.Trim(b.text[b.lineStart():b.pos], " \t") == "" }

// InRaw says whether the cursor is inside of a raw string, where a tab is data.
func (b *Buffer) InRaw() bool {
	t, ok := cell.Within(b.text, cell.Scan(b.text), b.pos)
	return ok && t.Raw(b.text)
}

// Backspace deletes the character before the cursor, a step of indentation at once; at the start of a line it
// joins the line with the one above.
func (b *Buffer) Backspace() {
	b.begin(other)
	if b.pos == 0 {
		return
	}
	from := b.previous(b.pos)
	if start := b.lineStart(); b.InIndent() && b.text[b.pos-1] == ' ' {
		step := (Columns(b.text[start:b.pos]) - 1) / TabColumns * TabColumns
		for from > start && b.text[from-1] == ' ' && Columns(b.text[start:from]) > step {
			from--
		}
	}
	b.replace(from, b.pos, "")
}

// Outdent takes a step of indentation from the cursor's line.
func (b *Buffer) Outdent() {
	b.begin(other)
	start := b.lineStart()
	blanks := b.text[start : start+indentLen(b.text[start:])]
	if blanks == "" {
		return
	}
	cut := 1
	for cut < len(blanks) && blanks[0] == ' ' && blanks[cut] == ' ' && cut < TabColumns {
		cut++
	}
	pos := b.pos
	b.replace(start, start+cut, "")
	b.place(max(pos-cut, start))
}

package edit

import "unicode"

// A ring holds the texts that were cut, the newest last.
type ring struct {
	texts []string
	at    int // index of the text that was pasted
	from  int // where it was put
}

const ringSize = 32

// kill cuts the bytes from…to. Cuts in a row become one text.
func (b *Buffer) kill(from, to int) {
	b.begin(killing)
	if from == to {
		if b.before != killing { // nothing was cut: the next cut is a text of its own
			b.action = other
		}
		return
	}
	cut := b.text[from:to]
	n := len(b.kills.texts)
	switch {
	case b.before != killing || n == 0:
		b.kills.texts = append(b.kills.texts, cut)
		b.kills.texts = b.kills.texts[max(0, len(b.kills.texts)-ringSize):]
	case to == b.pos && from < b.pos:
		b.kills.texts[n-1] = cut + b.kills.texts[n-1]
	default:
		b.kills.texts[n-1] += cut
	}
	b.replace(from, to, "")
}

// KillLine cuts to the end of the line; at its end the line break.
func (b *Buffer) KillLine() {
	to := b.lineEnd()
	if to == b.pos && to < len(b.text) {
		to++
	}
	b.kill(b.pos, to)
}

// KillBefore cuts from the start of the line to the cursor; at its start the line break.
func (b *Buffer) KillBefore() {
	from := b.lineStart()
	if from == b.pos && from > 0 {
		from--
	}
	b.kill(from, b.pos)
}

// KillBlank cuts back to the blank before the cursor's word, KillWordLeft to the start of the name at or
// before the cursor, KillWordRight to the end of the name at or behind it.
func (b *Buffer) KillBlank()     { b.kill(b.back(func(r rune) bool { return !unicode.IsSpace(r) }), b.pos) }
func (b *Buffer) KillWordLeft()  { b.kill(b.back(wordRune), b.pos) }
func (b *Buffer) KillWordRight() { b.kill(b.pos, b.wordRight()) }

// Yank inserts the newest cut text.
func (b *Buffer) Yank() {
	n := len(b.kills.texts)
	if n == 0 {
		b.begin(other)
		return
	}
	b.begin(yanking)
	b.kills.at, b.kills.from = n-1, b.pos
	b.replace(b.pos, b.pos, b.kills.texts[n-1])
}

// YankPop replaces the text that was just inserted by the one cut before it.
func (b *Buffer) YankPop() {
	if b.action != yanking {
		return
	}
	b.begin(yanking)
	n := len(b.kills.texts)
	b.kills.at = (b.kills.at + n - 1) % n
	b.replace(b.kills.from, b.pos, b.kills.texts[b.kills.at])
}

// Package edit is the text of a cell while it is typed: a [Buffer] with a cursor, and the operations of
// keys.
//
// It does no input or output and knows no screen. The session gets the text unchanged, with tabs as
// indentation. The cursor is a byte offset that is never inside of one visible character. Every change
// goes through replace, which records it for undo. Files: buffer.go (text, cursor, undo), move.go
// (motions), kill.go (cutting and pasting), code.go (operations for Go text).
package edit

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// A Buffer is a text that is being edited. Its zero value is empty and ready.
type Buffer struct {
	text string
	pos  int

	undo, redo []change
	undoBytes  int // that undo holds
	action     action
	before     action // the action of the key before
	goal       int    // the column that Up and Down aim at
	kills      ring
}

// An action is the kind of the newest operation, for operations that continue the one before.
type action int

const (
	other action = iota
	typing
	killing
	yanking
	vertical
)

// A change replaced old by new at byte at; the cursor was at pos before.
type change struct {
	at       int
	old, new string
	pos      int
}

// undoLimit is how many bytes of text the undo history may hold.
const undoLimit = 16 << 20

// Text returns the whole text.
func (b *Buffer) Text() string { return b.text }

// Pos returns the cursor, as a byte offset.
func (b *Buffer) Pos() int { return b.pos }

// Set replaces the whole text and forgets the changes to undo; the cut texts stay.
func (b *Buffer) Set(text string, pos int) {
	*b = Buffer{text: strings.ReplaceAll(text, "\r", ""), kills: b.kills}
	b.place(pos)
}

// Place moves the cursor to a byte of the text, or to the next character if that byte is inside of one.
func (b *Buffer) Place(pos int) {
	b.begin(other)
	b.place(pos)
}

func (b *Buffer) begin(a action) { b.before, b.action = b.action, a }

func (b *Buffer) place(pos int) {
	pos = min(max(pos, 0), len(b.text))
	for pos < len(b.text) && !utf8.RuneStart(b.text[pos]) {
		pos++
	}
	b.pos = pos
	if pos == 0 || pos == len(b.text) || b.text[pos] < utf8.RuneSelf { // no character joins with the one before it
		return
	}
	start := strings.LastIndexByte(b.text[:pos], '\n') + 1
	for at := start; at < pos; {
		at += clusterLen(b.text[at:])
		b.pos = max(pos, at)
	}
}

// replace makes every change of the text. The cursor goes behind the new text.
func (b *Buffer) replace(from, to int, text string) {
	if from == to && text == "" {
		return
	}
	c := change{from, b.text[from:to], text, b.pos}
	if !b.merge(c) {
		b.undo = append(b.undo, c)
	}
	b.redo = nil
	b.undoBytes += len(c.old) + len(c.new)
	for b.undoBytes > undoLimit && len(b.undo) > 1 {
		b.undoBytes -= len(b.undo[0].old) + len(b.undo[0].new)
		b.undo = b.undo[1:]
	}
	b.text = b.text[:from] + text + b.text[to:]
	b.place(from + len(text))
}

// merge adds a change to the one before, so that text typed in a row is undone word by word.
func (b *Buffer) merge(c change) bool {
	n := len(b.undo)
	if n == 0 || b.action != typing || b.before != typing || c.old != "" || c.new == "\n" {
		return false
	}
	last := &b.undo[n-1]
	if last.old != "" || last.at+len(last.new) != c.at || strings.HasSuffix(last.new, " ") && c.new != " " {
		return false
	}
	last.new += c.new
	return true
}

// Undo takes back the newest change. It returns false if there is none.
func (b *Buffer) Undo() bool {
	b.begin(other)
	n := len(b.undo)
	if n == 0 {
		return false
	}
	c := b.undo[n-1]
	b.undo, b.redo = b.undo[:n-1], append(b.redo, c)
	b.undoBytes -= len(c.old) + len(c.new)
	b.text = b.text[:c.at] + c.old + b.text[c.at+len(c.new):]
	b.place(c.pos)
	return true
}

// Redo makes the newest undone change again. It returns false if there is none.
func (b *Buffer) Redo() bool {
	b.begin(other)
	n := len(b.redo)
	if n == 0 {
		return false
	}
	c := b.redo[n-1]
	b.redo, b.undo = b.redo[:n-1], append(b.undo, c)
	b.undoBytes += len(c.old) + len(c.new)
	b.text = b.text[:c.at] + c.new + b.text[c.at+len(c.old):]
	b.place(c.at + len(c.new))
	return true
}

// Type inserts the text of a key.
func (b *Buffer) Type(s string) {
	b.begin(typing)
	b.replace(b.pos, b.pos, s)
}

// Insert inserts a text in one step.
func (b *Buffer) Insert(text string) {
	b.begin(other)
	b.replace(b.pos, b.pos, text)
}

// Replace replaces the bytes from…to in one step.
func (b *Buffer) Replace(from, to int, text string) {
	b.begin(other)
	b.replace(from, to, text)
}

// DeleteRight deletes the character at the cursor; at the end of a line the lines become one.
func (b *Buffer) DeleteRight() {
	b.begin(other)
	if b.pos < len(b.text) {
		pos := b.pos
		b.replace(pos, b.next(pos), "")
	}
}

// Transpose exchanges the characters before and at the cursor, or the last two of a line.
func (b *Buffer) Transpose() {
	b.begin(other)
	from, to := b.lineStart(), b.lineEnd()
	at := b.pos
	if at == to && at > from {
		at = b.previous(at)
	}
	if at == from || at == to {
		return
	}
	left, right := b.previous(at), b.next(at)
	b.replace(left, right, b.text[at:right]+b.text[left:at])
}

// MapWord changes the letters from the cursor to the end of the word with f and goes there.
func (b *Buffer) MapWord(f func(word string) string) {
	b.begin(other)
	to := b.wordRight()
	word := b.text[b.pos:to]
	if changed := f(word); changed != word {
		b.replace(b.pos, to, changed)
	}
	b.place(to)
}

// Capitalize writes a word with a capital letter.
func Capitalize(word string) string {
	for i, r := range word {
		if unicode.IsLetter(r) {
			return word[:i] + string(unicode.ToUpper(r)) + strings.ToLower(word[i+utf8.RuneLen(r):])
		}
	}
	return word
}

// clusterLen is how many bytes the first character of s has, as people count characters.
func clusterLen(s string) int {
	if s == "" {
		return 0
	}
	if len(s) == 1 || s[0] < utf8.RuneSelf && s[1] < utf8.RuneSelf {
		return 1
	}
	clusters := graphemes.FromString(s[:min(len(s), maxCluster)])
	clusters.Next()
	return max(len(clusters.Value()), 1)
}

// maxCluster bounds the search for the end of a character: a letter can carry any number of marks.
const maxCluster = 256

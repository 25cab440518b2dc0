// Package key turns the bytes that a terminal sends into [Key] values.
//
// A terminal sends text as UTF-8, Ctrl with a letter as a control character, Alt as ESC in front, and
// every other key as an escape sequence, in a dialect of its own. The [Decoder] knows the dialects of
// xterm, tmux, screen, rxvt, the Linux console and the two extended encodings (CSI … u, CSI 27 ; … ~). It
// has no clock: the reader of the terminal says when no byte has come for a while, so that a single ESC
// was a key.
package key

import (
	"strings"
	"sync"
)

// A Key is one pressed key, or one paste. Keys are comparable, so they can be the keys of a map.
type Key struct {
	Code Code
	Mod  Mod
	Text string // of a Paste
}

// A Code is the rune that a key types, or the name of a key that types no text.
type Code rune

// Keys that type nothing lie above Unicode.
const (
	None Code = 0x110000 + iota // a sequence that means nothing to us
	Enter
	Tab
	Backspace
	Escape
	Up
	Down
	Left
	Right
	Home
	End
	PageUp
	PageDown
	Insert
	Delete
	Paste // text in brackets
	F1    // F2…F12 follow
)

// F returns the n-th function key.
func F(n int) Code { return F1 + Code(n-1) }

// A Mod is a set of modifier keys.
type Mod uint8

// The values are xterm's, which sends 1 + the sum.
const (
	Shift Mod = 1 << iota
	Alt
	Ctrl
)

var names = sync.OnceValue(func() map[Code]string {
	return map[Code]string{
		None: "None", Enter: "Enter", Tab: "Tab", Backspace: "Backspace", Escape: "Esc", Up: "Up", Down: "Down", Left: "Left", Right: "Right",
		Home: "Home", End: "End", PageUp: "PageUp", PageDown: "PageDown", Insert: "Insert", Delete: "Delete", Paste: "Paste",
		F(1): "F1", F(2): "F2", F(3): "F3", F(4): "F4", F(5): "F5", F(6): "F6", F(7): "F7", F(8): "F8", F(9): "F9", F(10): "F10", F(11): "F11", F(12): "F12",
		' ': "Space",
	}
})

// String returns the key's name in documentation: Ctrl-Left, Alt-f, x.
func (k Key) String() string {
	var b strings.Builder
	for _, m := range []struct {
		mod  Mod
		name string
	}{{Ctrl, "Ctrl-"}, {Alt, "Alt-"}, {Shift, "Shift-"}} {
		if k.Mod&m.mod != 0 {
			b.WriteString(m.name)
		}
	}
	if name, ok := names()[k.Code]; ok {
		b.WriteString(name)
	} else {
		b.WriteRune(rune(k.Code))
	}
	return b.String()
}

// Printable says whether the key types its rune.
func (k Key) Printable() bool {
	return k.Mod&^Shift == 0 && k.Code >= ' ' && k.Code < None && k.Code != 0x7f && (k.Code < 0x80 || k.Code > 0x9f)
}

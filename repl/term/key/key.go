// Package key tells keys apart: the bytes that a terminal sends become [Key] values.
//
// A terminal sends text as UTF-8, Ctrl with a letter as a control character, Alt as ESC in front, and
// everything else as an escape sequence of which each terminal has its own dialect. The [Decoder] knows those
// of xterm, tmux, screen, rxvt, the Linux console and the two extended encodings (CSI … u, CSI 27 ; … ~). It
// keeps no clock: the reader of the terminal says when nothing more has come for a while, so that ESC was the
// key.
package key

import "strings"

// A Key is one key as it was pressed, or one paste. Keys are comparable, so that a map can say what they do.
type Key struct {
	Code Code
	Mod  Mod
	Text string // of a Paste
}

// A Code is the rune that a key types, or the name of a key that types none.
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

// F is the n-th function key.
func F(n int) Code { return F1 + Code(n-1) }

// A Mod is a set of keys that are held.
type Mod uint8

// The values are xterm's, which sends 1 + the sum.
const (
	Shift Mod = 1 << iota
	Alt
	Ctrl
)

var names = map[Code]string{
	None: "None", Enter: "Enter", Tab: "Tab", Backspace: "Backspace", Escape: "Esc", Up: "Up", Down: "Down", Left: "Left", Right: "Right",
	Home: "Home", End: "End", PageUp: "PageUp", PageDown: "PageDown", Insert: "Insert", Delete: "Delete", Paste: "Paste",
	F(1): "F1", F(2): "F2", F(3): "F3", F(4): "F4", F(5): "F5", F(6): "F6", F(7): "F7", F(8): "F8", F(9): "F9", F(10): "F10", F(11): "F11", F(12): "F12",
	' ': "Space",
}

// String is the key's name as documentation writes it: Ctrl-Left, Alt-f, x.
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
	if name, ok := names[k.Code]; ok {
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

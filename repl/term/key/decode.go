package key

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	esc = 0x1b
	bel = 0x07
)

// maxSequence is how long a sequence may be before it is taken for noise.
const maxSequence = 64

var pasteEnd = []byte("\x1b[201~")

// A Decoder turns bytes into keys. Bytes may come in pieces of any size.
type Decoder struct {
	buf     []byte
	pasting bool
	seen    int // bytes of an open paste that hold no end of it
}

// Feed adds bytes to decode.
func (d *Decoder) Feed(b []byte) { d.buf = append(d.buf, b...) }

// Blank says whether the next undecoded byte is a blank or a tab.
func (d *Decoder) Blank() bool { return len(d.buf) > 0 && (d.buf[0] == ' ' || d.buf[0] == '\t') }

// Open says whether the undecoded bytes are the start of an unfinished key: after a while Next(true) takes
// them as single keys. A paste stays open however long it takes.
func (d *Decoder) Open() bool { return len(d.buf) > 0 && !d.pasting }

// Take removes the undecoded bytes and returns them.
func (d *Decoder) Take() []byte {
	rest := d.buf
	*d = Decoder{}
	return rest
}

// Next returns the next key; ok is false if more bytes are needed. Final says that no more bytes will come
// soon, so that the bytes of an unfinished sequence are single keys.
func (d *Decoder) Next(final bool) (k Key, ok bool) {
	for len(d.buf) > 0 {
		if d.pasting {
			return d.paste()
		}
		k, n := decode(d.buf, final)
		if n == 0 {
			return Key{}, false
		}
		d.drop(n)
		if k.Code == Paste {
			d.pasting = true
			continue
		}
		return k, true
	}
	return Key{}, false
}

// drop forgets the first n bytes.
func (d *Decoder) drop(n int) {
	d.buf = d.buf[n:]
	if len(d.buf) == 0 {
		d.buf = nil // the array may be a paste of megabytes
	}
}

// paste looks for the end of a paste in the bytes that are new since the last look.
func (d *Decoder) paste() (Key, bool) {
	i := bytes.Index(d.buf[d.seen:], pasteEnd)
	if i < 0 {
		d.seen = max(len(d.buf)-len(pasteEnd), 0)
		return Key{}, false
	}
	end := d.seen + i
	k := Key{Code: Paste, Text: Clean(string(d.buf[:end]))}
	d.drop(end + len(pasteEnd))
	d.pasting, d.seen = false, 0
	return k, true
}

// Clean keeps the characters that may stand in a cell: all kinds of line breaks become one, other control
// characters and byte order marks go, and bytes that are not UTF-8 become U+FFFD.
func Clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	}
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f || r == 0xFEFF {
			return -1
		}
		return r
	}, s)
}

// decode gives the first key of b and its length, 0 if it is not complete.
func decode(b []byte, final bool) (Key, int) {
	switch c := b[0]; {
	case c == esc:
		return decodeEscape(b, final)
	case c < utf8.RuneSelf:
		return control(c), 1
	case !utf8.FullRune(b) && !final:
		return Key{}, 0
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError && n <= 1 {
		return Key{Code: None}, 1
	}
	return Key{Code: Code(r)}, n
}

// control is the key of one ASCII byte.
func control(c byte) Key {
	switch {
	case c == '\r':
		return Key{Code: Enter}
	case c == '\t':
		return Key{Code: Tab}
	case c == 0x7f:
		return Key{Code: Backspace}
	case c == esc:
		return Key{Code: Escape}
	case c >= 1 && c <= 26:
		return Key{Code: Code(c) - 1 + 'a', Mod: Ctrl}
	case c < ' ':
		return Key{Code: Code(c) + '@', Mod: Ctrl}
	}
	return Key{Code: Code(c)}
}

func decodeEscape(b []byte, final bool) (k Key, n int) {
	if len(b) == 1 {
		if final {
			return Key{Code: Escape}, 1
		}
		return Key{}, 0
	}
	within := b[:min(len(b), maxSequence)] // later bytes do not end a sequence, however many there are already
	switch b[1] {
	case '[':
		k, n = decodeCSI(within)
	case 'O':
		k, n = decodeSS3(within)
	case ']':
		k, n = decodeString(b)
	case 'P', '_', '^':
		k, n = decodeString(within)
	case esc:
		// Escape twice, or rxvt's Alt with a sequence.
		switch k, n = decode(b[1:], final); {
		case n == 0 && !final:
			return Key{}, 0
		case n > 0 && k.Code != Escape && k.Code != Paste:
			k.Mod |= Alt
			return k, n + 1
		}
		return Key{Code: Escape}, 1
	default:
		if k, n = decode(b[1:], final); n > 0 {
			k.Mod |= Alt
			return k, n + 1
		}
	}
	if n == 0 && (final || len(b) >= maxSequence && b[1] != ']') {
		// The bytes were Alt with a key, not a sequence.
		return Key{Code: Code(b[1]), Mod: Alt}, 2
	}
	return k, n
}

// decodeString swallows answers of terminals, which end in BEL or ESC \.
func decodeString(b []byte) (Key, int) {
	for i := 2; i < len(b); i++ {
		switch {
		case b[i] == bel:
			return Key{Code: None}, i + 1
		case b[i] == '\\' && b[i-1] == esc && i > 2:
			return Key{Code: None}, i + 1
		}
	}
	return Key{}, 0
}

var ss3 = sync.OnceValue(func() map[byte]Key {
	return map[byte]Key{
		'A': {Code: Up}, 'B': {Code: Down}, 'C': {Code: Right}, 'D': {Code: Left}, 'H': {Code: Home}, 'F': {Code: End},
		'P': {Code: F(1)}, 'Q': {Code: F(2)}, 'R': {Code: F(3)}, 'S': {Code: F(4)}, 'M': {Code: Enter}, 'I': {Code: Tab},
		'a': {Code: Up, Mod: Ctrl}, 'b': {Code: Down, Mod: Ctrl}, 'c': {Code: Right, Mod: Ctrl}, 'd': {Code: Left, Mod: Ctrl}, // rxvt
	}
})

func decodeSS3(b []byte) (Key, int) {
	if len(b) < 3 {
		return Key{}, 0
	}
	if k, ok := ss3()[b[2]]; ok {
		return k, 3
	}
	if b[2] < ' ' || b[2] > '~' { // Alt-O, and then something else
		return Key{Code: 'O', Mod: Alt}, 2
	}
	return Key{Code: None}, 3
}

// csiFinal are the keys of CSI … X.
var csiFinal = sync.OnceValue(func() map[byte]Key {
	return map[byte]Key{
		'A': {Code: Up}, 'B': {Code: Down}, 'C': {Code: Right}, 'D': {Code: Left}, 'H': {Code: Home}, 'F': {Code: End},
		'P': {Code: F(1)}, 'Q': {Code: F(2)}, 'R': {Code: F(3)}, 'S': {Code: F(4)}, 'Z': {Code: Tab, Mod: Shift},
		'a': {Code: Up, Mod: Shift}, 'b': {Code: Down, Mod: Shift}, 'c': {Code: Right, Mod: Shift}, 'd': {Code: Left, Mod: Shift}, // rxvt
	}
})

// csiNumber are the keys of CSI n ~.
var csiNumber = sync.OnceValue(func() map[int]Code {
	return map[int]Code{
		1: Home, 2: Insert, 3: Delete, 4: End, 5: PageUp, 6: PageDown, 7: Home, 8: End,
		11: F(1), 12: F(2), 13: F(3), 14: F(4), 15: F(5), 17: F(6), 18: F(7), 19: F(8), 20: F(9), 21: F(10), 23: F(11), 24: F(12),
		200: Paste,
	}
})

func decodeCSI(b []byte) (Key, int) {
	if len(b) > 2 && b[2] == '[' { // the Linux console's F1…F5
		if len(b) < 4 {
			return Key{}, 0
		}
		if b[3] >= 'A' && b[3] <= 'E' {
			return Key{Code: F(int(b[3]-'A') + 1)}, 4
		}
		return Key{Code: None}, 4
	}
	end := 2
	for end < len(b) && b[end] >= 0x20 && b[end] <= 0x3f && !rxvtShift(b[2:end+1]) {
		end++
	}
	if end == len(b) {
		return Key{}, 0
	}
	if c := b[end]; (c < 0x40 || c > 0x7e) && c != '$' { // something else has begun
		return Key{Code: None}, end
	}
	return csiKey(string(b[2:end]), b[end]), end + 1
}

// rxvtShift says whether a sequence ends here, with the dollar sign that rxvt sends for Shift. Answers of
// terminals contain that sign as well; they begin with a question mark.
func rxvtShift(seq []byte) bool { return seq[len(seq)-1] == '$' && seq[0] != '?' }

// csiKey names the key of CSI params final.
func csiKey(params string, final byte) Key {
	n := numbers(params)
	k, ok := csiFinal()[final]
	switch {
	case final == '~' && n[0] == 27:
		k, ok = unicodeKey(n[2])
	case final == 'u':
		k, ok = unicodeKey(n[0])
	case final == '~' || final == '^' || final == '@' || final == '$': // the others are rxvt's
		k.Code, ok = csiNumber()[n[0]]
		k.Mod = map[byte]Mod{'^': Ctrl, '$': Shift, '@': Ctrl | Shift}[final]
	case params != "" && n[0] != 1:
		ok = false // a report, such as the cursor's place
	}
	if !ok || strings.ContainsAny(params, "<=>?") {
		return Key{Code: None}
	}
	if n[1] > 1 {
		m := n[1] - 1
		k.Mod |= Mod(m) & (Shift | Alt | Ctrl)
		if m&8 != 0 { // Meta, which some terminals send for Alt
			k.Mod |= Alt
		}
	}
	return k
}

// unicodeKey is the key with a code point, as the extended encodings send it.
func unicodeKey(n int) (Key, bool) {
	switch {
	case n >= 0xE000 && n <= 0xF8FF || n > utf8.MaxRune || !utf8.ValidRune(rune(n)):
		return Key{}, false // private use: keys that we have no use for
	case n < ' ' || n == 0x7f:
		return control(byte(n)), true
	}
	return Key{Code: Code(n)}, true
}

// numbers returns the first three parameters, with 0 for a missing one.
func numbers(params string) (n [3]int) {
	for i, p := range strings.SplitN(params, ";", 4) {
		if i < len(n) {
			p, _, _ = strings.Cut(p, ":")
			n[i], _ = strconv.Atoi(p)
		}
	}
	return n
}

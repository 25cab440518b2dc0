package key

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// feed decodes in in pieces of n bytes and writes the keys as documentation does.
func feed(in string, n int) string {
	var d Decoder
	var names []string
	take := func(final bool) {
		for k, ok := d.Next(final); ok; k, ok = d.Next(final) {
			name := k.String()
			if k.Code == Paste {
				name += "(" + k.Text + ")"
			}
			names = append(names, name)
		}
	}
	for len(in) > 0 {
		n := min(n, len(in))
		d.Feed([]byte(in[:n]))
		in = in[n:]
		take(false)
	}
	if d.Open() {
		take(true)
	}
	return strings.Join(names, " ")
}

// What terminals send, and which keys it is.
func TestKeys(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"text", "x é日🙂", "x Space é 日 🙂"},
		{"controls", "\x01\x05\x08\x09\x0a\x0d\x1a\x00\x1f\x7f", "Ctrl-a Ctrl-e Ctrl-h Tab Ctrl-j Enter Ctrl-z Ctrl-@ Ctrl-_ Backspace"},
		{"arrows", "\x1b[A\x1b[B\x1b[C\x1b[D", "Up Down Right Left"},
		{"arrows in application mode", "\x1bOA\x1bOB\x1bOC\x1bOD", "Up Down Right Left"},
		{"home and end", "\x1b[H\x1b[F\x1bOH\x1bOF", "Home End Home End"},
		{"home and end of tmux, screen, rxvt", "\x1b[1~\x1b[4~\x1b[7~\x1b[8~", "Home End Home End"},
		{"the block above the arrows", "\x1b[2~\x1b[3~\x1b[5~\x1b[6~", "Insert Delete PageUp PageDown"},
		{"held keys", "\x1b[1;5C\x1b[1;3D\x1b[1;2A\x1b[3;5~\x1b[1;6B\x1b[1;9C", "Ctrl-Right Alt-Left Shift-Up Ctrl-Delete Ctrl-Shift-Down Alt-Right"},
		{"held keys of rxvt", "\x1bOc\x1bOd\x1b[c\x1b[3^\x1b[3$\x1b\x1b[D", "Ctrl-Right Ctrl-Left Shift-Right Ctrl-Delete Shift-Delete Alt-Left"},
		{"shift-tab", "\x1b[Z", "Shift-Tab"},
		{"alt", "\x1bb\x1bf\x1bd\x1b\x7f\x1b\r\x1b<\x1b\x08\x1bé", "Alt-b Alt-f Alt-d Alt-Backspace Alt-Enter Alt-< Ctrl-Alt-h Alt-é"},
		{"function keys", "\x1bOP\x1b[15~\x1b[24~\x1b[11~\x1b[[A\x1b[1;5P", "F1 F5 F12 F1 F1 Ctrl-F1"},
		{"extended encodings", "\x1b[13;5u\x1b[27;5;13~\x1b[97;5u\x1b[9;2u\x1b[127;5u", "Ctrl-Enter Ctrl-Enter Ctrl-a Shift-Tab Ctrl-Backspace"},
		{"escape", "\x1b", "Esc"},
		{"escape twice", "\x1b\x1b", "Esc Esc"},
		{"alt with what begins a sequence", "\x1b[", "Alt-["},
		{"answers and reports", "\x1b[I\x1b[12;40R\x1b]11;rgb:0/0/0\x07\x1b]11;x\x1b\\\x1bP>|x\x1b\\\x1b[?62;4ca", "None None None None None None a"},
		{"a sequence that breaks off", "\x1b[1;\rx", "None Enter x"},
		{"no utf-8", "a\xffb\xc3", "a None b None"},
		{"paste", "a\x1b[200~b\r\nc\rd\te\x1b[201~f", "a Paste(b\nc\nd\te) f"},
		{"paste of nothing", "\x1b[200~\x1b[201~", "Paste()"},
		{"paste of control characters", "\x1b[200~a\x1b[31mb\x03\xffc\x1b[201~", "Paste(a[31mb\uFFFDc)"},
		{"paste of a file with a byte order mark", "\x1b[200~\ufeffpackage p\x1b[201~", "Paste(package p)"},
		{"two pastes", "\x1b[200~a\x1b[201~\x1b[200~b\x1b[201~", "Paste(a) Paste(b)"},
		{"paste that never ends", "\x1b[200~abc", ""},
	} {
		for _, n := range []int{len(c.in), 1, 3} {
			if got := feed(c.in, n); got != c.want {
				t.Errorf("%s, %d bytes at a time: got %q, want %q", c.name, n, got, c.want)
			}
		}
	}
}

// What was not decoded can be had back, for a cell that reads standard input.
func TestTake(t *testing.T) {
	var d Decoder
	d.Feed([]byte("a\rrest\x1b["))
	d.Next(false)
	d.Next(false)
	if got := string(d.Take()); got != "rest\x1b[" {
		t.Errorf("got %q, want what follows the second key", got)
	}
	if rest := d.Take(); len(rest) > 0 || d.Open() {
		t.Errorf("%q is still there", rest)
	}
}

// Whatever comes: no byte is lost in the dark (decoding ends), and the size of the pieces does not matter.
func FuzzDecoder(f *testing.F) {
	for _, seed := range []string{"x\x1b[1;5C", "\x1b[200~a\r\n\x1b[201~", "\x1b\x1b[A", "\x1b]0;t\x07", "日\xe6\x97", "\x1b[27;5;13~", "\x1bO", "\x1b[[A",
		"\x1bP" + strings.Repeat("0", 100) + "\a"} {
		f.Add(seed, 1)
	}
	f.Fuzz(func(t *testing.T, in string, n int) {
		n = max(n, 1)
		whole, pieces := feed(in, len(in)), feed(in, n)
		if whole != pieces {
			t.Errorf("in pieces of %d: got %q, want %q", n, pieces, whole)
		}
		if !utf8.ValidString(whole) {
			t.Errorf("%q is no UTF-8", whole)
		}
	})
}

func BenchmarkPasteOf10MB(b *testing.B) {
	text := strings.Repeat("x := f(1, 2, 3)\n", 10<<20/16)
	in := []byte("\x1b[200~" + text + "\x1b[201~")
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		var d Decoder
		var k Key
		ok := false
		for i := 0; i < len(in); i += 4096 {
			d.Feed(in[i:min(i+4096, len(in))])
			k, ok = d.Next(false)
		}
		if !ok || k.Text != text {
			b.Fatal("not what was pasted")
		}
	}
}

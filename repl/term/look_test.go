package term

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/tests/terminal/screen"
)

// What a person sees, drawn on a screen of 40×12. The last line of want is the cursor.
func TestLooks(t *testing.T) {
	long := strings.Repeat("abcdefghij", 5)
	var tall []string
	for i := range 30 {
		tall = append(tall, fmt.Sprint("line", i))
	}
	for _, c := range []struct{ name, keys, want string }{
		{"a cell", "func f() {\rif x {\rg()\r}\r", `
In [1]: func f() {
            if x {
                g()
            }

  … missing }
12,4`},
		{"a suggestion, and how much more there is", "wh", `
In [1]: while { ⏎ +2
10,0`},
		{"a menu", "x." + tab, `
In [1]: x.
  MatMul  MatMul of tensors
  Mean    Mean of tensors
  Softmax Softmax of tensors
10,0`},
		{"one is chosen", "x." + tab + tab, `
In [1]: x.
› MatMul  MatMul of tensors
  Mean    Mean of tensors
  Softmax Softmax of tensors
  MatMul is a function that needs many …
10,0`},
		{"a long menu scrolls", "many." + tab + shiftTab, `
In [1]: many.Name
  Name12 the number 12
  Name13 the number 13
  Name14 the number 14
› Name15 the number 15
  16/16
17,0`},
		{"a hint", "f(1, ", `
In [1]: f(1,
  f(x int, y string)  F does it.
13,0`},
		{"no hint behind the call", "f(1)", `
In [1]: f(1)
12,0`},
		{"a search", ctrlR + "pri", `
In [1]: fmt.Println("日本")
  search: pri▏  Ctrl-R older · Ctrl-S n…
12,0`},
		{"a search for what is not there", ctrlR + "prx", `
In [1]: fmt.Println("日本")
  no cell has: prx▏  Ctrl-R older · Ctr…
12,0`},
		{"a line that is too long", "x := \"" + long + "\"", `
In [1]: x := "abcdefghijabcdefghijabcdef
        ghijabcdefghijabcdefghij"
33,1`},
		{"a line that is full", strings.Repeat("x", 32), `
In [1]: ` + strings.Repeat("x", 32) + `

8,1`},
		{"wide characters", "日本語" + left + left, `
In [1]: 日本語
10,0`},
		{"a cell that is taller than the window", pasteStart + strings.Join(tall, "\n") + pasteEnd, `
        line18
        line19
        line20
        line21
        line22
        line23
        line24
        line25
        line26
        line27
        line28
        line29
14,11`},
		{"… scrolls", pasteStart + strings.Join(tall, "\n") + pasteEnd + strings.Repeat(up, 25), `
        line4
        line5
        line6
        line7
        line8
        line9
        line10
        line11
        line12
        line13
        line14
        line15
13,0`},
		{"… to its start", pasteStart + strings.Join(tall, "\n") + pasteEnd + altLess, `
In [1]: line0
        line1
        line2
        line3
        line4
        line5
        line6
        line7
        line8
        line9
        line10
        line11
8,0`},
	} {
		ty := newTypist(40, 12, theme{}, "while {\n\tx\n}", `fmt.Println("日本")`)
		for keys := c.keys; len(keys) > 0; {
			n := keyLen(keys)
			ty.press(keys[:n])
			keys = keys[n:]
		}
		x, y := ty.screen.Place()
		got := fmt.Sprintf("\n%s\n%d,%d", strings.TrimRight(strings.ReplaceAll(ty.screen.Dump(), "<>", ""), "\n"), x, y)
		for strings.Contains(c.want, "\n\n") && !strings.Contains(got, "\n\n") { // a cursor in an empty line
			got = got[:strings.LastIndexByte(got, '\n')] + "\n" + got[strings.LastIndexByte(got, '\n'):]
		}
		if got != c.want {
			t.Errorf("%s: got%s\n\nwant%s", c.name, got, c.want)
		}
	}
}

// compare draws what the typist sees on a screen of its own, and says how the two differ.
func (t *typist) compare() error {
	got := strings.Split(t.screen.Dump(), "\n")
	gotX, gotY := t.screen.Place()
	alone := screen.New(t.console.columns, t.console.rows)
	t.console.Writer = alone
	t.view.painter.Lose()
	t.draw()
	t.console.Writer = t.screen
	x, y := alone.Place()
	above := min(max(gotY-y, 0), len(got))
	now, want := strings.TrimRight(strings.Join(got[above:], "\n"), "\n"), strings.TrimRight(alone.Dump(), "\n")
	if x != gotX || now != want {
		return fmt.Errorf("got, cursor %d,%d:\n%s\nwant, cursor %d,%d:\n%s", gotX, gotY, now, x, y, want)
	}
	return nil
}

// However a scene came to be, the screen shows what it would show had it been drawn alone.
func TestScreenAfterManyKeys(t *testing.T) {
	keys := []string{"a", "f(", ")", "{", "}", "`", "\"", "/", "*", "x.M", "case x:", "switch {\r", " ", enter, altEnter, up, down, left, right, home, tab, shiftTab,
		backspace, del, escape, "\x1b", "[", "A", "1;5", "~", "日", "e\u0301", "\u200d", "👩", "🏽", "🇩", "\u202e", "\xff", "\xe6", ctrlK, ctrlU, ctrlW, ctrlY, altY,
		ctrlT, undo, redo, ctrlR, ctrlS, ctrlG, ctrlL, ctrlE, ctrlLeft, ctrlRight, altF, pageUp, pageDown, ctrlC, ctrlD, pasteStart, pasteEnd,
		pasteStart + strings.Repeat("x := 1\n", 9) + pasteEnd}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		ty := newTypist(4+r.IntN(60), 2+r.IntN(14), theme{enabled: true}, "first", "f(1, {\n\t日本\n})", "e\u0301\x1b", "second")
		for range 80 {
			switch r.IntN(20) {
			case 0:
				ty.Print([]byte("printed\n"))
			case 1:
				ty.Status(strings.Repeat("half ", r.IntN(3)))
			case 2:
				ty.resize(4+r.IntN(60), 2+r.IntN(14))
			}
			if ty.press(keys[r.IntN(len(keys))]) != nil {
				ty.next()
			}
		}
		if err := ty.compare(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// Whatever comes from the terminal, the editor goes on, the text is one that can be a cell, and the screen
// shows it.
func FuzzEditor(f *testing.F) {
	f.Add([]byte("func f() {\rx.M\t\t\r}\r"), 30, 8)
	f.Add([]byte(ctrlR+"f"+ctrlR+ctrlG+up+up+ctrlW+ctrlY+"\x1by\x1f"), 72, 24)
	f.Add([]byte("\x1b[200~a\n\tb\x1b[201~\x1b[A日本\xff\x18\x15"), 12, 3)
	f.Add([]byte(strings.Repeat("0", 42)+"\x0200000000000\u065900"), 7, -21)
	f.Fuzz(func(t *testing.T, in []byte, columns, rows int) {
		if bytes.ContainsRune(in, 0x18) { // Ctrl-X Ctrl-E would start an editor
			t.Skip("starts other programs")
		}
		ty := newTypist(4+(columns&0x3f), 2+(rows&0x1f), theme{enabled: true}, "f {\n\tg(日本)\n}", "x := f(1, 2)", "e\u0301\x1b")
		for len(in) > 0 {
			n := min(len(in), 7)
			if ty.press(string(in[:n])) != nil {
				ty.next()
			}
			in = in[n:]
		}
		if text := ty.buf.Text(); !utf8.ValidString(text) || strings.Contains(text, "\r") {
			t.Errorf("the text is %q", text)
		}
		if err := ty.compare(); err != nil {
			t.Error(err)
		}
	})
}

// The window changes its size while a cell is typed, with a menu open, below a line of progress.
func TestResize(t *testing.T) {
	for _, c := range []struct {
		name, keys string
		sizes      [][2]int
		want       string
	}{
		{"narrower", "x := 1234567890123456789012345678901234567890", [][2]int{{24, 12}}, `
above
In [1]: x := 12345678901
        2345678901234567
        8901234567890`},
		{"narrower and wider", "x := 1234567890123456789012345678901234567890", [][2]int{{20, 12}, {60, 12}}, `
above
In [1]: x := 1234567890123456789012345678901234567890`},
		{"with a menu", "x." + tab + tab, [][2]int{{24, 12}}, `
above
In [1]: x.
› MatMul  MatMul of ten…
  Mean    Mean of tenso…
  Softmax Softmax of te…
  MatMul is a function …`},
		{"lower", "f {\ra\rb\r", [][2]int{{40, 3}}, `
            a
            b
`},
		{"lower and higher", "f {\ra\rb\r", [][2]int{{40, 3}, {40, 12}}, `
In [1]: f {
            a
            b

  … missing }`},
	} {
		for _, reflow := range []bool{true, false} {
			ty := newTypist(40, 12, theme{})
			ty.console.reflows, ty.screen.ReflowOnResize = reflow, reflow
			ty.Print([]byte("above\n"))
			ty.press(c.keys)
			for _, size := range c.sizes {
				ty.resize(size[0], size[1])
			}
			got := "\n" + strings.TrimRight(ty.screen.Dump(), "\n")
			if got != strings.TrimRight(c.want, "\n") {
				t.Errorf("%s, reflow %v: got%s\nwant%s", c.name, reflow, got, c.want)
			}
		}
	}
}

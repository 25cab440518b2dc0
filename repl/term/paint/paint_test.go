package paint

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/repl/term/edit"
	"github.com/mcs-notebook/mcs/tests/terminal/screen"
)

// text is a frame's rows, with the cursor as a bar.
func text(f Frame) string {
	var b strings.Builder
	for y, row := range f.Rows {
		if y > 0 {
			b.WriteByte('\n')
		}
		x := 0
		for _, c := range row {
			if y == f.Y && x == f.X {
				b.WriteByte('|')
			}
			b.WriteString(c.Text)
			x += c.Columns
		}
		if y == f.Y && x <= f.X {
			b.WriteString(strings.Repeat(" ", f.X-x) + "|")
		}
	}
	return b.String()
}

// A bar in the text is the cursor.
func TestLayout(t *testing.T) {
	for _, c := range []struct {
		width, margin int
		in, want      string
	}{
		{10, 0, "ab|c", "ab|c"},
		{10, 2, "ab\ncd|", "ab\n  cd|"},
		{5, 1, "abcdefgh|i", "abcde\n fgh|i"},
		{5, 1, "abcde|", "abcde\n |"},
		{5, 1, "abcd|e", "abcd|e"},
		{5, 1, "abcde|f", "abcde\n |f"},
		{5, 0, "日本語|", "日本\n語|"},
		{5, 0, "日本|語", "日本|\n語"}, // the last column stays empty: 語 needs two
		{20, 0, "e\u0301|x", "e\u0301|x"},
		{20, 0, "👩‍👩‍👧|x", "👩‍👩‍👧|x"},
		{20, 0, "\tx\ty|", "    x   y|"},
		{20, 4, "f\n\tg|", "f\n        g|"},
		{6, 0, "abcd\tx|", "abcd  \nx|"},
		{20, 0, "a\x1b[31m\x07\x7f|", "a␛[31m␇␡|"},
		{20, 0, "a\u202Eb\u0085c\u200Bd|", "a\uFFFDb\uFFFDc\uFFFDd|"},
		{20, 0, "\u0301a|", "\uFFFDa|"},
		{6, 5, "abcdefg|", "abcdef\ng|"}, // a margin that leaves no room is left out
	} {
		l := NewLayout(c.width, c.margin)
		head, tail, _ := strings.Cut(c.in, "|")
		l.Text(head, "")
		l.Mark()
		l.Text(tail, "")
		if got := text(l.Frame()); got != c.want {
			t.Errorf("%q in %d columns: got\n%s\nwant\n%s", c.in, c.width, got, c.want)
		}
	}
}

func TestRows(t *testing.T) {
	for _, c := range []struct {
		width int
		spans []Span
		want  string
	}{
		{10, []Span{{"abc", ""}, {"def", ""}}, "abcdef"},
		{5, []Span{{"abc", ""}, {"def", ""}}, "abcd…"},
		{6, []Span{{"abc", ""}, {"def", ""}}, "abcdef"},
		{5, []Span{{"日本語", ""}}, "日本…"},
		{4, []Span{{"日本語", ""}}, "日…"},
		{20, []Span{{"two\nlines", ""}}, "two lines"},
		{20, Styled("a\x1b[31mred\x1b[0m\x1b[2Kb\x1b]0;\x1b"), "ared" + "b0;"},
	} {
		row := NewRow(c.width, c.spans...)
		if got := strings.ReplaceAll(text(Frame{Rows: []Row{row}, Y: 1}), "]", ""); got != c.want || row.columns() > c.width {
			t.Errorf("%v in %d columns: got %q, want %q", c.spans, c.width, got, c.want)
		}
	}
	spans := fmt.Sprint(Styled("a\x1b[31mred\x1b[0mb\x1b[1;2mc"))
	if want := "[{a } {red 31} {b } {c 1;2}]"; spans != want {
		t.Errorf("got %s, want %s", spans, want)
	}
}

// What one key changes is a few bytes.
func TestSmallChangesAreSmall(t *testing.T) {
	frame := func(s string) Frame {
		l := NewLayout(80, 8)
		l.Text("In [1]: ", "32")
		l.Text(s, "")
		return l.Frame()
	}
	var p Painter
	body := strings.Repeat("x := f(a, b)\n", 20)
	p.Draw(frame(body+"y"), 80)
	p.Take()
	for _, c := range []struct{ text, want string }{
		{body + "yz", "z"},
		{body + "y", "\x1b[10G\x1b[K"},
		{strings.Replace(body, "f(", "g(", 1) + "y", "\x1b[20A\x1b[14Gg" + strings.Repeat("\r\n", 20) + "\x1b[10G"},
	} {
		p.Draw(frame(c.text), 80)
		if got := string(p.Take()); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// place is where a cursor can be: not inside of a character.
func place(text string, pos int) int {
	var b edit.Buffer
	b.Set(text, pos)
	return b.Pos()
}

// randomFrame is a frame of up to height rows as keys might make it of the last text.
func randomFrame(r *rand.Rand, last string, width, height int) (Frame, string) {
	pieces := []string{"a", "x := 1", "\n", "\n\t", "日本", "e\u0301", "👩‍👩‍👧", "👍🏽", "🇩🇪", "\t", " ", "\x1b", strings.Repeat("w", width)}
	styles := []Style{"", "", "31", "1;32"}
	at := place(last, r.IntN(len(last)+1))
	switch r.IntN(4) {
	case 0:
		last = last[:at]
	case 1:
		last = last[at:]
	default:
		last = last[:at] + pieces[r.IntN(len(pieces))] + last[at:]
	}
	l := NewLayout(width, r.IntN(2)*4)
	l.Text("In: ", "32")
	cut := place(last, r.IntN(len(last)+1))
	l.Text(last[:cut], styles[r.IntN(len(styles))])
	l.Mark()
	l.Text(last[cut:], styles[r.IntN(len(styles))])
	f := l.Frame()
	if len(f.Rows) > height {
		return randomFrame(r, "", width, height)
	}
	return f, last
}

// However one frame becomes the next, the screen is as if the last one had been drawn alone.
func TestDrawingOverIsDrawing(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		width, height := 6+r.IntN(30), 4+r.IntN(8)
		above := strings.Repeat("above\r\n", r.IntN(height))
		over, alone := screen.New(width, height), screen.New(width, height)
		over.Write([]byte(above))
		var p Painter
		var f Frame
		content := ""
		tallest := 0
		for range 60 {
			f, content = randomFrame(r, content, width, height)
			tallest = max(tallest, len(f.Rows))
			if r.IntN(10) == 0 {
				p.Erase()
			}
			p.Draw(f, width)
			over.Write(p.Take())
		}
		alone.Write([]byte(above))
		var q Painter
		q.Draw(Frame{Rows: make([]Row, tallest)}, width) // as far as the screen had to scroll
		q.Draw(f, width)
		alone.Write(q.Take())
		x, y, _ := over.Cursor()
		wantX, wantY, _ := alone.Cursor()
		if got, want := over.Dump(), alone.Dump(); got != want || x != wantX || y != wantY {
			t.Fatalf("seed %d: drawn over, cursor %d,%d:\n%s\nalone, cursor %d,%d:\n%s", seed, x, y, got, wantX, wantY, want)
		}
	}
}

func TestLeaveAndErase(t *testing.T) {
	s := screen.New(20, 6)
	var p Painter
	frame := func(s string, x int) Frame {
		return Frame{Rows: []Row{NewRow(20, Span{s, ""}), NewRow(20, Span{"menu", ""})}, X: x}
	}
	s.Write([]byte("before\r\n"))
	p.Draw(frame("one", 2), 20)
	p.Erase()
	p.Raw("printed\r\n")
	p.Draw(frame("two", 1), 20)
	p.Draw(Frame{Rows: []Row{NewRow(20, Span{"two!", ""})}, X: 4}, 20)
	p.Leave()
	p.Raw("result\r\n")
	p.Draw(frame("three", 5), 20)
	s.Write(p.Take())
	if got, want := s.Text(), "before\nprinted\ntwo!\nresult\nthree\nmenu"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

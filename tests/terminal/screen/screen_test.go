package screen

import "testing"

func TestScreen(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "ab\r\ncd", "ab\ncd"},
		{"overwrite", "abc\rx", "xbc"},
		{"wrap", "0123456789ab", "0123456789\nab"},
		{"last column does not wrap yet", "0123456789\rx", "x123456789"},
		{"back over a wrap", "0123456789a\b\x1b[A\r\x1b[10Cx", "012345678x\na"},
		{"erase to the end", "abc\b\b\x1b[K", "a"},
		{"erase the line", "abc\x1b[2K\rx", "x"},
		{"erase below", "a\r\nb\r\nc\x1b[2A\x1b[J", "a"},
		{"home", "abc\x1b[Hx", "xbc"},
		{"scroll", "1\r\n2\r\n3\r\n4\r\n5", "1\n2\n3\n4\n5"},
		{"colours", "\x1b[31mred\x1b[0m", "red"},
		{"unknown sequences", "a\x1b[?2004hb\x1b=c", "abc"},
	} {
		s := New(10, 4)
		for i := range len(c.in) { // byte by byte: sequences may come in pieces
			s.Write([]byte(c.in)[i : i+1])
		}
		if got := s.Text(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	s := New(10, 4)
	s.Write([]byte("a \x1b[31mred"))
	if attr, ok := s.ColourOf("red"); !ok || attr != "31" {
		t.Errorf("colour of red: got %q, %v", attr, ok)
	}
	if x, y, line := s.Cursor(); x != 5 || y != 0 || line != "a red" {
		t.Errorf("cursor: got %d, %d in %q", x, y, line)
	}
}

func TestResize(t *testing.T) {
	for _, c := range []struct {
		reflow     bool
		cols, rows int
		want       string
		x, y       int
	}{
		{false, 4, 4, "0123\nab\nxy", 2, 2},
		{true, 4, 5, "0123\n4567\n89\nab\nxy", 2, 4},
		{true, 20, 4, "0123456789\nab\nxy", 2, 2},
		{true, 4, 2, "0123\n4567\n89\nab\nxy", 2, 1}, // lines that scroll away are remembered
	} {
		s := New(10, 4)
		s.ReflowOnResize = c.reflow
		s.Write([]byte("0123456789\r\nab\r\nxy"))
		s.Resize(c.cols, c.rows)
		x, y := s.Place()
		if got := s.Text(); got != c.want || x != c.x || y != c.y {
			t.Errorf("%d×%d, reflow %v: got %q with the cursor at %d,%d, want %q, %d,%d", c.cols, c.rows, c.reflow, got, x, y, c.want, c.x, c.y)
		}
	}
	s := New(10, 4)
	s.ReflowOnResize = true
	s.Write([]byte("0123456789ab"))
	s.Resize(6, 4)
	s.Resize(12, 4)
	if got := s.Text(); got != "0123456789ab" {
		t.Errorf("narrow and wide again: got %q", got)
	}
}

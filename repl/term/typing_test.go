package term

import (
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/repl/session"
	"github.com/mcs-notebook/mcs/tests/terminal/screen"
)

// What xterm sends for keys that tests press.
const (
	up, down, left, right   = "\x1b[A", "\x1b[B", "\x1b[D", "\x1b[C"
	home, end               = "\x1b[H", "\x1b[F"
	pageUp, pageDown        = "\x1b[5~", "\x1b[6~"
	ctrlLeft, ctrlRight     = "\x1b[1;5D", "\x1b[1;5C"
	enter, altEnter         = "\r", "\x1b\r"
	tab, shiftTab           = "\t", "\x1b[Z"
	backspace, del          = "\x7f", "\x1b[3~"
	escape                  = "\x1b[27u" // without a need to wait
	pasteStart, pasteEnd    = "\x1b[200~", "\x1b[201~"
	ctrlA, ctrlC, ctrlD     = "\x01", "\x03", "\x04"
	ctrlE, ctrlF, ctrlG     = "\x05", "\x06", "\x07"
	ctrlJ, ctrlK, ctrlL     = "\x0a", "\x0b", "\x0c"
	ctrlR, ctrlS, ctrlT     = "\x12", "\x13", "\x14"
	ctrlU, ctrlW, ctrlY     = "\x15", "\x17", "\x19"
	ctrlZ, undo, redo       = "\x1a", "\x1f", "\x1b/"
	f5, altF, altY, altLess = "\x1b[15~", "\x1bf", "\x1by", "\x1b<"
)

// A fakeConsole is a terminal in memory.
type fakeConsole struct {
	io.Writer
	columns, rows int
	reflows       bool
}

func (c *fakeConsole) Raw() error                { return nil }
func (c *fakeConsole) Cooked() error             { return nil }
func (c *fakeConsole) Size() (int, int)          { return c.columns, c.rows }
func (c *fakeConsole) Reflows() bool             { return c.reflows }
func (c *fakeConsole) Ahead() int                { return 0 }
func (c *fakeConsole) Suspend()                  {}
func (c *fakeConsole) Changes() <-chan os.Signal { return nil }

// A typist types into an editor without a terminal, one key after the other, and sees the screen.
type typist struct {
	*cellEditor
	console *fakeConsole
	screen  *screen.Screen
	n       int
}

func newTypist(columns, rows int, th theme, history ...string) *typist {
	s := screen.New(columns, rows)
	s.ReflowOnResize = true
	c := &fakeConsole{Writer: s, columns: columns, rows: rows, reflows: true}
	o := &obedient{}
	t := &typist{newCellEditor(c, newSource(strings.NewReader("")), th, newAsker(o.Complete, o.Hint)), c, s, 0}
	for _, cell := range history {
		t.Remember(cell)
	}
	t.next()
	return t
}

// next begins another cell, and one more for each that was typed ahead.
func (t *typist) next() {
	for ended := true; ended; ended = t.step(true) != nil {
		t.n++
		if _, err := t.begin(t.n); err != nil {
			panic(err)
		}
	}
}

// press types keys and waits for what the session has to say. It gives the cell if it was submitted.
func (t *typist) press(keys string) *result {
	t.feed([]byte(keys))
	for {
		r := t.step(true)
		if r == nil && t.keys.Open() {
			t.late()
			continue
		}
		if !t.asker.busy || r != nil {
			t.asker.settle()
			return r
		}
		t.answer(<-t.asker.answers)
	}
}

// state is the text with the cursor as a bar, line breaks as ⏎ and tabs as →.
func (t *typist) state() string {
	text, pos := t.buf.Text(), t.buf.Pos()
	return strings.NewReplacer("\n", "⏎", "\t", "→").Replace(text[:pos] + "|" + text[pos:])
}

func (t *typist) resize(columns, rows int) {
	t.console.columns, t.console.rows = columns, rows
	t.screen.Resize(columns, rows)
	t.changed()
}

// Keys are typed, and the text is compared; a submitted cell is written with a full stop instead of the
// cursor.
func TestTyping(t *testing.T) {
	history := []string{"preloaded", "f {\n\tg\n}", "fmt.Println(1)", "x := 1"}
	for _, c := range []struct{ name, keys, want string }{
		{"a line", "x := 1\r", "x := 1."},
		{"an unfinished cell goes on, indented", "f {\r", "f {⏎→|"},
		{"a bracket ends it", "f {\rg\r}\r", "f {⏎→g⏎}."},
		{"enter inside of a cell starts a line", "f {\rg\r}" + up + end + "x\r", "f {⏎→gx⏎→|⏎}"},
		{"enter inside of one line runs it", "f()" + left + "1\r", "f(1)."},
		{"f5 runs from anywhere", "f {\rg\r}" + up + f5, "f {⏎→g⏎}."},
		{"f5 runs what is not complete", "f {" + left + f5, "f {."},
		{"a string without its end is run", "f(\"a)\r", "f(\"a)."},
		{"a rune without its end is run", "f('a)\r", "f('a)."},
		{"a bracket that closes another is run", "f {\rg(}\r", "f {⏎→g(}."},
		{"a raw string goes on", "f(`a\r", "f(`a⏎|"},
		{"a comment goes on", "/* a\r", "/* a⏎|"},
		{"ctrl-return, where terminals send it", "f {\rg\r}" + up + "\x1b[13;5u", "f {⏎→g⏎}."},
		{"alt-return adds a line", "a" + altEnter + "b\r", "a⏎b."},
		{"ctrl-j adds a line", "a" + ctrlJ + "b\r", "a⏎b."},
		{"ctrl-o adds a line", "a\x0fb\r", "a⏎b."},
		{"blank lines at the end are no reason to go on", "a" + altEnter + left + "\r", "a⏎."},
		// Pasting.
		{"paste waits for return", pasteStart + "a {\r\n\tb\r\n}\r\n" + pasteEnd, "a {⏎→b⏎}|"},
		{"paste of complete lines is one cell", pasteStart + "a\nb\nc" + pasteEnd + "\r", "a⏎b⏎c."},
		{"paste into a line", "f()" + left + pasteStart + "1,\n2" + pasteEnd, "f(1,⏎2|)"},
		{"paste of a word", "f(" + pasteStart + "abc" + pasteEnd + ")\r", "f(abc)."},
		{"paste keeps tabs", pasteStart + "`\n\tx\ty\n`" + pasteEnd + "\r", "`⏎→x→y⏎`."},
		{"paste of a session", pasteStart + "In [1]: x := 1\n        y := 2\nOut[1]: 7\n        8\n\nIn [2]: y\n2" + pasteEnd, "x := 1⏎y := 2⏎y|"},
		{"paste of an IPython session", pasteStart + "In [3]: f {\n   ...:     g\n   ...: }\nOut[3]: 1\n\nIn [4]:" + pasteEnd, "f {⏎    g⏎}|"},
		{"paste of a doctest", pasteStart + ">>> f {\n... g\n... }\n1\n>>> x" + pasteEnd, "f {⏎g⏎}⏎x|"},
		{"paste is undone at once", "a" + pasteStart + "b\nc" + pasteEnd + undo, "a|"},
		{"paste without brackets keeps its indentation", "f {\r\tif x {\r\t\tg\r\t}\r}\r", "f {⏎→if x {⏎→→g⏎→}⏎}."},
		// Moving.
		{"home and end as tmux sends them", "bc\x1b[1~a\x1b[4~d", "abcd|"},
		{"home and end in application mode", "bc\x1bOHa\x1bOFd", "abcd|"},
		{"ctrl-left", "ab cd" + ctrlLeft + "x", "ab x|cd"},
		{"ctrl-right", "ab cd" + home + ctrlRight, "ab| cd"},
		{"up and down go through lines", "ab" + ctrlJ + "cd" + up + "x" + down + "y", "abx⏎cdy|"},
		{"to the start of the cell", "ab" + ctrlJ + "cd" + altLess, "|ab⏎cd"},
		{"wide characters", "日本語" + left + left + "x", "日x|本語"},
		{"a letter with an accent is one", "e\u0301" + left, "|e\u0301"},
		// Deleting.
		{"delete on an empty cell", del + "a", "a|"},
		{"delete", "xa" + home + del, "|a"},
		{"ctrl-d deletes", "xa" + home + ctrlD, "|a"},
		{"backspace joins lines", "a" + ctrlJ + backspace + "b", "ab|"},
		{"backspace takes a step of indentation", "f {\r" + backspace, "f {⏎|"},
		{"ctrl-w", "foo.bar x" + ctrlW, "foo.bar |"},
		{"ctrl-k, ctrl-y", "ab cd" + ctrlLeft + ctrlK + home + ctrlY, "cd|ab "},
		{"alt-y", "a b" + ctrlW + "c " + ctrlU + ctrlY + altY, "b|"},
		{"ctrl-t", "ab" + ctrlT, "ba|"},
		{"undo and redo", "one two" + undo + undo + redo, "one |"},
		{"unknown keys", "a\x1b[25~\x1b[1;2P\x00\x1eb", "ab|"},
		{"tab indents", "f {\rg\r" + tab + "x", "f {⏎→g⏎→→x|"},
		{"shift-tab takes a step", "f {\r" + shiftTab + "x", "f {⏎x|"},
		{"tab in a raw string", "s := `x" + tab, "s := `x→|"},
		// History.
		{"up recalls", up, "x := 1|"},
		{"a recalled cell is whole; up goes on from its first line", up + up + up, "f {|⏎→g⏎}"},
		{"down goes through its lines", up + up + up + down, "f {⏎→|g⏎}"},
		{"… and to the next cell", up + up + up + down + down + down, "fmt.Println(1)|"},
		{"back to what was typed", "ab" + left + "c" + up + down, "ac|b"},
		{"what stands before the cursor filters", "f" + up + up, "f {|⏎→g⏎}"},
		{"… also when it is gone through", "f" + up + up + up, "f {|⏎→g⏎}"},
		{"return runs a recalled cell from its first line", up + up + up + enter, "f {⏎→g⏎}."},
		{"return in a changed one does not", up + up + up + "x" + enter, "f {x⏎→|⏎→g⏎}"},
		{"a changed cell keeps its change", up + "2" + ctrlA + up + down, "x := 12|"},
		{"page up: the oldest", pageUp, "preloaded|"},
		{"page down: what was typed", "new" + pageUp + pageDown, "new|"},
		// Search.
		{"search", ctrlR + "print", "fmt.|Println(1)"},
		{"search and run", ctrlR + "pre\r", "preloaded."},
		{"a failed search runs nothing", "mine" + ctrlR + "prx\r", "mine|"},
		{"a failed search is taken by no key", "mine" + ctrlR + "prx" + escape, "mine|"},
		{"a search behind the oldest keeps it", ctrlR + "fmt" + ctrlR + ctrlR + ctrlR + escape, "|fmt.Println(1)"},
		{"search on", ctrlR + ":=" + ctrlR, "x |:= 1"},
		{"search finds lines in cells", ctrlR + "g" + escape, "f {⏎→|g⏎}"},
		{"search older and newer", ctrlR + "l" + ctrlR + ctrlS, "fmt.Print|ln(1)"},
		{"search with capitals is exact", ctrlR + "P", "fmt.|Println(1)"},
		{"ctrl-g goes back", "abc" + left + ctrlR + "x" + ctrlG, "ab|c"},
		{"escape keeps", ctrlR + "print" + escape + "x", "fmt.x|Println(1)"},
		{"another key keeps and does what it does", ctrlR + "print" + end + "x", "fmt.Println(1)x|"},
		{"backspace searches for less", ctrlR + "printx" + backspace + escape, "fmt.|Println(1)"},
		// Suggestions.
		{"right takes the suggestion", "fm" + right, "fmt.Println(1)|"},
		{"end does", "fm" + end, "fmt.Println(1)|"},
		{"ctrl-e does", "fm" + ctrlE, "fmt.Println(1)|"},
		{"ctrl-f does", "fm" + ctrlF, "fmt.Println(1)|"},
		{"alt-f takes a word", "fm" + altF + altF, "fmt.Println|"},
		{"return does not", "fm" + enter, "fm."},
		// Completion.
		{"tab completes", "x.Mat" + tab + "(y)", "x.MatMul(y)|"},
		{"tab completes what is common", "x.M" + tab, "x.M|"},
		{"choosing", "x.M" + tab + tab + tab + enter, "x.Mean|"},
		{"choosing backwards", "x." + tab + shiftTab + enter, "x.Softmax|"},
		{"arrows choose", "x." + tab + down + down + up + enter, "x.MatMul|"},
		{"typing narrows", "x." + tab + "me" + tab + enter, "x.Mean|"},
		{"typing goes on", "x." + tab + "me()" + enter, "x.me()."},
		{"a bracket takes the chosen one", "x.M" + tab + tab + "(", "x.MatMul(|"},
		{"escape closes", "x.M" + tab + tab + escape + "a" + enter, "x.Ma."},
		{"the chosen one is there: return runs", "x.M" + tab + tab + "ean" + enter, "x.Mean."},
		{"letters in order", "x.smx" + tab, "x.Softmax|"},
		// Leaving.
		{"ctrl-d on nothing", ctrlD, "EOF"},
		{"ctrl-c", "abc" + ctrlC, "interrupted"},
	} {
		for how, size := range map[string]int{"at once": len(c.keys), "key by key": 1} {
			if how == "at once" && strings.HasPrefix(c.name, "tab ") || how != "at once" && strings.HasPrefix(c.name, "paste without") {
				continue // what comes at once with its own indentation is taken for a paste
			}
			ty := newTypist(72, 24, theme{}, history...)
			var r *result
			keys := c.keys
			for len(keys) > 0 && r == nil {
				n := min(max(size, keyLen(keys)), len(keys))
				r = ty.press(keys[:n])
				keys = keys[n:]
			}
			got := ty.state()
			if r != nil {
				if got = strings.NewReplacer("\n", "⏎", "\t", "→").Replace(r.cell) + "."; r.err != nil {
					got = r.err.Error()
				}
			}
			if got != c.want {
				t.Errorf("%s, %s: got %s, want %s", c.name, how, got, c.want)
			}
		}
	}
}

// keyLen is how many bytes the first key of a script has.
func keyLen(keys string) int {
	if strings.HasPrefix(keys, pasteStart) {
		return strings.Index(keys, pasteEnd) + len(pasteEnd)
	}
	if keys[0] == 0x1b && len(keys) > 1 && (keys[1] == '[' || keys[1] == 'O') {
		n := 2
		for keys[n] < 0x40 {
			n++
		}
		return n + 1
	}
	if keys[0] == 0x1b && len(keys) > 1 {
		return 2
	}
	_, n := utf8.DecodeRuneInString(keys)
	return n
}

// A session that fails to answer, or takes its time, costs neither the cell nor a key.
func TestSessionAnswersLate(t *testing.T) {
	ty := newTypist(72, 24, theme{})
	ty.asker.complete = func(string, int) (int, []session.Completion) { panic("no idea") }
	ty.press("x.M" + tab + "at")
	if got := ty.screen.Text(); ty.state() != "x.Mat|" || !strings.Contains(got, "completions failed here: no idea\nIn [1]: x.Mat") {
		t.Errorf("got %s on\n%s", ty.state(), got)
	}

	ty = newTypist(72, 24, theme{})
	answer := make(chan struct{})
	o := &obedient{}
	ty.asker.complete = func(cell string, pos int) (int, []session.Completion) {
		<-answer
		return o.Complete(cell, pos)
	}
	ty.feed([]byte("x.Mat" + tab)) // Tab gives up waiting, and the completion comes when it comes
	ty.step(true)
	if ty.state() != "x.Mat|" {
		t.Errorf("before the answer: got %s", ty.state())
	}
	close(answer)
	ty.answer(<-ty.asker.answers)
	if ty.state() != "x.MatMul|" {
		t.Errorf("after the answer: got %s, want the completion", ty.state())
	}

	ty = newTypist(72, 24, theme{})
	answer = make(chan struct{})
	ty.feed([]byte("x.Mat" + tab))
	ty.asker.complete = func(cell string, pos int) (int, []session.Completion) {
		<-answer
		return o.Complete(cell, pos)
	}
	ty.step(true)
	ty.feed([]byte("h"))
	ty.step(true)
	close(answer)
	ty.answer(<-ty.asker.answers)
	if ty.state() != "x.Math|" {
		t.Errorf("after more keys: got %s, want the answer dropped", ty.state())
	}
}

// The cells of earlier runs may come after the prompt and after cells of this one: they are older all the
// same.
func TestOlderCells(t *testing.T) {
	ty := newTypist(72, 24, theme{}, "of a file")
	read := make(chan struct{})
	ty.Older(func() []string {
		<-read
		return []string{"first", "second"}
	})
	close(read)
	<-ty.ready
	for _, want := range []string{"of a file|", "second|", "first|", "first|"} {
		ty.press(up)
		if got := ty.state(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

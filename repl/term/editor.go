package term

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/chzyer/readline"
)

// An editor lets a person type cells. The rest of the package knows no more of it than this, so that a better one can
// take its place.
type editor interface {
	// ReadCell gives the n-th cell when the person has submitted it. The error is io.EOF (Ctrl-D) or an *interruptError.
	ReadCell(n int) (string, error)
	// Remember adds a cell to what can be recalled.
	Remember(cell string)
	// Print writes to the terminal, above the cell that is being typed if there is one.
	Print(b []byte) (int, error)
	Close() error
}

// An interruptError is a Ctrl-C while a cell was typed.
type interruptError struct {
	empty bool // nothing was typed
}

func (*interruptError) Error() string { return "interrupted" }

// lineEditor is chzyer/readline with whole cells: a cell is typed line by line, and recalled as one line with marks for
// its line breaks.
type lineEditor struct {
	rl         *readline.Instance
	keys       *keyReader
	view       *view
	theme      theme
	incomplete func(cell string) bool
	complete   completer
	history    []string

	mu     sync.Mutex
	before string    // lines of the cell that are submitted
	line   []rune    // the buffer after the last key, and
	pos    int       // where the cursor was
	paste  pasteMode // what the Return after a markPaste does
}

// pasteMode says what becomes of the Return that a keyReader sends after a paste.
type pasteMode int

const (
	pasteNone  pasteMode = iota
	pasteLines           // it submits all pasted lines but the last, which stays in the editor
	pasteStay            // it is swallowed: the text was inserted in the middle of a line, or is a single line
)

func newLineEditor(keys *keyReader, th theme, incomplete func(string) bool, complete completer) (*lineEditor, error) {
	e := &lineEditor{keys: keys, view: &view{theme: th}, theme: th, incomplete: incomplete, complete: complete}
	cfg := &readline.Config{
		Stdin:                  keys,
		Painter:                e.view,
		AutoComplete:           e,
		Listener:               e,
		FuncFilterInputRune:    e.filter,
		DisableAutoSaveHistory: true,
		HistoryLimit:           historyLimit,
		HistorySearchFold:      true,
		InterruptPrompt:        "^C",
		EOFPrompt:              "\n", // means: nothing
		FuncOnWidthChanged: func(changed func()) {
			readline.DefaultOnWidthChanged(func() {
				changed()
				if e.rl != nil {
					e.rl.Refresh()
				}
			})
		},
	}
	rl, err := readline.NewEx(cfg)
	if err != nil {
		return nil, fmt.Errorf("editor: %w", err)
	}
	e.rl = rl
	fmt.Fprint(os.Stdout, "\x1b[?2004h")
	return e, nil
}

// Close gives the terminal back as it was.
func (e *lineEditor) Close() error {
	fmt.Fprint(os.Stdout, "\x1b[?2004l")
	e.keys.Close() // ends readline's pending read, for which its Close waits
	return e.rl.Close()
}

func (e *lineEditor) Print(b []byte) (int, error) { return e.rl.Stdout().Write(b) }

func (e *lineEditor) Remember(cell string) { e.history = remember(e.history, cell) }

// ReadCell reads lines until they are a cell.
func (e *lineEditor) ReadCell(n int) (string, error) {
	prompt := fmt.Sprintf("In [%d]: ", n)
	e.view.margin = strings.Repeat(" ", len(prompt))
	cell, initial := "", ""
	for first := true; ; first = false {
		if first {
			e.rl.SetPrompt(e.theme.paint(green, prompt))
		} else {
			e.rl.SetPrompt(e.view.margin)
		}
		e.start(cell, initial)
		buffer, err := e.rl.Readline()
		mode := e.submitted()
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			return "", &interruptError{empty: first && strings.TrimSpace(buffer) == ""}
		case err == io.EOF && !first:
			return "", &interruptError{} // Ctrl-D on an empty continuation line gives the cell up, not the session
		case err != nil:
			return "", err
		}
		initial = ""
		if mode == pasteLines {
			i := strings.LastIndex(buffer, string(markNewline))
			buffer, initial = buffer[:i], buffer[i+len(string(markNewline)):]
		}
		text := fromBuffer(cell, buffer)
		if !first {
			text = cell + "\n" + text
		}
		if mode != pasteLines && !e.incomplete(text) {
			return text, nil
		}
		cell = text
		if initial == "" && !e.keys.ahead() {
			initial = strings.Repeat(indentation, indentAfter(cell))
		}
	}
}

// start prepares the buffer for the next line of a cell.
func (e *lineEditor) start(before, initial string) {
	e.mu.Lock()
	e.before, e.line, e.pos, e.paste = before, []rune(initial), len([]rune(initial)), pasteNone
	e.view.set(before, false)
	e.mu.Unlock()
	// Readline's history saves what it showed, not what it is told to save, once the person has gone back in it. So it is
	// made anew for each line.
	e.rl.ResetHistory()
	for _, h := range e.history {
		e.rl.SaveHistory(toBuffer(h))
	}
	if initial != "" {
		e.rl.Operation.SetBuffer(initial)
	}
}

// submitted says how the line came to its end.
func (e *lineEditor) submitted() pasteMode {
	e.mu.Lock()
	defer e.mu.Unlock()
	mode := e.paste
	e.paste = pasteNone
	return mode
}

// filter implements readline's FuncFilterInputRune: it may replace or swallow a key.
func (e *lineEditor) filter(r rune) (rune, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch r {
	case readline.CharEnter:
		if e.paste == pasteStay {
			e.paste = pasteNone
			return r, false
		}
	case markDelete:
		return readline.CharDelete, len(e.line) > 0
	case readline.CharCtrlW, readline.MetaBackspace:
		// Readline deletes the whole line when the word is the first one. Ctrl-U deletes what is before the cursor.
		if firstWord(e.line[:min(e.pos, len(e.line))]) {
			return readline.CharCtrlU, true
		}
	}
	return r, true
}

// firstWord says whether line ends in its first word.
func firstWord(line []rune) bool {
	for i := len(line) - 1; i > 0; i-- {
		if !readline.IsWordBreak(line[i]) && readline.IsWordBreak(line[i-1]) {
			return false
		}
	}
	return true
}

// OnChange implements readline.Listener: it is called after each key and may change the buffer.
func (e *lineEditor) OnChange(line []rune, pos int, key rune) ([]rune, int, bool) {
	if key == 0 {
		return nil, 0, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	changed := false
	switch {
	case key == markPaste:
		line, pos = e.insertPaste(line, pos)
		changed = true
	case strings.ContainsRune("})]", key) && isBlank(line[:max(pos-1, 0)]) && pos > tabColumns:
		line = append(line[:pos-1-tabColumns:pos-1-tabColumns], line[pos-1:]...) // a closing bracket stands one step to the left
		pos -= tabColumns
		changed = true
	case key == readline.CharBackspace && isBlank(line[:pos]) && pos%tabColumns == tabColumns-1 && len(e.line) == len(line)+1:
		back := pos % tabColumns
		line = append(line[:pos-back:pos-back], line[pos:]...)
		pos -= back
		changed = true
	}
	e.line, e.pos = append(e.line[:0:0], line...), pos
	return line, pos, changed
}

// insertPaste puts the pasted text where its mark is.
func (e *lineEditor) insertPaste(line []rune, pos int) ([]rune, int) {
	text := e.keys.takePaste()
	if pos == 0 || line[pos-1] != markPaste { // readline is searching its history: the mark went there
		e.paste = pasteStay
		return line, pos
	}
	if e.before == "" {
		text = toBuffer(text)
	} else {
		inserted := toBuffer(e.before + "\n" + text)
		text = inserted[len(toBuffer(e.before))+len(string(markNewline)):]
	}
	head, tail := line[:pos-1], line[pos:]
	multi := strings.ContainsRune(text, markNewline)
	e.paste = pasteStay
	if multi && len(tail) == 0 {
		e.paste = pasteLines
	}
	e.view.set(e.before, e.paste == pasteLines)
	pasted := []rune(text)
	all := append(append(append([]rune{}, head...), pasted...), tail...)
	return all, len(head) + len(pasted)
}

func isBlank(line []rune) bool { return strings.Trim(string(line), " ") == "" }

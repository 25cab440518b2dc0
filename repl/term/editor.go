package term

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/repl/term/edit"
	"github.com/mcs-notebook/mcs/repl/term/key"
)

// An editor lets a person type cells. The rest of the package knows no more of it than this.
type editor interface {
	// ReadCell gives the n-th cell when the person has submitted it. The error is io.EOF (Ctrl-D) or an
	// *interruptError.
	ReadCell(n int) (string, error)
	// Remember adds a cell to the history that can be recalled.
	Remember(cell string)
	// Older adds the cells of earlier runs, which load reads while the prompt is there already.
	Older(load func() []string)
	// Step has the person go through a file, on from where they are if it is the same one.
	Step(f File)
	// Ran is the step that was submitted last, or -1 if it was another cell.
	Ran() int
	// Prefill puts a text into the next cell that is read.
	Prefill(text string)
	// Print writes whole lines to the terminal, above the cell that is being typed if there is one.
	Print(b []byte) (int, error)
	// Status shows an unfinished line or progress above the cell that is being typed. It replaces the
	// earlier status.
	Status(line string)
	// Running says whether a cell runs, as it does from the submission on. Then Ctrl-C is a signal, at which
	// the system drops what the terminal has yet to read. Otherwise it is a key, so what mcs says after a
	// cell is seen however long it is held.
	Running(on bool)
	Close() error
}

// An interruptError is a Ctrl-C while a cell was typed.
type interruptError struct {
	empty bool // nothing was typed
}

func (*interruptError) Error() string { return "interrupted" }

// A console is the terminal as the editor needs it.
type console interface {
	io.Writer
	// Raw gives every key to the program; Cooked gives the terminal back as it was. Both may be called twice.
	Raw() error
	Cooked() error
	Size() (columns, rows int)
	// Reflows says whether the terminal wraps shown text again when its width changes.
	Reflows() bool
	// Ahead is how many bytes were typed before Raw: Return is a line feed in them.
	Ahead() int
	// Suspend stops the process until the shell continues it. Changes receives when the size changed or the
	// process was continued.
	Suspend()
	Changes() <-chan os.Signal
}

// escapeDelay is how long the bytes behind an ESC may take: over a slow line they come one by one.
const escapeDelay = 50 * time.Millisecond

// cellEditor edits whole cells. One goroutine reads keys; mu lets others print and close.
type cellEditor struct {
	console console
	source  *source
	theme   theme
	asker   asker
	ready   chan struct{} // closed when the cells of earlier runs are there
	closed  chan struct{}
	once    sync.Once

	mu      sync.Mutex
	buf     edit.Buffer
	keys    key.Decoder
	raw     bool // the terminal gives every key
	cooked  int  // bytes of the source that were typed before Raw
	reading bool
	prompt  string
	status  string
	prefill string
	past    past
	steps   steps
	search  *search // nil: no search is going on
	menu    *menu   // nil: no menu is open
	hint    hint
	view    view
	chord   bool // Ctrl-X was pressed
	result  *result
}

// A result is how the reading of a cell ended.
type result struct {
	cell string
	err  error
}

func newCellEditor(c console, s *source, th theme, ask asker) *cellEditor {
	ready := make(chan struct{})
	close(ready) // until Older says otherwise
	return &cellEditor{console: c, source: s, theme: th, asker: ask, ready: ready, closed: make(chan struct{}), view: view{theme: th}}
}

// Close ends a ReadCell that goes on and gives the terminal back.
func (e *cellEditor) Close() error {
	e.once.Do(func() { close(e.closed) })
	e.mu.Lock()
	defer e.mu.Unlock()
	e.restore()
	return e.release()
}

func (e *cellEditor) Running(on bool) {
	e.source.turn.Lock()
	defer e.source.turn.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if on {
		e.release()
	} else {
		e.seize() // if it fails, so does the next ReadCell
	}
}

// seize has the terminal give every key. The error is io.EOF if the editor is closed.
func (e *cellEditor) seize() error {
	select {
	case <-e.closed:
		return io.EOF
	default:
	}
	if e.raw {
		return nil
	}
	if err := e.console.Raw(); err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	e.raw = true
	e.source.gives(true)
	ahead := e.source.take()
	e.source.unread(ahead)
	e.cooked = len(ahead) + e.console.Ahead()
	return nil
}

// release gives the terminal back as it was before seize.
func (e *cellEditor) release() error {
	if !e.raw {
		return nil
	}
	e.raw = false
	e.source.gives(false)
	return e.console.Cooked()
}

func (e *cellEditor) Remember(cell string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.past.add(cell)
}

func (e *cellEditor) Older(load func() []string) {
	ready := make(chan struct{})
	e.ready = ready
	go func() {
		defer close(ready)
		cells := load()
		e.mu.Lock()
		defer e.mu.Unlock()
		e.past.older(cells)
	}()
}

func (e *cellEditor) Step(f File) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.steps = e.steps.begin(f)
}

func (e *cellEditor) Ran() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.steps.ran
}

func (e *cellEditor) Prefill(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.prefill = text
}

func (e *cellEditor) Print(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.reading {
		return e.console.Write(b)
	}
	e.view.painter.Erase()
	e.view.painter.Raw(string(b))
	e.draw()
	return len(b), nil
}

func (e *cellEditor) Status(line string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.status = line; e.reading {
		e.draw()
	}
}

// ReadCell reads keys until they are a cell.
func (e *cellEditor) ReadCell(n int) (string, error) {
	e.source.turn.Lock()
	defer e.source.turn.Unlock()
	ahead, err := e.begin(n)
	if err != nil {
		return "", err
	}
	e.step(false)
	<-e.ready
	e.feed(ahead)
	defer e.asker.settle() // the session must not be asked while it runs a cell
	var late <-chan time.Time
	for {
		r := e.step(late == nil)
		if r != nil {
			return r.cell, r.err
		}
		e.source.ask()
		select {
		case c := <-e.source.chunks:
			data := e.source.answered(c)
			if len(data) == 0 && c.err != nil {
				return e.end(c.err)
			}
			e.feed(data)
			late = nil
		case <-late:
			e.late()
			late = nil
			continue
		case a := <-e.asker.answers:
			e.answer(a)
		case <-e.console.Changes():
			e.changed()
		case <-e.closed:
			return e.end(io.EOF)
		}
		if late == nil && e.keys.Open() {
			late = time.After(escapeDelay)
		}
	}
}

// begin prepares the terminal for the n-th cell, and returns the bytes that were typed ahead.
func (e *cellEditor) begin(n int) (ahead []byte, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.seize(); err != nil {
		return nil, err
	}
	width, _ := e.console.Size()
	if news := e.steps.news(width, e.theme.style()); news != "" {
		io.WriteString(e.console, strings.ReplaceAll(news, "\n", "\r\n"))
	}
	e.prompt = fmt.Sprintf("In [%d]: ", n)
	e.buf.Set(e.prefill, len(e.prefill))
	prefilled := e.prefill != ""
	e.prefill, e.search, e.menu, e.hint, e.result, e.chord = "", nil, nil, hint{}, nil, false
	e.past.restart()
	e.view.restart()
	e.view.painter.Raw(pasteOn)
	e.reading = true
	ahead = e.source.take()
	if e.steps.due && !prefilled && len(ahead)+e.console.Ahead() == 0 { // keys that were typed ahead are a cell of their own
		e.steps.shown = true
		e.bring(e.steps.text(e.steps.at))
	}
	e.steps.due = false
	return ahead, nil
}

const (
	pasteOn  = "\x1b[?2004h"
	pasteOff = "\x1b[?2004l"
)

// restore ends what begin began.
func (e *cellEditor) restore() {
	if !e.reading {
		return
	}
	e.reading = false
	e.status = ""
	e.view.painter.Raw(pasteOff)
	e.flush()
}

// end leaves the cell as it stands on the screen.
func (e *cellEditor) end(err error) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.reading {
		e.finish("")
	}
	return "", err
}

// feed adds bytes of the terminal to the keys.
func (e *cellEditor) feed(b []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range b[:min(e.cooked, len(b))] {
		switch b[i] {
		case '\n':
			b[i] = '\r'
		case 0: // Linux keeps a Ctrl-D so, where no read has met it
			b[i] = 'D' - '@'
		}
	}
	e.cooked = max(e.cooked-len(b), 0)
	e.keys.Feed(b)
}

// step obeys the complete keys and draws the result. Idle says that the person may see it.
func (e *cellEditor) step(idle bool) *result {
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.result == nil {
		k, ok := e.keys.Next(false)
		if !ok {
			break
		}
		e.press(k)
	}
	if e.result == nil {
		if idle {
			e.askHint()
		}
		e.draw()
	}
	return e.result
}

// late takes the bytes of an unfinished sequence as single keys.
func (e *cellEditor) late() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if k, ok := e.keys.Next(true); ok {
		e.press(k)
	}
}

// press obeys one key.
func (e *cellEditor) press(k key.Key) {
	before := e.buf.Text()
	switch {
	case e.search != nil && e.pressSearch(k):
	case e.menu != nil && e.pressMenu(k):
	case e.chord:
		e.chord = false
		if f := chords[k]; f != nil {
			f(e)
		}
	case k.Code == key.Paste:
		e.paste(k.Text)
	default:
		if f := bindings[k]; f != nil {
			f(e)
		} else if k.Printable() {
			e.buf.TypeRune(rune(k.Code))
		}
	}
	if e.buf.Text() != before {
		e.past.edited(e.buf.Text())
	}
}

// changed answers the signals of the console: another size, or the process goes on after it was stopped, and
// a shell may have changed the terminal's modes and written where the cell was.
func (e *cellEditor) changed() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.reading {
		return
	}
	if columns, rows := e.console.Size(); columns == e.view.columns && rows == e.view.rows {
		e.console.Raw() // if it fails, so does the next read
		e.view.painter.Erase()
		e.view.painter.Raw(pasteOn)
	}
	e.draw()
}

// suspend leaves the terminal to the shell, and draws the cell again when the process is continued.
func (e *cellEditor) suspend() {
	e.draw()
	e.view.painter.Leave()
	e.view.painter.Raw(pasteOff)
	e.flush()
	e.console.Cooked()
	e.console.Suspend()
	e.console.Raw()
	e.view.painter.Raw(pasteOn)
	e.view.restart()
}

// finish shows the whole cell with its end mark.
func (e *cellEditor) finish(mark string) {
	e.search, e.menu, e.hint = nil, nil, hint{}
	e.sized()
	e.view.finish(e.scene(), mark)
	e.restore()
}

func (e *cellEditor) submit(cell string) {
	e.steps.shown = e.stepping()
	e.finish("")
	e.release() // what is typed from now on may be for the cell
	e.steps.ended(true)
	e.result = &result{cell: cell}
}

// interrupt gives the cell up. A step that was changed comes again as it is.
func (e *cellEditor) interrupt() {
	empty := e.buf.Text() == ""
	if e.stepping() {
		e.steps.keep(e.buf.Text())
	}
	e.finish("^C")
	e.steps.ended(false)
	e.result = &result{err: &interruptError{empty: empty}}
}

// draw brings the screen up to date.
func (e *cellEditor) draw() {
	e.sized()
	e.view.draw(e.scene())
	e.flush()
}

// sized tells the view how large the window is now.
func (e *cellEditor) sized() {
	columns, rows := e.console.Size()
	e.view.resize(columns, rows, e.console.Reflows())
}

func (e *cellEditor) flush() {
	if out := e.view.painter.Take(); len(out) > 0 {
		e.console.Write(out) // a terminal that is gone is noticed by the next read
	}
}

// external runs f, another program that uses the terminal, with the terminal as it was before.
func (e *cellEditor) external(f func()) {
	e.view.painter.Erase()
	e.view.painter.Raw(pasteOff)
	e.flush()
	e.console.Cooked()
	f()
	e.console.Raw()
	e.view.painter.Raw(pasteOn)
	e.view.restart()
}

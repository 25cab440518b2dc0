// Package term is the notebook in a terminal: it reads cells, runs them in a session and shows their
// values.
//
// The terminal is the process's own. Bytes come in through a source that the editor and running cells share
// (source.go). They become keys (package key), operations on a buffer (bindings.go, package edit) and rows on
// the screen (view.go, package paint). A submitted cell runs in a [Session], and its values are printed in
// the colours of a theme. Reading order: term.go, show.go, pictures.go, editor.go, bindings.go, view.go; then
// past.go and search.go (the history), menu.go, ask.go and below.go (the session's answers about the place of
// the cursor), console_unix.go.
package term

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/journal"
	"github.com/mcs-notebook/mcs/repl/session"
	"github.com/mcs-notebook/mcs/repl/term/picture"
	xterm "golang.org/x/term"
)

// A Session is the terminal's view of a session; *session.Session implements it.
type Session interface {
	Run(ctx context.Context, cell string) session.Result
	Next() int
	Complete(cell string, pos int) (from int, list []session.Completion)
	Hint(cell string, pos int) (session.Hint, bool)
	Close() error
}

// A Guide is a Session that leads the person through a file: it says after a cell with which step the person
// goes on.
type Guide interface {
	// RunStep runs a cell as the i-th step of the file.
	RunStep(ctx context.Context, i int, cell string) session.Result
	// NextStep is the file with the step; ok is false if the person stays as they are.
	NextStep() (f File, ok bool)
}

// Options configure the notebook.
type Options struct {
	// Open starts the session. The terminal has filled in the streams and the progress; Open adds the rest.
	Open func(session.Options) (Session, error)
	// Complete completes command lines (%name …, !command, name?), in the manner of Session.Complete. It is
	// asked first; a nil list leaves the place to the session.
	Complete func(cell string, pos int) (from int, list []session.Completion)
	// Banner is the header line, or empty.
	Banner string
	// Begin runs cells before the first prompt, and returns the file of cells that the person steps through
	// in place of File; nil: none are to be run.
	Begin func(run func(cell string) session.Result) File
	// Left is called when the person leaves; nil: nobody asks.
	Left func()
	// File is the file through which the person steps; the zero File is none.
	File File
}

// IsTerminal says whether standard input and standard output are both terminals.
func IsTerminal() bool {
	return xterm.IsTerminal(int(os.Stdin.Fd())) && xterm.IsTerminal(int(os.Stdout.Fd()))
}

// notebook is one run of the terminal.
type notebook struct {
	session    Session
	editor     editor
	out        *output
	progress   *display.Progress
	input      *cellInput
	interrupts *interrupts
	theme      theme
	pictures   *pictures
	history    atomic.Pointer[historyFile] // nil: nothing is kept
	hinted     int                         // Ctrl-C on empty lines in a row
	asked      bool                        // the last key was Ctrl-D, and there is something to lose
}

// Run runs the notebook. It returns nil when the person leaves, when the terminal goes away, or when ctx
// ends.
func Run(ctx context.Context, o Options) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	dumb := os.Getenv("TERM") == "dumb"
	source := newSource(os.Stdin)
	nb := &notebook{
		out:        new(output),
		input:      &cellInput{source: source},
		interrupts: watchInterrupts(),
		theme:      theme{enabled: !dumb && os.Getenv("NO_COLOR") == "", fixed: picture.DepthOf(os.Getenv) != picture.Few},
	}
	defer nb.interrupts.close()
	var end *time.Timer
	defer func() {
		if end != nil {
			end.Stop() // all is closed
		}
	}()
	nb.progress = display.NewProgress(nb.out, !dumb, columns, nb.theme.style())
	var err error
	nb.session, err = o.Open(session.Options{Stdin: nb.input, Stdout: nb.progress, Stderr: nb.progress,
		Progress: nb.progress.Update, Draw: nb.draw, Render: nb.render})
	if err != nil {
		return err
	}
	defer nb.session.Close()
	if dumb {
		nb.editor = &dumbEditor{source: source, interrupts: nb.interrupts}
	} else {
		nb.input.editor = newCellEditor(openConsole(), source, nb.theme, newAsker(nb.completer(o.Complete), nb.session.Hint))
		nb.editor = nb.input.editor
	}
	nb.pictures = nb.newPictures(dumb)
	defer nb.editor.Close()
	defer context.AfterFunc(ctx, func() {
		nb.leaveSoon(exitTerminated)
		nb.editor.Close()
	})()
	nb.out.editor = nb.editor
	if o.Banner != "" {
		fmt.Fprintf(nb.out, "%s\n\n", strings.Join(display.Wrap(o.Banner, columns(), 0), "\n"))
	}
	if o.Begin != nil {
		o.File = o.Begin(func(cell string) session.Result { return nb.again(ctx, cell) })
	}
	nb.step(o.File, dumb)
	nb.loadHistory()
	err = nb.loop(ctx)
	if err == nil && o.Left != nil {
		o.Left()
	}
	end = nb.leaveSoon(0)
	return err
}

// step begins a file that the person steps through.
func (nb *notebook) step(f File, dumb bool) {
	if len(f.Steps) == 0 {
		return
	}
	how := "a run brings the next one, PageDown and PageUp turn to others, Ctrl-C leaves them for a line of your own"
	switch { // a dumb terminal reads lines, and cannot put a cell at the prompt
	case dumb && f.Path == "":
		return
	case dumb:
		how = "%run " + f.Path + " runs them"
	}
	nb.say(fmt.Sprintf("%s has %s: %s", f.Name, units.Plural(int64(len(f.Steps)), "cell"), how))
	fmt.Fprintln(nb.out)
	nb.editor.Step(f)
}

// say prints a note of the notebook's own.
func (nb *notebook) say(line string) {
	fmt.Fprintln(nb.out, nb.theme.paint(grey, strings.Join(display.Wrap(visible.Line(line), columns(), 0), "\n")))
}

// again runs a cell of an earlier session.
func (nb *notebook) again(ctx context.Context, cell string) session.Result {
	front := fmt.Sprintf("In [%d]: ", nb.session.Next())
	text := front + strings.ReplaceAll(cell, "\n", "\n"+strings.Repeat(" ", len(front)))
	fmt.Fprintln(nb.out, nb.theme.paint(grey, visible.Text(text)))
	return nb.run(ctx, cell, -1)
}

// guided goes on behind a cell with the step that the session's guide wants.
func (nb *notebook) guided(r session.Result) {
	g, ok := nb.session.(Guide)
	if !ok {
		return
	}
	f, ok := g.NextStep()
	if !ok {
		return
	}
	if nb.editor.Step(f); !r.Out {
		fmt.Fprintln(nb.out)
	}
}

// completer asks for commands before it asks the session.
func (nb *notebook) completer(commands completer) completer {
	return func(cell string, pos int) (int, []session.Completion) {
		if commands != nil {
			if from, list := commands(cell, pos); list != nil {
				return from, list
			}
		}
		return nb.session.Complete(cell, pos)
	}
}

func (nb *notebook) loadHistory() {
	path, err := journal.Place("history") // in the user's configuration folder
	if err == nil {
		file := historyFile{path}
		nb.history.Store(&file)
		nb.editor.Older(func() []string {
			cells, err := file.load()
			nb.historyFailed(err)
			return cells
		})
	}
}

// historyFailed says once that the history is not kept, and why.
func (nb *notebook) historyFailed(err error) {
	if err != nil && nb.history.Swap(nil) != nil {
		fmt.Fprintln(nb.out, nb.theme.paint(grey, visible.Line(err.Error())+"; cells are not kept"))
	}
}

// loop reads and runs cells until the person leaves.
func (nb *notebook) loop(ctx context.Context) error {
	for {
		nb.progress.FreshLine()
		nb.out.setTyping(true)
		cell, err := nb.editor.ReadCell(nb.session.Next())
		nb.out.setTyping(false)
		var interrupt *interruptError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &interrupt):
			nb.interrupted(interrupt)
			continue
		case err == io.EOF && !nb.asked && nb.asks():
			nb.asked = true
			continue
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("terminal: %w", err)
		}
		nb.hinted, nb.asked = 0, false
		if strings.TrimSpace(cell) == "" {
			continue
		}
		switch nb.habit(cell) {
		case "exit", "quit":
			return nil
		case "help":
			cell = "%help"
		}
		nb.editor.Remember(cell)
		if history := nb.history.Load(); history != nil {
			nb.historyFailed(history.add(cell))
		}
		nb.guided(nb.run(ctx, cell, nb.editor.Ran()))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// asks asks whether the names of the session may go, if it has any.
func (nb *notebook) asks() bool {
	s, ok := nb.session.(interface{ Vars() []session.Var })
	if !ok {
		return false
	}
	names := int64(0)
	for _, v := range s.Vars() {
		if v.Kind != "import" {
			names++
		}
	}
	if names > 0 {
		nb.say("Ctrl-D again leaves and forgets " + units.Plural(names, "name") + "; %save FILE.mcs keeps the cells; exit leaves without a question")
	}
	return names > 0
}

// habit returns the word that a cell has by habit, alone or as a call: exit, quit or help. It is empty for
// other cells, and if the session has such a name.
func (nb *notebook) habit(cell string) string {
	word := strings.TrimSuffix(strings.TrimSpace(cell), "()")
	if word != "exit" && word != "quit" && word != "help" {
		return ""
	}
	_, list := nb.session.Complete(word, len(word))
	if slices.ContainsFunc(list, func(c session.Completion) bool { return c.Text == word }) {
		return ""
	}
	return word
}

// interrupted answers Ctrl-C while no cell runs: a second press leaves the notebook.
func (nb *notebook) interrupted(e *interruptError) {
	nb.asked = false
	if !e.empty {
		nb.hinted = 0
		return
	}
	if nb.hinted++; nb.hinted == 2 {
		fmt.Fprintln(nb.out, nb.theme.paint(grey, "Ctrl-D leaves"))
		nb.hinted = 0
	}
}

// run runs one cell, which may be a step of a file, and shows its values.
func (nb *notebook) run(ctx context.Context, cell string, step int) session.Result {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	meant := 0
	stop := nb.interrupts.each(func(again bool) {
		nb.progress.Echoed()
		if again || meant == 0 {
			meant++
			nb.pressed(meant, cancel)
		}
	})
	nb.editor.Running(true)
	nb.input.begin()
	defer context.AfterFunc(ctx, nb.input.End)()
	var result session.Result
	if g, ok := nb.session.(Guide); ok && step >= 0 {
		result = g.RunStep(ctx, step, cell)
	} else {
		result = nb.session.Run(ctx, cell)
	}
	stop()
	nb.input.End()
	nb.editor.Running(false)
	nb.progress.Finish()
	nb.progress.FreshLine()
	nb.show(result)
	return result
}

// pressed answers the n-th Ctrl-C while a cell runs. The first cancels the cell's context; a cell that does
// not stop is dropped by the second, and the third leaves it behind together with the session.
func (nb *notebook) pressed(n int, cancel func()) {
	say := func(text string) {
		nb.progress.FreshLine()
		fmt.Fprintln(nb.progress, nb.theme.paint(grey, text))
	}
	switch n {
	case 1:
		cancel()
	case 2:
		say("the cell is dropped; Ctrl-C again leaves mcs and loses the session: all variables, not the history")
		if s, ok := nb.session.(interface{ Kill() }); ok {
			s.Kill()
		}
	default:
		if names := durable.Saving(); len(names) > 0 { // leaving must not cost a checkpoint
			say("saving " + visible.Line(strings.Join(names, ", ")) + "; Ctrl-C leaves mcs after it")
			return
		}
		nb.leave(exitInterrupted)
	}
}

const (
	exitInterrupted = 130 // 128 + SIGINT, as a shell reports it
	exitTerminated  = 143 // 128 + SIGTERM
	// lastMoment is the time for running code to stop, or to begin to save, before the process ends.
	lastMoment = 800 * time.Millisecond
)

// leaveSoon ends the process after lastMoment, whatever the session does then, but not in the middle of
// writing a file.
func (nb *notebook) leaveSoon(code int) *time.Timer {
	return time.AfterFunc(lastMoment, func() {
		durable.Finish()
		nb.leave(code)
	})
}

// leave ends the process and gives the terminal back.
func (nb *notebook) leave(code int) {
	restored := make(chan struct{})
	go func() {
		defer close(restored)
		_ = nb.editor.Close()
	}()
	select {
	case <-restored:
	case <-time.After(lastMoment / 8): // a terminal that takes no output
	}
	os.Exit(code)
}

// columns is the terminal's width now.
func columns() int {
	if w, _, err := xterm.GetSize(int(os.Stdout.Fd())); err == nil && w > 0 {
		return w
	}
	return 80
}

// rows is the terminal's height now.
func rows() int {
	if _, h, err := xterm.GetSize(int(os.Stdout.Fd())); err == nil && h > 0 {
		return h
	}
	return 24
}

// output is the terminal as a writer: above the editor while a cell is typed, directly otherwise.
type output struct {
	editor editor

	mu     sync.Mutex
	typing bool
	part   []byte // of a line that was printed while a cell is typed
}

func (o *output) setTyping(on bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.typing = on
	if !on && len(o.part) > 0 {
		os.Stdout.Write(append(o.part, '\n'))
		o.part = nil
	}
}

// Write prints whole lines above a cell that is being typed, which is drawn again right after them. A line
// that is not complete, or is drawn again and again as progress is, stands above the prompt until it is.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.typing {
		return os.Stdout.Write(b)
	}
	o.part = append(o.part, b...)
	if i := bytes.LastIndexByte(o.part, '\n'); i >= 0 {
		lines := o.part[:i+1]
		o.part = bytes.Clone(o.part[i+1:])
		if _, err := o.editor.Print(lines); err != nil {
			return 0, err
		}
	}
	if i := bytes.LastIndexByte(o.part, '\r'); i >= 0 && i < len(o.part)-1 {
		o.part = bytes.TrimPrefix(o.part[i+1:], []byte("\x1b[K"))
	}
	o.editor.Status(string(o.part))
	return len(b), nil
}

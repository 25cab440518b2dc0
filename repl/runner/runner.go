// Package runner runs the cells of a notebook in a session, for front ends that show pages: what a cell
// prints, shows and draws becomes messages, in the words of Jupyter's
// (jupyter-client.readthedocs.io/en/stable/messaging.html): stream, display_data, update_display_data,
// execute_result, error, clear_output. repl/jupyter sends them to clients, repl/web to a browser.
//
// Reading order: runner.go, output.go, which joins what comes fast, input.go, ask.go.
package runner

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session"
	"github.com/mcs-notebook/mcs/repl/term"
)

// TextWidth is how many columns plain text has: those for which the expected output of files is written.
const TextWidth = 80

// A Session is the runner's view of a session; *session.Session implements it.
type Session interface {
	Run(ctx context.Context, cell string) session.Result
	Next() int
	Complete(cell string, pos int) (from int, list []session.Completion)
	Hint(cell string, pos int) (session.Hint, bool)
	Kill()
	Close() error
}

// A Titled is a Session to which the titles of cells mean something.
type Titled interface {
	RunTitled(ctx context.Context, title, cell string) session.Result
}

// Options configure a runner.
type Options struct {
	// Open starts the session. The runner has filled in the streams and the rest of what it shows.
	Open func(session.Options) (Session, error)
	// Complete completes command lines, in the manner of Session.Complete. It is asked first; a nil list
	// leaves the place to the session.
	Complete func(cell string, pos int) (from int, list []session.Completion)
	// Inspect describes a name, with all in full.
	Inspect func(name string, all bool) (display.Value, error)
}

// A Runner runs the cells of one notebook, one at a time.
type Runner struct {
	o       Options
	session Session
	out     *output
	input   *input
	payload []map[string]any // of the cell that runs

	mu      sync.Mutex
	stop    context.CancelFunc // of what runs, or nil
	pressed int                // how often it was interrupted
}

// New starts a session.
func New(o Options) (*Runner, error) {
	r := &Runner{o: o, out: newOutput()}
	r.input = &input{flush: r.out.flush}
	var err error
	r.session, err = o.Open(session.Options{Stdin: r.input, Stdout: r.out.stream("stdout"), Stderr: r.out.stream("stderr"),
		Render: r.render, Show: r.out.show, Progress: r.out.progress.Update, Draw: func(state func() display.Value) { r.out.progress.Draw(state, 0) }})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Close ends the session. What a cell has printed is sent before Close returns.
func (r *Runner) Close() {
	_ = r.session.Close()
	r.out.flush()
}

// lastMoment is the time for a cell to stop, and to begin to save, when its front end goes.
const lastMoment = 2 * time.Second

// End ends the session of a front end that goes, once the goroutine that runs cells has ended, and waits for
// files that are being saved.
func (r *Runner) End(ended <-chan struct{}) {
	select {
	case <-ended:
	case <-time.After(lastMoment):
	}
	r.Close()
	durable.Finish()
	r.Flush()
}

// Flush sends the printed text that waits for more.
func (r *Runner) Flush() { r.out.flush() }

// Next is the number of the next cell.
func (r *Runner) Next() int { return r.session.Next() }

// A Cell is a request to run code.
type Cell struct {
	Title string // or empty
	Code  string
	// Send gets the messages about the cell, until another one runs; nil: nobody sees them.
	Send func(kind string, content any)
	// Ask asks the person for a line of standard input, until ended is closed; nil: the input is empty.
	Ask func(ended <-chan struct{}) (line string, ok bool)
}

// An Outcome is what became of a cell.
type Outcome struct {
	N       int              // its number
	Failure *Failure         // nil if it has succeeded
	Payload []map[string]any // what the client is to do: set_next_input, page
	Text    string           // that of the last value
}

// A Failure is the error of a cell.
type Failure struct {
	Name      string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"` // in colours
}

// Run runs a cell until it has ended, or was interrupted.
func (r *Runner) Run(ctx context.Context, c Cell) Outcome {
	r.out.begin(c.Send)
	r.input.begin(c.Ask)
	o := Outcome{N: r.Next() - 1, Payload: []map[string]any{}}
	if strings.TrimSpace(c.Code) == "" {
		return o
	}
	o.N = r.Next()
	r.out.publish("execute_input", map[string]any{"code": c.Code, "execution_count": o.N})
	r.payload = o.Payload
	result := r.run(ctx, c.Title, c.Code)
	r.out.end()
	o.Text = r.show(result, c.Code)
	if result.Err != nil {
		o.Failure = failureOf(result.Err)
		r.out.publish("error", o.Failure)
	}
	r.Flush()
	o.N, o.Payload = result.N, r.payload
	return o
}

// Value is the value of an expression: a cell of its own, which nobody sees.
func (r *Runner) Value(ctx context.Context, code string) (display.Bundle, *Failure) {
	defer r.out.hush()()
	result := r.run(ctx, "", code)
	switch {
	case result.Err != nil:
		return nil, failureOf(result.Err)
	case len(result.Shown) == 0 || result.Shown[len(result.Shown)-1] == nil:
		return display.Bundle{}, nil
	}
	return Bundled(result.Shown[len(result.Shown)-1]), nil
}

// Begin lets Interrupt stop what runs in the context that it returns, until end. A front end calls it before
// it says that a cell runs: a person who reads that may interrupt at once.
func (r *Runner) Begin(ctx context.Context) (within context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.stop
	if r.stop = cancel; before == nil {
		r.pressed = 0
	}
	return ctx, func() {
		cancel()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.stop = before
	}
}

// run runs a cell, which Interrupt stops.
func (r *Runner) run(ctx context.Context, title, code string) session.Result {
	ctx, end := r.Begin(ctx)
	defer end()
	defer r.input.End()
	defer context.AfterFunc(ctx, r.input.End)()
	if s, ok := r.session.(Titled); ok {
		return s.RunTitled(ctx, title, code)
	}
	return r.session.Run(ctx, code)
}

// Interrupt stops the cell that runs; again, a cell that does not stop is dropped.
func (r *Runner) Interrupt() {
	r.mu.Lock()
	stop := r.stop
	r.pressed++
	again := r.pressed > 1
	r.mu.Unlock()
	switch {
	case stop == nil:
	case again:
		r.session.Kill()
	default:
		stop()
	}
}

// bundles are the finished parts of a value.
type bundles []display.Bundle

// Text is that of the parts, one below the other.
func (b bundles) Text(int) string {
	texts := make([]string, len(b))
	for i, each := range b {
		texts[i] = each.Text(0)
	}
	return strings.Join(texts, "\n")
}

// render finishes a value while its cell runs.
func (r *Runner) render(v display.Value, _ int) display.Value {
	switch v := v.(type) {
	case display.Preloader:
		r.next(strings.Join(v.Preload(), "\n\n"))
	case display.Editable:
		r.next(v.Edit())
		return bundles{}
	case display.Compound:
		var list bundles
		for _, each := range v.Values() {
			list = append(list, display.Bundled(each, TextWidth))
		}
		return list
	}
	return display.Bundled(v, TextWidth)
}

// next puts a text into the client's next cell.
func (r *Runner) next(text string) {
	r.payload = append(r.payload, map[string]any{"source": "set_next_input", "text": text, "replace": false})
}

// Bundled is a value that render or the session has finished.
func Bundled(v display.Value) display.Bundle { return display.BundleOf(v, TextWidth) }

// show sends the values of a cell that has ended, and returns the text of the last.
func (r *Runner) show(result session.Result, code string) (last string) {
	drawn := -1 // the drawing that stays
	if n := len(result.Drawn); n > 0 {
		drawn = result.Drawn[n-1]
	}
	page := isPage(code)
	for i, v := range result.Shown {
		switch {
		case v == nil:
			continue
		case page:
			r.payload = append(r.payload, map[string]any{"source": "page", "data": Bundled(v), "start": 0})
			continue
		case i == drawn && r.out.drawn(Bundled(v)):
			continue
		case result.Out && i == len(result.Shown)-1:
			last = v.Text(TextWidth)
			r.out.publish("execute_result", map[string]any{"execution_count": result.N, "data": Bundled(v), "metadata": map[string]any{}})
			continue
		}
		last = v.Text(TextWidth)
		r.out.show(v)
	}
	return last
}

// isPage says whether a cell asks what a name is, or for the help of a command: clients show the answer
// beside the notebook.
func isPage(code string) bool {
	pieces := cell.Split(strings.TrimSpace(code))
	if len(pieces) != 1 || pieces[0].Kind != cell.Command {
		return false
	}
	name, _, _ := cell.ParseCommand(code)
	return name == "?" || name == "??" || name == "help"
}

// failureOf is an error of a cell as clients show it.
func failureOf(err error) *Failure {
	var refused *session.CheckError
	var panicked *session.PanicError
	name := "error"
	switch {
	case errors.Is(err, session.ErrInterrupted):
		name = "interrupted"
	case errors.As(err, &refused):
		name = "refused"
	case errors.As(err, &panicked):
		name = "panic"
	}
	text := strings.TrimRight(err.Error(), "\n")
	return &Failure{name, cell.Line(visible.Text(text), 1), strings.Split(term.ErrorText(text, TextWidth), "\n")}
}

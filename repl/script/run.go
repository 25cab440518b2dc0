// Package script runs .mcs files cell by cell ([Run]), compares the output with the expected lines
// ([Match]), and writes new expected lines into the text ([Report.Update]). Package mcsfile reads the
// files. Reading order: match.go, align.go, run.go.
package script

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
	"github.com/mcs-notebook/mcs/repl/session"
	"github.com/mcs-notebook/mcs/stdlib"
)

// A Runner runs cells one after the other. *session.Session implements it.
type Runner interface {
	Run(ctx context.Context, cell string) session.Result
}

// Options say how a file is run.
type Options struct {
	// Open starts a session that prints to stdout and renders values as text. Expected output is written
	// for 80 columns.
	Open func(stdout io.Writer) (Runner, error)
	// Stdout receives the output and the values of cells as they come. nil drops them.
	Stdout io.Writer
	// Check compares every cell's output with the expected output. Without it only errors count, and an
	// error that the file expects is not one.
	Check bool
	// Record goes on after a cell that has expected output and fails, so that Update can write the error
	// down.
	Record bool
	// Limit is how long a cell may run, unless its mark says so, which only counts with Check. Longer is an
	// error that no file expects. 0: no limit.
	Limit time.Duration
	// Only says which cells are compared, with Check. Those before them run, too, and the rest do not. nil:
	// all.
	Only func(*mcsfile.Cell) bool
	// Done is called with the outcome of each cell that has run. nil: nobody asks.
	Done func(Outcome)
}

// An Outcome is how a cell went.
type Outcome struct {
	Cell   *mcsfile.Cell
	N      int // the cell's number in the session
	Took   time.Duration
	Asked  bool   // Only wants it
	Diff   string // as Diff writes it; "" if the output is as expected, or not compared
	Err    error  // that ended the run
	Value  string // the text of the last value that the cell has shown
	Result session.Result
}

// A Report is the result of a run.
type Report struct {
	Cells      int // that ran
	Mismatches []Mismatch
	Failed     *Failure
	Recorded   []Failure // errors that Update will write down as expected
	Exit       int       // exit code of os.Exit in a cell
	outputs    map[*mcsfile.Cell]string
	varying    map[*mcsfile.Cell]map[string]string // lines of the output that are others each time, and what stands for them
}

// A Mismatch is a cell whose output differs from the expected one.
type Mismatch struct {
	Cell *mcsfile.Cell
	N    int    // the cell's number in the session
	Line int    // of the expected output in the file
	Diff string // as Diff writes it
}

// A Failure is the cell that ended a run with an error.
type Failure struct {
	Cell *mcsfile.Cell
	N    int
	Err  error
}

// OK says whether all cells ran and matched.
func (r *Report) OK() bool { return r.Failed == nil && len(r.Mismatches) == 0 && r.Exit == 0 }

// Run runs the file's cells in a new session, up to the first cell with an error that the file does not
// expect. The returned error is about starting the session; errors of cells are in the Report.
func Run(ctx context.Context, f *mcsfile.File, o Options) (*Report, error) {
	if err := f.Problem(); err != nil && o.Check {
		return nil, err
	}
	var output bytes.Buffer
	stdout := io.MultiWriter(&output, cmp.Or(o.Stdout, io.Discard))
	runner, err := o.Open(stdout)
	if err != nil {
		return nil, err
	}
	if c, ok := runner.(io.Closer); ok {
		defer c.Close()
	}
	report := &Report{outputs: map[*mcsfile.Cell]string{}, varying: map[*mcsfile.Cell]map[string]string{}}
	for _, cell := range o.wanted(f.Code()) {
		output.Reset()
		start := time.Now()
		result, late := o.run(ctx, runner, cell)
		report.Cells++
		report.varying[cell] = loosened(result)
		outcome := Outcome{Cell: cell, N: result.N, Took: time.Since(start), Value: show(stdout, &output, result), Result: result}
		more := o.judge(ctx, report, &outcome, result.Err, late, stdout, &output)
		if o.Done != nil {
			o.Done(outcome)
		}
		if !more {
			break
		}
	}
	return report, nil
}

// wanted returns the cells up to the last that is compared.
func (o Options) wanted(cells []*mcsfile.Cell) []*mcsfile.Cell {
	if o.Only == nil {
		return cells
	}
	for len(cells) > 0 && !o.Only(cells[len(cells)-1]) {
		cells = cells[:len(cells)-1]
	}
	return cells
}

// judge compares what a cell has put out with what the file expects. More says that the next cell may run.
func (o Options) judge(ctx context.Context, report *Report, outcome *Outcome, err error, late bool, stdout io.Writer, output *bytes.Buffer) (more bool) {
	cell := outcome.Cell
	asked := o.Only == nil || o.Only(cell)
	outcome.Asked = asked
	note := func(text string) {
		if asked {
			report.outputs[cell] = text
		}
	}
	if exit, ok := errors.AsType[stdlib.ExitRequest](err); ok { // os.Exit or log.Fatal
		report.Exit = exit.Code
		note(output.String())
		if exit.Code != 0 {
			outcome.Err = fmt.Errorf("the cell ended the run with exit status %d", exit.Code)
		}
		return false
	}
	if err == nil {
		note(output.String())
		if asked && o.Check && cell.Checked {
			if outcome.Diff = Diff(cell.Want, output.String()); outcome.Diff != "" {
				report.Mismatches = append(report.Mismatches, Mismatch{cell, outcome.N, cell.WantLine, outcome.Diff})
			}
		}
		return true
	}
	freshLine(stdout, output)
	failure := visible.Text(err.Error())
	shown := output.String()
	text := shown + failure
	note(text)
	// The lines must match with the error and not without it: "..." allows any figures, and must not
	// allow an assertion about them to fail.
	matches := Match(cell.Want, text)
	expected := cell.Checked && (matches && !Match(cell.Want, shown) || o.Record && asked && !matches)
	if !expected || late || ctx.Err() != nil {
		report.Failed, outcome.Err = &Failure{cell, outcome.N, err}, err
		return false
	}
	if !matches {
		report.Recorded = append(report.Recorded, Failure{cell, outcome.N, err})
	}
	fmt.Fprintln(stdout, failure)
	return true
}

// run runs a cell within its limit. Late says that the cell was stopped because it took longer.
func (o Options) run(ctx context.Context, runner Runner, cell *mcsfile.Cell) (result session.Result, late bool) {
	limit := o.Limit
	if o.Check && cell.Limit > 0 {
		limit = cell.Limit
	}
	if limit <= 0 {
		return runner.Run(ctx, cell.Source), false
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	result = runner.Run(within, cell.Source)
	if result.Err != nil && ctx.Err() == nil && within.Err() != nil {
		result.Err = fmt.Errorf("the cell was stopped: it took longer than %s", units.Duration(limit))
		late = true
	}
	return result, late
}

// show writes the values of a cell, each on lines of its own, and returns the text of the last. Output is
// the cell's printed text so far.
func show(w io.Writer, output *bytes.Buffer, result session.Result) (last string) {
	for _, v := range result.Shown {
		freshLine(w, output)
		if text := display.Styled(v, 0, nil); text != "" {
			last = strings.TrimRight(text, "\n")
			fmt.Fprintln(w, last)
		}
	}
	return last
}

// freshLine ends a line that a cell has begun.
func freshLine(w io.Writer, output *bytes.Buffer) {
	if n := output.Len(); n > 0 && output.Bytes()[n-1] != '\n' {
		fmt.Fprintln(w)
	}
}

// Where names the place of a cell in its file.
func Where(f *mcsfile.File, cell *mcsfile.Cell, n int) string {
	return fmt.Sprintf("%s: cell %d", f.At(cell.Line), n)
}

// Update returns the file's text with new expected output for the cells that ran and did not match.
func (r *Report) Update(f *mcsfile.File) string {
	want := map[*mcsfile.Cell][]string{}
	for cell, output := range r.outputs {
		if cell.Checked && !Match(cell.Want, output) {
			want[cell] = loosen(Update(cell.Want, output), cell.Want, r.varying[cell])
		}
	}
	return f.WithWant(want)
}

// Package script runs .mcs files: cell by cell ([Run]), the output held against the expected lines ([Match])
// and, when asked, written back ([Report.Update]). Package mcsfile reads the files. Reading order: match.go,
// align.go, run.go.
package script

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
	"github.com/mcs-notebook/mcs/repl/session"
	"github.com/mcs-notebook/mcs/stdlib"
)

// A Runner runs cells one after the other. *session.Session is one.
type Runner interface {
	Run(ctx context.Context, cell string) session.Result
}

// Options say how a file is run.
type Options struct {
	// Open starts a session that prints to stdout and renders what it shows as text; expected output is
	// written for 80 columns.
	Open func(stdout io.Writer) (Runner, error)
	// Stdout receives what the cells print and show, as it comes. nil drops it.
	Stdout io.Writer
	// Check holds every cell's output against what the file expects. Without it only a cell that fails is
	// looked at: an error that the file expects is none.
	Check bool
	// Record goes on after a cell that has expected output and fails, so that Update can write the error
	// down.
	Record bool
}

// A Report is what became of a run.
type Report struct {
	Cells      int // that ran
	Mismatches []Mismatch
	Failed     *Failure
	Recorded   []Failure // errors that Update will write down as expected
	Exit       int       // what os.Exit in a cell asked for
	outputs    map[*mcsfile.Cell]string
}

// A Mismatch is a cell whose output is not what the file expects.
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

// OK says whether everything ran and matched.
func (r *Report) OK() bool { return r.Failed == nil && len(r.Mismatches) == 0 && r.Exit == 0 }

// Run runs the file's cells in a new session, up to the first that fails in a way that the file does not
// expect. The error is about starting the session; what happens in cells is in the Report.
func Run(ctx context.Context, f *mcsfile.File, o Options) (*Report, error) {
	if o.Stdout == nil {
		o.Stdout = io.Discard
	}
	var output bytes.Buffer
	stdout := io.MultiWriter(&output, o.Stdout)
	runner, err := o.Open(stdout)
	if err != nil {
		return nil, err
	}
	if c, ok := runner.(io.Closer); ok {
		defer c.Close()
	}
	report := &Report{outputs: map[*mcsfile.Cell]string{}}
	for _, cell := range f.Code() {
		output.Reset()
		result := runner.Run(ctx, cell.Source)
		report.Cells++
		show(stdout, &output, result)
		if code, ok := exitCode(result.Err); ok {
			report.Exit = code
			report.outputs[cell] = output.String()
			return report, nil
		}
		if result.Err != nil {
			freshLine(stdout, &output)
			failure := visible.Text(result.Err.Error())
			text := output.String() + failure
			report.outputs[cell] = text
			expected := cell.Checked && (o.Record || Match(cell.Want, text))
			if !expected || ctx.Err() != nil {
				report.Failed = &Failure{cell, result.N, result.Err}
				return report, nil
			}
			if !Match(cell.Want, text) {
				report.Recorded = append(report.Recorded, Failure{cell, result.N, result.Err})
			}
			fmt.Fprintln(stdout, failure)
			continue
		}
		report.outputs[cell] = output.String()
		if o.Check && cell.Checked {
			if diff := Diff(cell.Want, output.String()); diff != "" {
				report.Mismatches = append(report.Mismatches, Mismatch{cell, result.N, cell.WantLine, diff})
			}
		}
	}
	return report, nil
}

// show writes what a cell has to show, each value on lines of its own. Output is what the cell has printed so
// far.
func show(w io.Writer, output *bytes.Buffer, result session.Result) {
	for _, v := range result.Shown {
		freshLine(w, output)
		if text := display.Styled(v, 0, nil); text != "" {
			fmt.Fprintln(w, strings.TrimRight(text, "\n"))
		}
	}
}

// freshLine ends a line that a cell has begun.
func freshLine(w io.Writer, output *bytes.Buffer) {
	if n := output.Len(); n > 0 && output.Bytes()[n-1] != '\n' {
		fmt.Fprintln(w)
	}
}

// exitCode says whether a cell ended with os.Exit or log.Fatal.
func exitCode(err error) (int, bool) {
	var exit stdlib.ExitRequest
	ok := errors.As(err, &exit)
	return exit.Code, ok
}

// Where names the place of a cell in its file.
func Where(f *mcsfile.File, cell *mcsfile.Cell, n int) string {
	return fmt.Sprintf("%s:%d: cell %d", visible.Line(f.Name), cell.Line, n)
}

// Update returns the file's text with the expected output of the cells that ran replaced by what they put out
// where it did not match.
func (r *Report) Update(f *mcsfile.File) string {
	want := map[*mcsfile.Cell][]string{}
	for cell, output := range r.outputs {
		if cell.Checked && !Match(cell.Want, output) {
			want[cell] = Update(cell.Want, output)
		}
	}
	return f.WithWant(want)
}

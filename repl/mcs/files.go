package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	xterm "golang.org/x/term"

	"github.com/mcs-notebook/mcs/engine/ranks"
	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/notebook"
	"github.com/mcs-notebook/mcs/repl/script"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
	"github.com/mcs-notebook/mcs/repl/session"
	"github.com/mcs-notebook/mcs/repl/together"
)

// The names of texts that are no files.
const (
	standardInput = "standard input"
	commandLine   = "-e"
)

// readFile parses a .mcs file or a notebook; "-" is standard input.
func readFile(name string) (*mcsfile.File, error) {
	if name == "-" {
		text, err := regular.ReadFrom(os.Stdin, standardInput, regular.MaxSource)
		return mcsfile.Parse(standardInput, string(text)), err
	}
	return notebook.Read(name, name)
}

// folder is where the imports of a file start from; empty, the working folder, for a text that is no file.
func folder(name string) string {
	if name == standardInput || name == commandLine {
		return ""
	}
	return filepath.Dir(name)
}

// openSession starts a session with the magics.
func openSession(o session.Options) (*session.Session, error) {
	o.Commands = magics.Table{}
	return session.New(o)
}

// runFile is `mcs run`, by this process alone or as one of several that a launcher has started.
func runFile(cmd *cobra.Command, name string, o jobOptions) error {
	ctx, group, stop, err := asRank(cmd)
	defer stop()
	var f *mcsfile.File
	if err == nil {
		f, err = readTogether(name, o, group)
	}
	if group.Size() == 1 {
		if err != nil {
			return err
		}
		return runParsed(ctx, f, o, nil)
	}
	var cells *together.Cells
	if err == nil {
		cells, err = together.New(ctx, group)
	}
	if err != nil {
		group.Fail(err)
		tell(group, err)
		_ = group.Close() // none ends before all have an error that is for all
		return exitCode(exitUsage)
	}
	failed := runParsed(ctx, f, o, cells)
	if err := group.Close(); err != nil && failed == nil {
		tell(group, err)
		return exitCode(exitFailed)
	}
	return failed
}

// readTogether reads a file, the first rank alone, because what is wrong with it is so for all.
func readTogether(name string, o jobOptions, group *ranks.Group) (f *mcsfile.File, err error) {
	read := func() (_ []byte, err error) {
		if f, err = readFile(name); err == nil {
			_, err = f.ParseParams(o.params)
		}
		return nil, err
	}
	if _, err = group.Once(read); err == nil && group.Rank() > 0 {
		_, err = read()
	}
	group.Fail(err)
	return f, err
}

// runAlone runs cells that come from no file.
func runAlone(ctx context.Context, f *mcsfile.File) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	return runParsed(ctx, f, jobOptions{}, nil)
}

// runParsed runs the cells of a file, together with other ranks if there are any. Of these only rank 0
// speaks.
func runParsed(ctx context.Context, f *mcsfile.File, o jobOptions, cells *together.Cells) error {
	params, err := f.ParseParams(o.params)
	if err != nil {
		return err
	}
	if !cells.First() {
		o.record, o.output = "", ""
	}
	r, err := openRecord(o.record)
	if err != nil {
		return err
	}
	defer r.close()
	out, progress := streams()
	page := &report{name: o.output}
	report, err := script.Run(ctx, f, script.Options{
		Stdout: spoken(cells, out),
		Done: func(o script.Outcome) {
			r.add(o)
			page.done(o)
		},
		Open: func(stdout io.Writer) (script.Runner, error) {
			o := session.Options{Script: true, Stdout: stdout, Stderr: spoken(cells, os.Stderr), Params: params, Source: folder(f.Name),
				Each: f.Name == standardInput || f.Name == commandLine, Render: func(v display.Value, _ int) display.Value { return display.Render(v, columns(os.Stdout), nil) }}
			if cells.First() {
				o.Progress, o.Draw = progress.Update, func(state func() display.Value) { progress.Draw(state, rows(os.Stdout)) }
			}
			if f.Name != standardInput && !ranks.Started() { // whose input says that it is to go on
				o.Stdin = os.Stdin
			}
			if page.name != "" {
				page.Listen(&o)
			}
			s, err := openSession(o)
			if err == nil && cells != nil {
				s.Join(cells)
			}
			return s, err
		},
	})
	progress.Finish()
	if err != nil {
		return err
	}
	if err := page.write(f); err != nil {
		return err
	}
	if report.Failed != nil {
		if cells.Reports(report.Failed.Err) {
			if !cells.First() {
				fmt.Fprintf(os.Stderr, "rank %d: ", cells.Rank())
			}
			reportFailure(os.Stderr, f, report.Failed)
		}
		if code, ok := stoppedBy(ctx); ok {
			return code
		}
		return exitCode(exitFailed)
	}
	if report.Exit != 0 {
		return exitCode(report.Exit)
	}
	return nil
}

// spoken is a stream of rank 0, and drops what other ranks write.
func spoken(cells *together.Cells, w io.Writer) io.Writer {
	if cells.First() {
		return w
	}
	return io.Discard
}

// streams returns the writer for a script's output, and the display of its progress: on a terminal a live
// line below the output, elsewhere lines on standard error.
func streams() (io.Writer, *display.Progress) {
	if isTerminal(os.Stdout) && os.Getenv("TERM") != "dumb" {
		p := display.NewProgress(os.Stdout, true, func() int { return columns(os.Stdout) }, nil)
		return p, p
	}
	return os.Stdout, display.NewProgress(os.Stderr, isTerminal(os.Stderr), func() int { return columns(os.Stderr) }, nil)
}

func isTerminal(f *os.File) bool { return xterm.IsTerminal(int(f.Fd())) }

// columns is the width of a terminal, and 0 for anything else: reports have whole lines there.
func columns(f *os.File) int {
	if width, _, err := xterm.GetSize(int(f.Fd())); err == nil && width > 0 {
		return width
	}
	return 0
}

// rows is the height of a terminal, and 24 for anything else.
func rows(f *os.File) int {
	if _, height, err := xterm.GetSize(int(f.Fd())); err == nil && height > 0 {
		return height
	}
	return 24
}

func reportFailure(w io.Writer, f *mcsfile.File, failure *script.Failure) {
	text := visible.Text(failure.Err.Error())
	if errors.Is(failure.Err, session.ErrInterrupted) {
		text = "interrupted"
	}
	fmt.Fprintf(w, "%s\n%s\n", script.Where(f, failure.Cell, failure.N), text)
}

// testOne is `mcs test` for one file.
func testOne(ctx context.Context, name string, o testOptions) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	f, err := readFile(name)
	if err != nil {
		return err
	}
	ok, err := testFile(ctx, f, o)
	if err != nil {
		return err
	}
	if code, ok := stoppedBy(ctx); ok {
		return code
	}
	if !ok {
		return exitCode(exitFailed)
	}
	return nil
}

func testFile(ctx context.Context, f *mcsfile.File, o testOptions) (ok bool, err error) {
	start := time.Now()
	path, err := filepath.Abs(f.Name) // a cell may go to another folder
	if err != nil {
		return false, err
	}
	params, err := f.ParseParams(o.params)
	if err != nil {
		return false, err
	}
	r, err := openRecord(o.record)
	if err != nil {
		return false, err
	}
	defer r.close()
	report, err := script.Run(ctx, f, script.Options{
		Check:  true,
		Record: o.update,
		Limit:  o.limit,
		Only:   o.selection(f),
		Done:   r.add,
		Open: func(stdout io.Writer) (script.Runner, error) {
			return openSession(session.Options{Script: true, Stdout: stdout, Stderr: os.Stderr, Params: params, Source: folder(f.Name)})
		},
	})
	if err != nil {
		return false, err
	}
	if o.update {
		if err := updateFile(f, path, report); err != nil {
			return false, err
		}
	}
	took := units.Duration(time.Since(start))
	name := visible.Line(f.Name)
	if report.OK() || o.update && report.Failed == nil && report.Exit == 0 {
		fmt.Printf("ok    %s  %s, %s\n", name, units.Plural(int64(report.Cells), "cell"), took)
		return true, nil
	}
	fmt.Printf("FAIL  %s  %s, %s\n", name, units.Plural(int64(report.Cells), "cell"), took)
	for _, m := range report.Mismatches {
		if !o.update {
			fmt.Printf("%s: cell %d: output differs (- expected, + got)\n%s\n", f.At(m.Line), m.N, indent(visible.Text(m.Diff)))
		}
	}
	if report.Failed != nil {
		reportFailure(os.Stdout, f, report.Failed)
	}
	if report.Exit != 0 {
		fmt.Printf("%s: a cell ended the run with exit status %d\n", name, report.Exit)
	}
	return false, nil
}

// updateFile rewrites a file's expected output if it does not match, and prints what it did.
func updateFile(f *mcsfile.File, path string, report *script.Report) error {
	if f.Name == standardInput {
		return errors.New("test -u: standard input cannot be rewritten")
	}
	if len(report.Mismatches) == 0 && len(report.Recorded) == 0 {
		return nil
	}
	now, err := notebook.Read(path, f.Name)
	if err != nil || now.Text() != f.Text() {
		return cmp.Or(err, fmt.Errorf("test -u: %s was changed while it ran: run it again", f.Name))
	}
	text, err := notebook.Text(mcsfile.Parse(f.Name, report.Update(f)), path)
	if err != nil {
		return err
	}
	if err := durable.WriteFile(path, durable.Text(text)); err != nil {
		return err
	}
	for _, m := range report.Mismatches {
		fmt.Printf("%s: cell %d: updated\n", f.At(m.Line), m.N)
	}
	for _, r := range report.Recorded {
		fmt.Printf("%s: now expects this error:\n%s\n", script.Where(f, r.Cell, r.N), indent(visible.Text(r.Err.Error())))
	}
	return nil
}

func indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }

// runProgram is `mcs run` for Go files; the arguments behind them are the program's.
func runProgram(ctx context.Context, args []string) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	var files []session.ProgramFile
	for len(args) > 0 && filepath.Ext(args[0]) == ".go" {
		text, err := regular.Text(args[0], regular.MaxSource)
		if err != nil {
			return err
		}
		files = append(files, session.ProgramFile{Name: args[0], Source: text})
		args = args[1:]
	}
	os.Args = append([]string{files[0].Name[:len(files[0].Name)-len(".go")]}, args...)
	status, err := session.RunProgram(ctx, files, session.Options{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
	switch {
	case errors.Is(err, session.ErrInterrupted):
		if code, ok := stoppedBy(ctx); ok {
			return code
		}
		return exitCode(exitInterrupted)
	case err != nil:
		fmt.Fprintln(os.Stderr, visible.Text(err.Error()))
		return exitCode(exitFailed)
	case status != 0:
		return exitCode(status)
	}
	return nil
}

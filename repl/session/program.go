package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/program"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/repl/session/internal/supervise"
	"github.com/mcs-notebook/mcs/stdlib"
)

// A ProgramFile is a source file of a program.
type ProgramFile = program.File

// A ProgramError says why a program was refused before any of it ran. It has one line for each complaint,
// as `go vet` and `go run` write them: "file.go:3:7: message".
type ProgramError struct {
	Lines []string
	cause error
}

// Unwrap returns the interpreter's error for a program that only the interpreter refuses, otherwise nil.
func (e *ProgramError) Unwrap() error { return e.cause }

func (e *ProgramError) Error() string { return strings.Join(e.Lines, "\n") }

// The exit statuses of a program that does not choose its own.
const (
	statusRefused = 1
	statusPanic   = 2
)

// RunProgram runs the files of a package main as `go run` does, and returns the exit status: the argument
// of os.Exit, 0 when main returned, 2 after a panic, whose text goes to Options.Stderr. A program that is
// not valid Go, or that the interpreter cannot run correctly, is refused with a *ProgramError and has no
// effect. When ctx is cancelled the program is stopped, with ErrInterrupted.
//
// Goroutines that still run or wait at the end of the program are left behind: the caller is expected to
// end the process.
func RunProgram(ctx context.Context, files []ProgramFile, o Options) (status int, err error) {
	p := &programRun{files: files, exit: make(chan int, 1)}
	s, err := open(o, p)
	if err != nil {
		return statusRefused, err
	}
	p.s = s
	for i, f := range files {
		s.past.cells = append(s.past.cells, Cell{N: i + 1, Source: f.Source})
	}
	defer s.streams.Flush()
	defer s.runner.Close()
	units, err := s.packages.Program(ctx, files)
	if err != nil {
		return statusRefused, p.refusal(err)
	}
	if !slices.ContainsFunc(units, func(u *compile.Unit) bool { return mayWake(u) }) {
		watch, unwatch := context.WithCancel(ctx)
		defer unwatch()
		go p.endAsleep(watch, supervise.Goroutines())
	}
	done := make(chan error, 1)
	go func() {
		var err error
		for _, u := range units {
			if _, err = s.execute(ctx, u, false, nil); err != nil {
				break
			}
		}
		done <- err
	}()
	select {
	case status := <-p.exit:
		return status, nil
	case err = <-done:
	}
	var pe *PanicError
	var exit stdlib.ExitRequest
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &pe):
		p.report(s.streams.Err, pe.Value, pe.text, 1, pe.Frames)
		return statusPanic, nil
	case errors.As(err, &exit):
		return exit.Code, nil
	}
	if _, ok := errors.AsType[*CheckError](err); ok {
		err = p.refusal(err)
	}
	return statusRefused, err
}

// A programRun is the program of a session that RunProgram has made. The program's files are the cells 1,
// 2, ….
type programRun struct {
	s     *Session
	files []ProgramFile
	exit  chan int // gets the exit status if the program ends before main returns
}

// endAsleep ends the program when all of its goroutines wait for each other. Before lists the goroutines
// that existed when the program began.
func (p *programRun) endAsleep(ctx context.Context, before map[uint64]bool) {
	if state := p.s.runner.Deadlock(ctx, before); state != "" {
		fmt.Fprintf(p.s.streams.Err, "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [%s]:\nmain.main()\n", state)
		p.leave(statusPanic)
	}
}

// end ends the program at once. No deferred function runs, and the goroutine that called end stops there.
func (p *programRun) end(status int) {
	p.leave(status)
	select {}
}

// leave makes RunProgram return.
func (p *programRun) leave(status int) {
	select {
	case p.exit <- status:
	default: // it is ending already
	}
}

// report writes the text of the Go runtime about a panic.
func (p *programRun) report(w io.Writer, value any, text string, goroutine int, frames []Frame) {
	if err, _ := value.(error); errors.Is(err, rt.ErrStack) {
		text = "stack overflow"
	}
	fmt.Fprintf(w, "panic: %s\n\ngoroutine %d [running]:\n", text, goroutine)
	for _, f := range frames {
		name := f.Func
		if name == "" {
			name = "init"
		}
		if f.File == "" {
			name, f.File = "main."+name, p.fileName(f.Cell)
		}
		fmt.Fprintf(w, "%s(...)\n\t%s:%d\n", name, f.File, f.Line)
	}
}

func (p *programRun) fileName(n int) string {
	if n < 1 || n > len(p.files) {
		return "?"
	}
	return p.files[n-1].Name
}

// refusal puts the names of the program's files into the complaints about it.
func (p *programRun) refusal(err error) error {
	var ce *CheckError
	if !errors.As(err, &ce) {
		return &ProgramError{Lines: []string{err.Error()}}
	}
	e := &ProgramError{cause: ce.Unwrap()}
	for _, d := range ce.Diags {
		if d.File == "" {
			d.File = p.fileName(d.Cell)
		}
		line := d.Place() + ": " + d.Message
		if d.Hint != "" {
			line += "; " + d.Hint
		}
		e.Lines = append(e.Lines, line)
	}
	return e
}

// exit is os.Exit. It ends a program; in a cell it asks the front end to leave.
func (s *Session) exit(code int) {
	if s.program != nil {
		s.program.end(code)
	}
	panic(stdlib.ExitRequest{Code: code})
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/session"
)

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

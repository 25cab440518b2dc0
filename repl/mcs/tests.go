package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcs-notebook/mcs/internal/visible"
)

// testOptions are the flags of `mcs test`.
type testOptions struct {
	update   bool
	parallel int           // files at a time
	limit    time.Duration // for a cell; 0: none
}

// testAll is `mcs test`. Several files are tested by a process for each of them, because some faults end a
// process whatever guards it, and must not end the tests of the other files.
func testAll(cmd *cobra.Command, names []string, o testOptions) error {
	if o.parallel < 1 {
		return fmt.Errorf("test: got -j %d, want the number of files at a time, at least 1", o.parallel)
	}
	if len(names) == 1 {
		return testOne(cmd.Context(), names[0], o)
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	args := []string{"test"}
	cmd.Flags().Visit(func(f *pflag.Flag) { args = append(args, "--"+f.Name+"="+f.Value.String()) })
	free := make(chan struct{}, o.parallel)
	results := make([]chan *apart, len(names))
	for i := range results {
		results[i] = make(chan *apart, 1)
	}
	go func() {
		for i, name := range names { // in this order
			free <- struct{}{}
			go func() {
				results[i] <- testApart(ctx, program, args, name)
				<-free
			}()
		}
	}()
	code := 0
	for i, name := range names {
		code = max(code, (<-results[i]).show(name))
		if code, ok := stoppedBy(ctx); ok {
			return code
		}
	}
	if code != 0 {
		return exitCode(code)
	}
	return nil
}

// apart is the test of a file by a process of its own.
type apart struct {
	stdout, stderr bytes.Buffer
	err            error
}

func testApart(ctx context.Context, program string, args []string, name string) *apart {
	a := new(apart)
	cmd := exec.CommandContext(ctx, program, slices.Concat(args, []string{"--", name})...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = lastSave // it may be saving
	cmd.Stdout, cmd.Stderr = &a.stdout, &a.stderr
	if name == "-" {
		cmd.Stdin = os.Stdin
	}
	a.err = cmd.Run()
	return a
}

// show prints what the process printed, and returns the exit code of its test. A process that has printed no
// result for its file was ended by a fault.
func (a *apart) show(name string) int {
	os.Stdout.Write(a.stdout.Bytes())
	os.Stderr.Write(a.stderr.Bytes())
	var exit *exec.ExitError
	switch {
	case a.err == nil:
		return 0
	case errors.As(a.err, &exit) && exit.ExitCode() == exitUsage && bytes.HasPrefix(a.stderr.Bytes(), []byte("mcs: ")):
		return exitUsage // the file cannot be read
	case exit == nil || exit.ExitCode() != exitFailed || a.stdout.Len() == 0:
		fmt.Printf("FAIL  %s  ended without a result: %v\n", visible.Line(name), a.err)
	}
	return exitFailed
}

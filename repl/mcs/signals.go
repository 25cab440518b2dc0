package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/presses"
	"github.com/mcs-notebook/mcs/internal/visible"
)

// A stopSignal is why a context ended that interruptible made.
type stopSignal struct{ os.Signal }

func (s stopSignal) Error() string { return "stopped by " + s.String() }

// exitCode returns a shell's exit code for a process that the signal has ended.
func (s stopSignal) exitCode() int {
	if n, ok := s.Signal.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return exitInterrupted
}

// lastMoment is the time for running code to stop, or to begin to save, before the system ends the process.
const lastMoment = time.Second

// interruptible returns a context that ends with the first SIGINT (Ctrl-C), SIGTERM or SIGHUP. It is for
// commands without a terminal of their own; package term handles the notebook's signals. The first signal
// asks running code to stop, and a training run saves. A later Ctrl-C ends the process, but neither a held
// key nor any other signal interrupts a save. After SIGTERM or SIGHUP the process ends by itself if
// running code does not stop.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return interruptibleBy(ctx, make(chan os.Signal, 1))
}

// interruptibleBy is interruptible with a channel to which others may send signals, too.
func interruptibleBy(ctx context.Context, signals chan os.Signal) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		defer signal.Stop(signals)
		var told time.Time
		presses.Watch(signals, done, func(s os.Signal, again bool) {
			first := ctx.Err() == nil
			if first {
				cancel(stopSignal{s})
			}
			switch {
			case s != os.Interrupt:
				time.AfterFunc(lastMoment, func() { endBy(s) })
			case first || !again:
			case len(durable.Saving()) == 0 || !told.IsZero() && time.Since(told) > durable.LastSave:
				os.Exit(stopSignal{s}.exitCode())
			case told.IsZero():
				told = time.Now()
				fmt.Fprintf(os.Stderr, "mcs: saving %s; Ctrl-C ends mcs after it\n", savingNow())
			}
		})
	}()
	return ctx, func() {
		close(done)
		cancel(nil)
	}
}

// endBy ends the process as soon as nothing is being saved.
func endBy(s os.Signal) {
	durable.Finish()
	os.Exit(stopSignal{s}.exitCode())
}

// stoppedBy returns the exit code for a run that a signal has stopped.
func stoppedBy(ctx context.Context) (code exitCode, ok bool) {
	s, ok := errors.AsType[stopSignal](context.Cause(ctx))
	if ok {
		code = exitCode(s.exitCode())
	}
	return code, ok
}

// savingNow names the files that are being written.
func savingNow() string {
	names := durable.Saving()
	for i, name := range names {
		names[i] = visible.Line(filepath.Base(name))
	}
	return strings.Join(names, ", ")
}

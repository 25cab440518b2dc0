package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcs-notebook/mcs/engine/ranks"
	"github.com/mcs-notebook/mcs/repl/together"
)

// rankCommand is what %ranks starts.
func rankCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "rank",
		Short:  "Run the cells of a session that has started this process",
		Hidden: true,
		Args:   exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !ranks.Started() {
				return errors.New("rank: want %ranks N of a session to start it")
			}
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			signal.Notify(make(chan os.Signal, 1), os.Interrupt) // which rank 0 passes on
			left := func() {
				cancel()
				time.AfterFunc(lastMoment, func() { endBy(syscall.SIGTERM) })
			}
			group, err := ranks.Join(ctx)
			if err == nil {
				err = group.Near(ctx)
			}
			if err == nil {
				err = together.Follow(ctx, group, os.Stdin, left, openSession)
			}
			if group.Failed() || err == nil {
				return nil // rank 0 tells
			}
			group.Fail(err)
			return exitCode(exitFailed)
		},
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcs-notebook/mcs/engine/ranks"
	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/together"
)

// startRanks runs this command as so many processes of this machine, which compute together.
func startRanks(n int) error {
	const most = 256 // no machine has so many devices
	if n < 1 || n > most {
		return fmt.Errorf("got -n %d, want 1 to %d processes, one for each device", n, most)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	commands := make([]*exec.Cmd, n)
	for rank := range commands {
		c := exec.Command(self, os.Args[1:]...)
		c.Stdout, c.Stderr = os.Stdout, os.Stderr // rank 0 knows a terminal as such
		if rank > 0 {
			c.Stderr = together.Labelled(rank, os.Stderr)
		}
		commands[rank] = c
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	err = ranks.Start(commands, signals)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() > 0: // the rank has said why
		return exitCode(exit.ExitCode())
	case exit != nil: // a signal has ended it
		fmt.Fprintln(os.Stderr, "mcs:", err)
		return exitCode(exitFailed)
	}
	return err
}

// asRank is interruptible for a process that a launcher may have started as one of several: with their group,
// on a device of its own. It also ends when what has started it does.
func asRank(cmd *cobra.Command) (ctx context.Context, group *ranks.Group, stop context.CancelFunc, err error) {
	signals := make(chan os.Signal, 1)
	ctx, stop = interruptibleBy(cmd.Context(), signals)
	go func() {
		if ranks.Parted() {
			signals <- syscall.SIGTERM
		}
	}()
	group, err = joined(ctx, cmd)
	return ctx, group, stop, err
}

// unaware is how long a rank may go on that has not noticed the end of its group.
const unaware = 5 * time.Second

// endWith ends this process after its group if it does not do so itself: it computes for ever, or waits for a
// device, and no rank waits for another one.
func endWith(group *ranks.Group) {
	<-group.Ended()
	time.Sleep(unaware)
	durable.Finish()
	tell(group, group.Err())
	os.Exit(exitFailed)
}

// joined is the group of this process, if a launcher has started several, on a device of its own. No other
// one is opened before: it would have memory of it.
func joined(ctx context.Context, cmd *cobra.Command) (*ranks.Group, error) {
	const long = 10 * time.Second
	waits := time.AfterFunc(long, func() { fmt.Fprintln(os.Stderr, "mcs: waiting for the other ranks to start") })
	group, err := ranks.Join(ctx)
	waits.Stop()
	if err == nil {
		err = group.Agree("the version", versionText())
	}
	if err == nil {
		err = group.Place(ctx, cmd.Flag("device").Value.String())
	}
	group.Fail(err)
	return group, err
}

// tell prints an error, and whose it is if not that of all, unless another rank does so.
func tell(group *ranks.Group, err error) {
	switch {
	case err == nil || !group.Reports(err):
		return
	case group.Failed():
		err = fmt.Errorf("rank %d: %w", group.Rank(), err)
	}
	fmt.Fprintln(os.Stderr, "mcs:", visible.Text(err.Error()))
}

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

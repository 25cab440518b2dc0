package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/engine/ranks"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/engine/train"
	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/tuning"
)

// trainOptions are the flags of `mcs train`.
type trainOptions struct {
	params                  []string
	resume, dryRun, example bool
	ranks                   int
}

func trainCommand() *cobra.Command {
	var o trainOptions
	cmd := &cobra.Command{
		Use:   "train FILE.toml",
		Short: "Train a model as a file says",
		Long: `train trains a model as a TOML file says, without a notebook: an adapter (LoRA) or all weights, on records or a text,
on preferences (DPO, ORPO, KTO), by rewards that are Go functions (GRPO), or by a teacher (distillation).
It says what it will do, shows a live line, and writes into the output folder that the file names: the adapter as PEFT
reads it, or the model; checkpoints, and a log.

Ctrl-C saves a checkpoint and ends with exit code 130; the same command with --resume goes on, as if nothing had happened. A key that there is
not is an error. Exit codes: 0 trained, 1 the training failed, 2 the file, the model or the data cannot be used.`,
		Example: "  mcs train --example > job.toml\n  mcs train job.toml\n  mcs train job.toml -p train.steps=50 -p lora.rank=16\n  mcs train job.toml --dry-run\n  mcs train job.toml --resume\n  mcs train -n 2 job.toml",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 && !o.example {
				return fmt.Errorf("train: got %d files, takes one; mcs train --example prints one", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.example {
				fmt.Print(tuning.Example)
				return nil
			}
			if o.ranks != 1 && !ranks.Started() {
				return startRanks(o.ranks)
			}
			return runTraining(cmd, args[0], o)
		},
	}
	cmd.Flags().StringArrayVarP(&o.params, "param", "p", nil, "`key=value` in place of what the file says, as train.steps=50; can be repeated")
	cmd.Flags().BoolVar(&o.resume, "resume", false, "go on from the output's newest checkpoint, if there is one")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "say what would be done, how much memory and how much time it takes; train nothing, write nothing")
	cmd.Flags().IntVarP(&o.ranks, "ranks", "n", 1, "share the batches of a step among `N` processes of this machine, each on a device of its own")
	cmd.Flags().BoolVar(&o.example, "example", false, "print a file that has all keys, with what they mean")
	return cmd
}

func runTraining(cmd *cobra.Command, name string, o trainOptions) error {
	ctx, group, stop, err := asRank(cmd)
	defer stop()
	go endWith(group)
	_, shown := streams()
	o.resume = o.resume || ranks.Again()
	first := group.Rank() == 0 // the others say nothing, but why they alone fail
	if first {
		ctx = progress.With(ctx, func(e progress.Event) { shown.Update(e.Task, e.Done, e.Total, e.Note, e.Elapsed) })
	}
	code, text := exitCode(exitUsage), ""
	var job *tuning.Job
	if err == nil {
		job, err = openTogether(ctx, name, o, group)
		shown.Finish()
	}
	if err == nil {
		code = exitFailed
		if first {
			printReport(job.Text())
		}
		switch {
		case !o.dryRun:
			text, err = job.Run(ctx)
		case first:
			var e *train.Estimate
			if e, err = job.Predict(ctx); err == nil {
				text = e.Text(0)
			}
		}
		shown.Finish()
	}
	if text != "" && first {
		printReport(text)
	}
	if rank, failed := group.Failure(); failed != nil && rank != group.Rank() {
		code = exitFailed // another rank was used wrongly, or has ended
	}
	tell(group, err) // before Close, after which a launcher may end all
	if closed := group.Close(); err == nil && closed != nil {
		tell(group, closed)
		err, code = closed, exitFailed
	}
	if err == nil {
		return nil
	}
	if stopped, ok := stoppedBy(ctx); ok {
		return stopped
	}
	return code
}

// openTogether reads the file, the model and the data: the first rank alone, because what it notes of the
// data serves the others, and then these; but all at once where they hold the model together.
func openTogether(ctx context.Context, name string, o trainOptions, group *ranks.Group) (job *tuning.Job, err error) {
	var c *tuning.Config
	firstAlone := func(f func() error) error {
		_, err := group.Once(func() ([]byte, error) { return nil, f() })
		if err == nil && group.Rank() > 0 {
			err = f()
		}
		return err
	}
	open := func() (err error) {
		job, err = openTraining(ctx, c, o, group)
		return err
	}
	err = firstAlone(func() (err error) {
		c, err = tuning.Read(name, o.params)
		return err
	})
	if err == nil {
		err = c.Shard(group)
	}
	switch {
	case err != nil:
	case c.Model.Shard:
		err = open()
	default:
		err = firstAlone(open)
	}
	group.Fail(err)
	return job, err
}

// openTraining reads the model and the data.
func openTraining(ctx context.Context, c *tuning.Config, o trainOptions, group *ranks.Group) (opened *tuning.Job, err error) {
	wrong := tensor.Try(func() {
		if !o.resume && !o.dryRun {
			err = c.Used()
		}
		if err == nil {
			c.Data.Cache = c.Data.Cache && !o.dryRun // which writes nothing
			opened, err = tuning.Open(ctx, c, o.resume, group)
		}
		if err == nil {
			err = opened.Share(group)
		}
	})
	return opened, errors.Join(wrong, err)
}

var reportLabel = lazy.Regexp(`^(\w+ {2,})?`)

// printReport prints lines of which some begin with a label ("model  tiny · …"). In a terminal those that are
// too wide go on below what follows the label.
func printReport(text string) {
	text = visible.Text(text)
	if columns(os.Stdout) == 0 { // no terminal, or one without a width, as that of Open MPI
		fmt.Println(text)
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Println(strings.Join(display.Wrap(line, columns(os.Stdout), len(reportLabel().FindString(line))), "\n"))
	}
}

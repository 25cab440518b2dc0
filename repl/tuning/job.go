package tuning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/ranks"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/engine/train"
	"github.com/mcs-notebook/mcs/internal/units"
)

// A Job is a training whose model and data are there.
type Job struct {
	config    *Config
	model     *llm.Model
	trained   train.Model // the model, or a loss of it
	fit, eval data.Source
	options   train.Options
}

// Used says that the output folder has checkpoints, with which only a job that resumes may go on.
func (c *Config) Used() error {
	if found, _ := filepath.Glob(filepath.Join(c.at(c.Output), "checkpoints", "step-*")); len(found) > 0 {
		return fmt.Errorf("%s has checkpoints of an earlier run: --resume goes on from the newest one, or name another output", c.at(c.Output))
	}
	return nil
}

// Open loads the model and reads the data. With resume the job goes on from the newest checkpoint of its
// output folder, if there is one. The processes of a group hold a model together that is to be sharded; they
// call Open at once.
func Open(ctx context.Context, c *Config, resume bool, g *ranks.Group) (*Job, error) {
	j := &Job{config: c}
	var err error
	if j.model, err = c.model(ctx, g); err != nil {
		return nil, err
	}
	if j.trained = j.model; c.method().model != nil {
		if j.trained, err = c.method().model(ctx, c, j.model); err != nil {
			return nil, err
		}
	}
	if own, ok := j.trained.(data.Source); ok {
		j.fit = own
	} else if j.fit, j.eval, err = c.sources(ctx, j.model); err != nil {
		return nil, err
	}
	for _, source := range []data.Source{j.fit, j.eval} { // now, not after an hour of training
		if source == nil {
			continue
		}
		tensor.Within(ctx, func() { _, err = source.Batch(0) })
		if err != nil {
			return nil, err
		}
	}
	j.options, err = c.options(j.fit, j.eval, resume)
	return j, err
}

// Share makes the job one of several processes, which share the batches of a step. What the job writes is
// written by the first of them.
func (j *Job) Share(g *ranks.Group) error {
	if n := max(1, j.options.Accumulate); n < g.Size() {
		return fmt.Errorf("train.accumulate: got steps of %[2]s for %[1]d ranks, want at least a batch for each: write accumulate = %[1]d under [train], and a data.batch that is smaller by as much", g.Size(), units.Plural(int64(n), "batch"))
	}
	j.options.Ranks = g
	return nil
}

// Text says what the job will do.
func (j *Job) Text() string {
	c, o := j.config, j.options
	var lines []string
	say := func(what, format string, args ...any) {
		lines = append(lines, fmt.Sprintf("%-7s%s", what, fmt.Sprintf(format, args...)))
	}
	for _, r := range c.replaced {
		say("param", "%s", r)
	}
	shard := ""
	if c.Model.Shard {
		shard = " · its blocks in parts, one on each GPU of a machine"
	}
	say("model", "%s · %v%s", c.Model.Path, j.model, shard)
	say("data", "%s · %v", c.Data.Train, j.fit)
	if j.eval != nil {
		from := cmp.Or(c.Data.Eval, c.Data.Train)
		if c.Data.Share > 0 {
			from = fmt.Sprintf("%g of the data", c.Data.Share)
		} else if split, err := c.evalSplit(); err == nil && split != "" {
			from += ", " + split
		}
		say("eval", "%s · %v · %s every %s", from, j.eval, units.Plural(int64(o.EvalBatches), "batch"), units.Plural(int64(o.EvalEvery), "step"))
	}
	batches := units.Plural(int64(max(1, o.Accumulate)), "batch")
	if o.Ranks.Size() > 1 {
		batches += fmt.Sprintf(" shared by %v", o.Ranks)
	}
	say("train", "%s · %s of %s · rate %v · %v", c.method().does, units.Plural(int64(o.Steps), "step"), batches, o.LR, o.Optimizer)
	say("output", "%s", c.at(c.Output))
	return strings.Join(lines, "\n")
}

// Predict says what Run would take. It trains nothing and writes nothing.
func (j *Job) Predict(ctx context.Context) (*train.Estimate, error) {
	predict := train.PredictLoRA
	if j.config.full() {
		nn.Unfreeze(j.model)
		predict = train.PredictFull
	}
	return predict(ctx, j.trained, j.fit, j.options)
}

// Run trains, and saves what came of it. It returns what is to be said about it, also with an error: that of
// a run that was interrupted, for example, after which a job that resumes goes on.
func (j *Job) Run(ctx context.Context) (text string, err error) {
	output := j.config.at(j.config.Output)
	if err := os.MkdirAll(output, 0o777); err != nil {
		return "", err
	}
	tune := train.LoRA
	if j.config.full() {
		nn.Unfreeze(j.model)
		tune = train.Full
	}
	group := j.options.Ranks
	tuned, err := tune(ctx, j.trained, j.fit, j.options)
	if tuned == nil { // the run did not begin
		group.Fail(err)
	}
	if tuned != nil {
		text = tuned.Text(0)
		if s, ok := j.trained.(*scored); ok && len(s.Rewarded) > 0 {
			text += fmt.Sprintf("\nreward %.4g at first, %.4g at the end", s.Rewarded[0], s.Rewarded[len(s.Rewarded)-1])
		}
	}
	var stopped *train.Interrupted
	var paused *train.Paused
	switch {
	case errors.As(err, &stopped):
		return text, fmt.Errorf("interrupted at step %d of %d, a checkpoint is saved: the same command with --resume goes on", stopped.Step, stopped.Steps)
	case errors.As(err, &paused): // nobody calls Run again in this process
		return text, fmt.Errorf("%w; stopped at step %d of %d: the same command with --resume goes on from the newest checkpoint", paused.Cause, paused.Step, paused.Steps)
	case err != nil || group.Rank() > 0:
		return text, err
	}
	saved := filepath.Join(output, "adapter")
	if tuned.Adapter != nil {
		err = tuned.Adapter.Save(saved)
	} else {
		saved = filepath.Join(output, "model")
		err = llm.Save(saved, j.model)
	}
	group.Fail(err)
	return text + "\nsaved " + saved, err
}

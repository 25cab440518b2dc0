package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/testing/together"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/ranks"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// What one rank, or a process alone, came to.
type outcome struct {
	history *History
	weights string // their hash
}

// A sharedRun is a run that any number of ranks makes. Each makes its own model.
type sharedRun struct {
	model func() Model
	data  func() data.Source
	o     Options
}

// on makes the run on so many ranks and returns what each of them came to.
func (s sharedRun) on(size int) ([]outcome, []error) {
	all := make([]outcome, size)
	run := func(g *ranks.Group) (err error) {
		m, o := s.model(), s.o
		o.Ranks = g
		out := &all[g.Rank()]
		out.history, err = Run(context.Background(), m, s.data(), o)
		out.weights = nn.Hash(nn.Params(m))
		return err
	}
	if size == 1 {
		return all, []error{run(nil)}
	}
	return all, together.Run(size, run)
}

// differs says what two histories have otherwise than time.
func differs(a, b *History) string {
	x, y := *a, *b
	x.Elapsed, y.Elapsed = 0, 0
	one, _ := json.Marshal(&x)
	other, _ := json.Marshal(&y)
	if string(one) == string(other) {
		return ""
	}
	return fmt.Sprintf("%s and %s", one, other)
}

// sums are the checksums of the tensors of a folder's newest checkpoint.
func sums(t *testing.T, dir string) string {
	t.Helper()
	steps, err := checkpoints(dir)
	if err != nil || len(steps) == 0 {
		t.Fatalf("checkpoints %v, %v", steps, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, folderOf(steps[0]), manifestFile))
	var m manifest
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(steps, m.Files[paramsFile], m.Files[optimizerFile])
}

func small(c llm.Config, adapter lora.Config) func() Model {
	c.Vocab, c.Layers, c.Width, c.Heads, c.Hidden, c.Seed = 256, 1, 16, 2, 24, 1
	return func() Model {
		m := llm.New(c)
		if !adapter.IsZero() {
			if _, err := lora.Inject(m, adapter); err != nil {
				panic(err)
			}
		}
		return m
	}
}

// texts are windows of a text.
func texts() data.Source { return data.Windows(text, 16, 2) }

// unevenRows have other numbers of targets and of documents in each batch.
func unevenRows() data.Source {
	var list fixedSource
	for i := range 7 {
		list = append(list, rowOf(24, 1+i%3, documents(5+i, 4+i%4, 3)...))
	}
	return list
}

// padded rows have a part without targets.
func padded() data.Source {
	var list fixedSource
	for i := range 5 {
		b := rowOf(16, 0, documents(4+2*i)...)
		b.Starts = tensor.Tensor{}
		list = append(list, b)
	}
	return list
}

// pairs are preferences of two pairs a batch.
func pairs() data.Source {
	var list fixedSource
	for i := range 3 {
		var rows []int
		for range 4 {
			rows = append(rows, documents(13 + i)[0][:12]...)
			rows[len(rows)-1] = (7*i + len(rows)) % 256
		}
		list = append(list, data.Batch{Inputs: tensor.From(rows, 4, 12), Targets: tensor.From(slices.Concat(rows[1:], rows[:1]), 4, 12)})
	}
	return list
}

// Any number of ranks that is a power of two trains with the bits of one process.
func TestRanksTrainWithTheSameBits(t *testing.T) {
	dropout := lora.Config{Rank: 2, Dropout: 0.2}
	dpo := func() Model { return DPO{Model: small(llm.Config{}, dropout)().(*llm.Model)} }
	for _, c := range []struct {
		name string
		run  sharedRun
	}{
		{"text", sharedRun{small(llm.Config{}, lora.Config{}), texts, Options{Clip: 1}}},
		{"packed", sharedRun{small(llm.Config{}, lora.Config{}), unevenRows, Options{Clip: 0.1}}},
		{"padded", sharedRun{small(llm.Config{}, lora.Config{}), padded, Options{}}},
		{"dropout", sharedRun{small(llm.Config{}, dropout), texts, Options{}}},
		{"dropout, replayed", sharedRun{small(llm.Config{}, dropout), texts, Options{Compile: true}}},
		{"DPO", sharedRun{dpo, pairs, Options{}}},
		{"bf16 with masters", sharedRun{small(llm.Config{DType: dtype.BF16}, lora.Config{}), texts, Options{}}},
		{"moments in 8 bits", sharedRun{small(llm.Config{}, lora.Config{}), texts, Options{Optimizer: optim.AdamW{Bits: 8}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, k := range []int{8, 5} { // of 5 the ranks have different numbers
				if k == 8 && (c.name != "text" && !long.Tests() || !long.CI()) {
					continue
				}
				var want outcome
				var files string
				most := k
				if !long.CI() {
					most = 2
				}
				for size := 1; size <= most; size *= 2 {
					o := c.run.o
					o.Steps, o.Accumulate, o.LR, o.Seed = 3, k, optim.Constant(1e-2), 3
					o.Eval, o.EvalEvery, o.EvalBatches = c.run.data(), 2, 3
					o.Checkpoint, o.CheckpointEvery = t.TempDir(), 2
					run := c.run
					run.o = o
					all, errs := run.on(size)
					if err := errors.Join(errs...); err != nil {
						t.Fatal(err)
					}
					if size == 1 {
						want, files = all[0], sums(t, o.Checkpoint)
					}
					for rank, got := range all {
						if d := differs(got.history, want.history); d != "" || got.weights != want.weights {
							t.Errorf("%d batches, rank %d of %d has gone another way: %s", k, rank, size, d)
						}
					}
					if got := sums(t, o.Checkpoint); got != files {
						t.Errorf("%d batches, %d ranks: checkpoints %s, want %s", k, size, got, files)
					}
				}
			}
		})
	}
}

// With another number of ranks the last bits differ, and no more.
func TestThreeRanks(t *testing.T) {
	run := sharedRun{small(llm.Config{}, lora.Config{}), texts, Options{Steps: 4, Accumulate: 6, LR: optim.Constant(1e-2), Seed: 1}}
	one, _ := run.on(1)
	three, errs := run.on(3)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for i, loss := range three[2].history.Loss {
		if want := one[0].history.Loss[i]; math.Abs(loss-want) > 1e-5 {
			t.Errorf("step %d: got %v, want %v", i+1, loss, want)
		}
	}
}

// A run goes on with another number of ranks.
func TestRanksGoOn(t *testing.T) {
	run := sharedRun{small(llm.Config{}, lora.Config{Rank: 2, Dropout: 0.1}), texts, Options{Steps: 8, Accumulate: 4, LR: optim.Constant(1e-2), Seed: 1}}
	want, _ := run.on(1)
	run.o.Checkpoint, run.o.Resume = t.TempDir(), true
	for i, size := range []int{4, 2, 1, 4} {
		run.o.Steps = 2 * (i + 1)
		got, errs := run.on(size)
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if last := got[size-1]; !slices.Equal(last.history.Loss, want[0].history.Loss[:run.o.Steps]) || i == 3 && last.weights != want[0].weights {
			t.Errorf("%d ranks up to step %d: got losses %v, want %v", size, run.o.Steps, last.history.Loss, want[0].history.Loss)
		}
	}
}

// What one rank has otherwise is named, on all of them, before the first step.
func TestRanksThatDiffer(t *testing.T) {
	base := sharedRun{small(llm.Config{}, lora.Config{Rank: 2}), texts, Options{Steps: 3, Accumulate: 4, LR: optim.Constant(1e-2), Clip: 1, Seed: 1}}
	for _, c := range []struct {
		change func(m Model, o *Options) data.Source // of rank 1
		want   string
	}{
		{func(m Model, o *Options) data.Source { return data.Windows(text+"x", 16, 2) }, "the data: got "},
		{func(m Model, o *Options) data.Source { o.Clip = 2; return texts() }, `the clip: got 2 on rank 1, want 1 as on rank 0`},
		{func(m Model, o *Options) data.Source { o.LR = optim.Constant(2e-2); return texts() }, "the learning rate: got "},
		{func(m Model, o *Options) data.Source { o.Steps = 4; return texts() }, "the steps, evaluations and checkpoints: got [4,"},
		{func(m Model, o *Options) data.Source { o.Seed = 2; return texts() }, `the random numbers: got {"Seed":2`},
		{func(m Model, o *Options) data.Source { change(lora.Of(m)[0].Params()[1]); return texts() }, "the weights: got "},
		{func(m Model, o *Options) data.Source { change(nn.Params(m)[0]); return texts() }, "the weights that are not trained: got "},
	} {
		errs := together.Run(2, func(g *ranks.Group) error {
			m, o, d := base.model(), base.o, base.data()
			if o.Ranks = g; g.Rank() == 1 {
				d = c.change(m, &o)
			}
			h, err := Run(context.Background(), m, d, o)
			if h != nil {
				t.Errorf("%s: rank %d has a history", c.want, g.Rank())
			}
			return err
		})
		for rank, err := range errs {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("rank %d: got %v, want %s", rank, err, c.want)
			}
		}
	}
	base.o.Accumulate = 2
	_, errs := base.on(4)
	if err := errs[3]; err == nil || !strings.Contains(err.Error(), "got 4 ranks and steps of 2 batches, want at least a batch for each: set Accumulate to 4") {
		t.Errorf("got %v", err)
	}
}

// change adds 1 to a weight.
func change(p nn.Param) { p.Value().Set(p.Value().Add(1).Eval()) }

// A weight that changes on one rank is found at the next checkpoint, which is not written.
func TestARankThatGoesAnotherWay(t *testing.T) {
	dir := t.TempDir()
	errs := together.Run(2, func(g *ranks.Group) error {
		m := small(llm.Config{}, lora.Config{Rank: 2})()
		d := broken{texts().(*data.Batches), func(n int) error {
			if n == 8 && g.Rank() == 1 {
				change(lora.Of(m)[0].Params()[0])
			}
			return nil
		}}
		_, err := Run(context.Background(), m, d, Options{Steps: 6, Accumulate: 2, LR: optim.Constant(1e-2), Checkpoint: dir, CheckpointEvery: 3, Ranks: g, Seed: 1})
		return err
	})
	for rank, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "the ranks have gone different ways since step 3: the weights: got ") {
			t.Errorf("rank %d: got %v", rank, err)
		}
	}
	if got := folders(t, dir); got != "step-00000003" {
		t.Errorf("got the checkpoints %s", got)
	}
}

// broken is data that asks before each batch.
type broken struct {
	*data.Batches
	before func(n int) error
}

func (b broken) Batch(n int) (data.Batch, error) {
	if err := b.before(n); err != nil {
		return data.Batch{}, err
	}
	return b.Batches.Batch(n)
}

// An error of one rank ends the others, which say what it was.
func TestARankThatFails(t *testing.T) {
	errs := together.Run(4, func(g *ranks.Group) error {
		d := broken{texts().(*data.Batches), func(n int) error {
			if n == 13 && g.Rank() == 2 {
				return errors.New("the disk is gone")
			}
			return nil
		}}
		_, err := Run(context.Background(), small(llm.Config{}, lora.Config{})(), d, Options{Steps: 6, Accumulate: 4, LR: optim.Constant(1e-2), Ranks: g, Seed: 1})
		return err
	})
	for rank, err := range errs {
		if want := "the disk is gone"; err == nil || !strings.Contains(err.Error(), want) || rank != 2 && !strings.Contains(err.Error(), "rank 2: ") {
			t.Errorf("rank %d: got %v", rank, err)
		}
	}
}

// NaN in the batch of one rank: all refuse the step, name its tensor, and keep what they had.
func TestNaNOnOneRank(t *testing.T) {
	for _, bad := range []int{0, 3} {
		before := make([]string, 4)
		errs := together.Run(4, func(g *ranks.Group) error {
			x := tensor.Randn(4, 8).Eval()
			nans := x.Mul(math.NaN()).Eval()
			var list fixedSource
			for i := range 12 {
				if list = append(list, data.Batch{Inputs: tensor.Ones(4, 8).Eval(), Targets: tensor.Ones(4, 2).Eval()}); i == 8+bad {
					list[i].Inputs = nans
				}
			}
			m := nn.NewLinear(8, 2)
			m.Weight.Set(tensor.Ones(m.Weight.Shape()...).Eval())
			h, err := Run(context.Background(), WithLoss(m, nn.MSELoss), list, Options{Steps: 3, Accumulate: 4, LR: optim.Constant(1e-2), Ranks: g, Seed: 1})
			if h == nil || h.Steps() != 2 {
				t.Errorf("rank %d made other steps than 2: %v", g.Rank(), h)
			}
			before[g.Rank()] = nn.Hash(nn.Params(m))
			return err
		})
		for rank, err := range errs {
			var refused *NotFinite
			if !errors.As(err, &refused) || refused.Step != 3 || refused.Tensor != errs[bad].(*NotFinite).Tensor || !strings.Contains(refused.Tensor, "NaN") {
				t.Errorf("rank %d: got %v", rank, err)
			}
			if before[rank] != before[0] {
				t.Errorf("rank %d has other weights than rank 0", rank)
			}
		}
	}
}

// When one rank is asked to stop all end after the same step, with a checkpoint from which they go on.
func TestStopOfOneRank(t *testing.T) {
	run := sharedRun{small(llm.Config{}, lora.Config{}), texts, Options{Steps: 9, Accumulate: 4, LR: optim.Constant(1e-2), Seed: 1}}
	want, _ := run.on(1)
	run.o.Checkpoint, run.o.Resume = t.TempDir(), true
	steps := make([]int, 4)
	errs := together.Run(4, func(g *ranks.Group) error {
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		d := broken{texts().(*data.Batches), func(n int) error {
			if n == 13 && g.Rank() == 3 {
				cancel(errors.New("enough"))
			}
			return nil
		}}
		o := run.o
		o.Ranks = g
		h, err := Run(ctx, run.model(), d, o)
		if h != nil {
			steps[g.Rank()] = h.Steps()
		}
		return err
	})
	for rank, err := range errs {
		var stopped *Interrupted
		if !errors.As(err, &stopped) || stopped.Step != steps[0] || steps[rank] != steps[0] || steps[0] >= 7 || (rank == 3) != (stopped.Cause.Error() == "enough") {
			t.Errorf("rank %d: got %v after %v steps", rank, err, steps)
		}
	}
	got, errs := run.on(2)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got[0].history.Loss, want[0].history.Loss) || got[1].weights != want[0].weights {
		t.Errorf("got losses %v, want %v", got[0].history.Loss, want[0].history.Loss)
	}
}

// A rank that leaves as soon as it has stopped, as in a cell, takes no step from one that is later; together
// they go on.
func TestRanksStopAndLeave(t *testing.T) {
	ms := [2]Model{small(llm.Config{}, lora.Config{})(), small(llm.Config{}, lora.Config{})()}
	d := [2]*broken{{Batches: texts().(*data.Batches)}, {Batches: texts().(*data.Batches)}}
	for round := range 30 {
		errs := together.Run(2, func(g *ranks.Group) error {
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			batches := 0
			d[g.Rank()].before = func(int) error {
				if batches++; batches == 3 && g.Rank() == 0 {
					cancel(errors.New("enough"))
				}
				return nil
			}
			_, err := Run(ctx, ms[g.Rank()], d[g.Rank()], Options{Steps: 1000, Accumulate: 2, LR: optim.Constant(1e-3), Seed: 1, Ranks: g})
			g.Fail(err)
			return err
		})
		for rank, err := range errs {
			if stopped := (*Interrupted)(nil); !errors.As(err, &stopped) || round > 0 && stopped.Step <= round {
				t.Fatalf("round %d, rank %d: got %v", round, rank, err)
			}
		}
	}
}

// A checkpoint that rank 0 cannot write pauses all.
func TestRanksPause(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "checkpoints")
	errs := together.Run(2, func(g *ranks.Group) error {
		d := broken{texts().(*data.Batches), func(n int) error {
			if n == 4 && g.Rank() == 0 { // a file stands where the checkpoint is to be
				return os.WriteFile(filepath.Join(dir, folderOf(3)), nil, 0o666)
			}
			return nil
		}}
		_, err := Run(context.Background(), small(llm.Config{}, lora.Config{})(), d, Options{Steps: 3, Accumulate: 2, LR: optim.Constant(1e-2), Checkpoint: dir, Ranks: g, Seed: 1})
		return err
	})
	for rank, err := range errs {
		var paused *Paused
		if !errors.As(err, &paused) || paused.Step != 3 || !strings.Contains(err.Error(), folderOf(3)) {
			t.Errorf("rank %d: got %v", rank, err)
		}
	}
}

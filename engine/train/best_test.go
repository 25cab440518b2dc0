package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// overfitted are options of a run that learns, and then with too large a rate unlearns: its best evaluation
// lies in the middle.
func overfitted() Options {
	return Options{
		Steps: 24, LR: optim.Schedule{Shape: optim.LinearDecay, Peak: 2e-3, Floor: 1, Total: 24}, Clip: 1, Seed: 7,
		Eval: data.Windows(text, 16, 2), EvalEvery: 2, EvalBatches: 2,
	}
}

// TestBest: the weights of the best evaluation come back at the end, from memory or from their checkpoint,
// which is kept however old it is. A run that goes on does so from its last step, not from the best one.
func TestBest(t *testing.T) {
	long := overfitted()
	want := mustRun(t, newModel(), windows(), long)
	best := want.Best()
	if best.Step < 4 || best.Step > 20 || best.Loss >= want.Eval[len(want.Eval)-1].Loss {
		t.Fatalf("the best evaluation is %v of %v, want one in the middle", best, want.Eval)
	}
	atBest := newModel()
	short := long
	short.Steps, short.Eval, short.EvalEvery = best.Step, nil, 0
	mustRun(t, atBest, windows(), short)

	for _, folder := range []string{"", t.TempDir()} {
		o := long
		o.Best, o.Checkpoint, o.CheckpointEvery, o.Keep = true, folder, 1, 2
		m := newModel()
		h := mustRun(t, m, windows(), o)
		if h.Weights != best.Step || h.Steps() != long.Steps || nn.Hash(nn.Params(m)) != nn.Hash(nn.Params(atBest)) {
			t.Errorf("folder %q: the weights are said to be of step %d of %d, and are not those of step %d", folder, h.Weights, h.Steps(), best.Step)
		}
		if got, want := h.Text(0), fmt.Sprintf("weights of step %d, ", best.Step); !strings.Contains(got, want) {
			t.Errorf("got %q, want it to say %q", got, want)
		}
		if folder == "" {
			continue
		}
		if got, want := folders(t, folder), fmt.Sprint(folderOf(24), " ", folderOf(23), " ", folderOf(best.Step)); got != want {
			t.Errorf("got the checkpoints %s, want %s", got, want)
		}
		more, straight := o, long
		more.Steps, more.Resume, more.Best = 28, true, false
		straight.Steps = 28
		m, whole := newModel(), newModel()
		mustRun(t, m, windows(), more)
		mustRun(t, whole, windows(), straight)
		if nn.Hash(nn.Params(m)) != nn.Hash(nn.Params(whole)) {
			t.Error("the run that went on did not do so from its last step")
		}
	}
}

// TestBestGoesOn: what was the best before an interruption still is, with weights in memory or in a folder.
func TestBestGoesOn(t *testing.T) {
	for _, folder := range []string{"", t.TempDir()} {
		o := overfitted()
		o.Best, o.Checkpoint, o.Resume = true, folder, folder != ""
		m := newModel()
		interrupt(t, m, o, 21)
		h := mustRun(t, m, windows(), o)
		whole := overfitted()
		whole.Best = true
		same := newModel()
		want := mustRun(t, same, windows(), whole)
		if h.Weights != want.Weights || nn.Hash(nn.Params(m)) != nn.Hash(nn.Params(same)) {
			t.Errorf("folder %q: weights of step %d, want those of %d", folder, h.Weights, want.Weights)
		}
	}
}

// TestPatience: a run ends when evaluations get no better, at the same step whatever interrupted it.
func TestPatience(t *testing.T) {
	o := overfitted()
	whole := mustRun(t, newModel(), windows(), o)
	after := func(patience int) int { // the first step at which as many evaluations were no better
		best, since := math.Inf(1), 0
		for _, p := range whole.Eval {
			if since++; p.Loss < best {
				best, since = p.Loss, 0
			}
			if since == patience {
				return p.Step
			}
		}
		return 24
	}
	for _, c := range []struct {
		patience int
		delta    float64
		want     int
	}{
		{0, 0, 24},
		{2, 0, after(2)},
		{3, 0, after(3)},
		{99, 0, 24},
		{2, 10, 6}, // the first evaluation is better than none, the others are not by so much
	} {
		o.Patience, o.MinDelta = c.patience, c.delta
		straight := mustRun(t, newModel(), windows(), o)
		m, resumed := newModel(), o
		resumed.Checkpoint, resumed.Resume = t.TempDir(), true
		interrupt(t, m, resumed, 5)
		Forget(m)
		again := mustRun(t, newModel(), windows(), resumed)
		finished := mustRun(t, newModel(), windows(), resumed) // has nothing to do
		for _, h := range []*History{straight, again, finished} {
			if h.Steps() != min(c.want, 24) || !slices.Equal(h.Loss, whole.Loss[:h.Steps()]) {
				t.Errorf("patience %d, delta %g: %d steps, want %d", c.patience, c.delta, h.Steps(), c.want)
			}
			if stopped := h.Steps() < 24; stopped != (h.Stopped != "") || stopped && !strings.Contains(h.Text(0), "ended early: no better evaluation since step ") {
				t.Errorf("patience %d: says %q after %d steps", c.patience, h.Text(0), h.Steps())
			}
		}
		if last := again.Eval[len(again.Eval)-1].Step; last != again.Steps() {
			t.Errorf("patience %d: the last evaluation is of step %d, want %d", c.patience, last, again.Steps())
		}
	}
}

// spiky is a model whose loss is multiplied by a number that depends on the batch.
type spiky struct {
	*scaled
	from, to int // batches with the larger loss
	reached  int // the last batch
}

func (s *spiky) source() data.Source {
	return &changing{windows(), func(n int, b data.Batch) data.Batch {
		factor := 1.0
		if s.reached = n; n >= s.from && n < s.to {
			factor = 30
		}
		s.factor.Set(tensor.FromAs(dtype.F32, factor))
		return b
	}}
}

// TestSpikes: a step whose loss is far above those before is noted, left out, or the run goes back.
func TestSpikes(t *testing.T) {
	const at = 26 // the batch with the spike
	folder := t.TempDir()
	for _, c := range []struct {
		name   string
		o      Options
		length int // batches with the spike
		did    []string
		taken  int // batches
	}{
		{"noted", Options{}, 1, []string{"step 27 noted"}, 40},
		{"left out", Options{Spikes: SkipSpikes}, 1, []string{"step 27 skipped"}, 40},
		{"left out, compiled", Options{Spikes: SkipSpikes, Compile: true}, 1, []string{"step 27 skipped"}, 40},
		{"two left out", Options{Spikes: SkipSpikes}, 2, []string{"step 27 skipped", "step 28 skipped"}, 40},
		{"back", Options{Spikes: GoBack, Checkpoint: folder + "/a", CheckpointEvery: 10}, 1, []string{"step 27 went back to step 20"}, 47},
		{"back before there is a checkpoint", Options{Spikes: GoBack, Checkpoint: folder + "/b"}, 1, []string{"step 27 skipped"}, 40},
	} {
		o := c.o
		o.Steps, o.LR, o.Clip, o.Seed = 40, optim.Cosine(1e-2, 3, 40), 1, 7
		m := &spiky{scaled: newScaled(), from: at, to: at + c.length}
		h := mustRun(t, m, m.source(), o)
		var did []string
		for _, s := range h.Spikes {
			did = append(did, fmt.Sprintf("step %d %s", s.Step, s.Did))
			if s.Loss < 20 || s.Limit > 15 {
				t.Errorf("%s: the loss %g is above %g, want about 30 times 3, above twice that at most", c.name, s.Loss, s.Limit)
			}
		}
		if !slices.Equal(did, c.did) || h.Steps() != 40 || m.reached != c.taken-1 {
			t.Errorf("%s: got %q after %d steps and %d batches, want %q and %d", c.name, did, h.Steps(), m.reached+1, c.did, c.taken)
		}
		if got := h.Text(0); !strings.Contains(got, "spikes of the loss: step 27 ") {
			t.Errorf("%s: says %q", c.name, got)
		}
	}
}

// TestSkippedSpikeLearnsNothing: the weights after a step that was left out are those before it.
func TestSkippedSpikeLearnsNothing(t *testing.T) {
	run := func(from, steps int) (*History, string) {
		m := &spiky{scaled: newScaled(), from: from, to: 99}
		h := mustRun(t, m, m.source(), Options{Steps: steps, LR: optim.Constant(1e-2), Seed: 2, Spikes: SkipSpikes})
		return h, nn.Hash(nn.Params(m))
	}
	_, want := run(99, 28)
	h, got := run(28, 30)
	if got != want || len(h.Spikes) != 2 || h.Steps() != 30 {
		t.Errorf("got %v after %d steps, want two spikes and the weights of step 28", h.Spikes, h.Steps())
	}
}

// TestGoBackEnds: a run that cannot pass a place goes back to a checkpoint a few times only, and then leaves
// the place out.
func TestGoBackEnds(t *testing.T) {
	o := Options{Steps: 40, LR: optim.Constant(1e-2), Seed: 3, Spikes: GoBack, CheckpointEvery: 20, Resume: true}
	run := func(dir string, ctx context.Context) (*History, error) {
		m := &spiky{scaled: newScaled(), from: 25, to: 60}
		o := o
		o.Checkpoint = dir
		return Run(ctx, m, m.source(), o)
	}
	h, err := run(t.TempDir(), t.Context())
	if err != nil || times(h.Spikes, "went back to step 20") != mostBacks || times(h.Spikes, "skipped") == 0 || h.Steps() != 40 {
		t.Fatalf("got %v, %v after %d steps", err, h.Spikes, h.Steps())
	}
	dir := t.TempDir()
	_, err = run(dir, cancelAfter(23))
	var stopped *Interrupted
	if !errors.As(err, &stopped) {
		t.Fatal(err)
	}
	// The interruption's checkpoint is a newer one to go back to.
	again, err := run(dir, t.Context())
	if err != nil || again.Steps() != 40 || times(again.Spikes, "skipped") == 0 || times(again.Spikes, "went back to step 20") != 0 {
		t.Errorf("went on: %v, %v", err, again.Spikes)
	}
}

// TestLimit: what is far above the losses before.
func TestLimit(t *testing.T) {
	steady := slices.Repeat([]float64{2, 2.1, 1.9, 2.05}, 10)
	for _, c := range []struct {
		name   string
		losses []float64
		want   float64
	}{
		{"too few", steady[:24], math.Inf(1)},
		{"a share of the median", slices.Repeat([]float64{2}, 30), 3},
		{"deviations", steady, max(3, 2+8*1.4826*0.1)},
		{"the last loss does not count", append(slices.Repeat([]float64{2}, 25), 50), 3},
		{"nor what lies long ago", append(slices.Repeat([]float64{9}, 99), slices.Repeat([]float64{1}, 66)...), 1.5},
		{"losses below 0", slices.Repeat([]float64{-2}, 30), -1},
	} {
		h := &History{Loss: c.losses}
		if got := h.limit(len(c.losses)); math.Abs(got-c.want) > 1e-9 && got != c.want {
			t.Errorf("%s: got %g, want %g", c.name, got, c.want)
		}
	}
}

// TestOptionsOfEvaluations: what cannot be is refused by name.
func TestOptionsOfEvaluations(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Best: true}, "Best and Patience want evaluations"},
		{Options{Patience: 2}, "Best and Patience want evaluations"},
		{Options{Patience: 2, Eval: windows()}, "set EvalEvery"},
		{Options{Patience: -1}, "got Patience -1"},
		{Options{MinDelta: math.NaN()}, "got a MinDelta of NaN"},
		{Options{Spikes: 7}, "got Spikes 7"},
		{Options{Spikes: GoBack}, "set Checkpoint"},
	} {
		c.o.Steps, c.o.LR = 1, optim.Constant(1)
		if _, err := Run(t.Context(), newModel(), windows(), c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want it to say %q", err, c.want)
		}
	}
}

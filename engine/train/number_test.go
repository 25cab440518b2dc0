package train

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/internal/testing/mutate"
)

// TestHistoryJSON: infinities and NaN come back, and so does every bit of the rest.
func TestHistoryJSON(t *testing.T) {
	h := &History{
		Total: 3, Loss: []float64{math.Pi, 5e-324, 1e300}, LR: []float64{0, math.Copysign(0, -1), 1. / 3}, GradNorm: []float64{1, 2, math.Inf(1)},
		Eval:   []Point{{Step: 1, Loss: math.Inf(1), Metrics: map[string]float64{"m": math.Inf(-1)}}, {Step: 2, Loss: math.Inf(-1)}, {Step: 3, Loss: math.NaN()}},
		Tokens: 7, Examples: 3, Elapsed: 1, Notes: []string{"n"},
	}
	text, err := h.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var back History
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if last := &back.Eval[2]; math.IsNaN(last.Loss) { // NaN is equal to nothing
		last.Loss, h.Eval[2].Loss = 0, 0
	}
	if !reflect.DeepEqual(&back, h) || !math.Signbit(back.LR[1]) {
		t.Errorf("got  %+v\nwant %+v\nfrom %s", &back, h, text)
	}
}

// diverged is a model whose evaluation is infinite or NaN; what it learns is finite.
type diverged struct {
	Model
	loss float64
}

func (d diverged) Loss(inputs, targets tensor.Tensor) tensor.Tensor {
	if inputs.Len(1) != 16 { // the windows of the evaluation have another length
		return tensor.Scalar(d.loss)
	}
	return d.Model.Loss(inputs, targets)
}

// TestResumeWithNumbersThatAreNone: an infinite Clip and evaluations that are not finite are saved, and the
// run goes on bit for bit.
func TestResumeWithNumbersThatAreNone(t *testing.T) {
	for _, loss := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		run := func(dir string, steps int) (*History, string) {
			m := diverged{newModel(), loss}
			o := options(steps)
			o.Clip, o.Checkpoint, o.Resume = math.Inf(1), dir, true
			o.Eval, o.EvalEvery, o.EvalBatches = data.Windows(text, 8, 2), 2, 1
			h, err := Run(context.Background(), m, windows(), o)
			if err != nil {
				t.Fatal(err)
			}
			return h, nn.Hash(nn.Params(m))
		}
		want, wantHash := run(t.TempDir(), 6)
		dir := t.TempDir()
		run(dir, 4)
		h, hash := run(dir, 6)
		if !slices.Equal(h.Loss, want.Loss) || hash != wantHash {
			t.Errorf("evaluations of %g: the resumed run differs", loss)
		}
		if len(h.Eval) != 3 || math.Float64bits(h.Eval[0].Loss) != math.Float64bits(loss) && !math.IsNaN(loss) {
			t.Errorf("evaluations of %g: got %v", loss, h.Eval)
		}
	}
}

func TestNumbersThatAreRefused(t *testing.T) {
	for name, change := range map[string]func(o *Options){
		"a rate of +Inf": func(o *Options) { o.LR.Peak = math.Inf(1) },
		"a floor of NaN": func(o *Options) { o.LR.Floor = math.NaN() },
		"a clip of NaN":  func(o *Options) { o.Clip = math.NaN() },
	} {
		o := options(2)
		change(&o)
		if _, err := Run(context.Background(), newModel(), windows(), o); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

// TestStateMutants: a damaged state is refused, and the model stays as it was; or it is one that a run can go
// on from.
func TestStateMutants(t *testing.T) {
	o := saved(t)
	dir := filepath.Join(o.Checkpoint, folderOf(4))
	whole, err := regular.Read(filepath.Join(dir, stateFile), maxState)
	if err != nil {
		t.Fatal(err)
	}
	m := newModel()
	o.Checkpoint = ""
	run, err := start(m, windows(), o.withDefaults(), nn.Trainable(m))
	if err != nil {
		t.Fatal(err)
	}
	run.base = nn.Hash(nil)
	fresh := nn.Hash(nn.Params(m))
	n, taken := 500, 0
	if long.Tests() {
		n = 10_000
	}
	mutate.Each(4, n, whole, func(i int, mutant []byte) {
		if err := os.WriteFile(filepath.Join(dir, stateFile), mutant, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := run.load(dir, 4); err != nil {
			if i%50 == 0 && taken == 0 && nn.Hash(nn.Params(m)) != fresh {
				t.Fatalf("mutant %d: what was refused (%v) changed the model", i, err)
			}
			return
		}
		taken++
		if _, err := run.history.JSON(); err != nil || run.history.Steps() != 4 {
			t.Errorf("mutant %d: %d steps, %v", i, run.history.Steps(), err)
		}
		run.history.Text(80)
	})
	t.Logf("%d of %d were taken", taken, n)
}

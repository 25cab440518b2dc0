package train

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Best is the evaluation with the lowest loss, the first of several; the zero Point if there was none.
func (h *History) Best() Point {
	best := Point{Loss: math.Inf(1)}
	for _, p := range h.Eval {
		if p.Loss < best.Loss {
			best = p
		}
	}
	if best.Step == 0 {
		return Point{}
	}
	return best
}

// impatient says whether the last Patience evaluations were no better than those before.
func (o Options) impatient(evaluations []Point) bool {
	best, since := math.Inf(1), 0
	for _, p := range evaluations {
		if p.Loss < best-o.MinDelta {
			best, since = p.Loss, 0
		} else {
			since++
		}
	}
	return o.Patience > 0 && since >= o.Patience
}

// ended says whether there is no step left to be made.
func (t *trainer) ended() bool { return t.steps() >= t.o.Steps || t.o.impatient(t.history.Eval) }

// keepBest keeps the weights if the evaluation that was just made is the best so far: in a checkpoint, which
// is then not removed as an old one, or else in memory.
func (t *trainer) keepBest() error {
	switch {
	case t.history.Best().Step != t.history.Steps():
	case t.o.Checkpoint != "":
		return t.save(false)
	case t.o.Best:
		t.best = map[string]tensor.Tensor{}
		for _, p := range t.changed() {
			t.best[p.Name] = p.Value().Snapshot()
		}
	}
	return nil
}

// loadBest loads the weights of the best evaluation.
func (t *trainer) loadBest() error {
	best := t.history.Best().Step
	if best == 0 || best == t.history.Steps() {
		t.history.Weights = best
		return nil
	}
	weights := t.best
	if t.o.Checkpoint != "" {
		dir := filepath.Join(t.o.Checkpoint, folderOf(best))
		_, err := t.o.Ranks.Once(func() ([]byte, error) { return nil, verify(dir) })
		if err != nil {
			return fmt.Errorf("train: the best checkpoint: %w", err)
		}
		if weights, err = t.tensors(filepath.Join(dir, paramsFile)); err != nil {
			return fmt.Errorf("train: the best checkpoint: %w", err)
		}
	}
	if weights == nil {
		return fmt.Errorf("train: the weights of step %d, the best, were not kept: set Best, or Checkpoint, from the beginning", best)
	}
	err := t.fits(weights)
	if err == nil {
		err = t.put(weights)
	}
	if err == nil {
		t.history.Weights = best
	}
	return err
}

// fits says which of the weights that training changes is not there, or has another shape or dtype.
func (t *trainer) fits(weights map[string]tensor.Tensor) error {
	for _, p := range t.changed() {
		got, ok := weights[p.Name]
		if !ok {
			return fmt.Errorf("no tensor %q in %s", p.Name, paramsFile)
		}
		if want := p.Value(); got.DType() != want.DType() || !slices.Equal(got.Shape(), want.Shape()) {
			return fmt.Errorf("%s: tensor %q is %v%v, want %v%v", paramsFile, p.Name, got.DType(), got.Shape(), want.DType(), want.Shape())
		}
	}
	return nil
}

// put sets the weights that training changes to others, which fit.
func (t *trainer) put(weights map[string]tensor.Tensor) error {
	return tensor.Try(func() {
		for _, p := range t.changed() {
			p.Value().Set(weights[p.Name].To(p.Value().Device()))
		}
	})
}

// checkBest says what is wrong with the options for evaluations.
func (o Options) checkBest() error {
	switch {
	case o.Eval == nil && (o.Best || o.Patience > 0):
		return errors.New("train: Best and Patience want evaluations: set Eval to data that is not trained on")
	case o.Patience > 0 && o.EvalEvery == 0:
		return errors.New("train: Patience counts evaluations: set EvalEvery to the steps between them")
	case !(o.MinDelta >= 0) || math.IsInf(o.MinDelta, 0):
		return fmt.Errorf("train: got a MinDelta of %v, want a finite number of at least 0", o.MinDelta)
	}
	return nil
}

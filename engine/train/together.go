package train

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/regular"
)

// What a run of several ranks needs besides the sum of a step. All of them make the same steps; they know it
// because what they begin with is compared, and what they have become before each checkpoint.

// agree returns an error that names what is not the same on all ranks.
func (t *trainer) agree() error {
	group := t.o.Ranks
	if group.Size() == 1 {
		return nil
	}
	for _, p := range nn.Params(t.model) {
		if p.Running() {
			return fmt.Errorf("train: %s is a running statistic, which each rank would make of its own batches: train with one process", p.Name)
		}
	}
	values, err := decodeSignature(t.signature)
	if err != nil {
		return err
	}
	o := t.o
	plan := []any{o.Steps, o.Checkpoint != "", o.CheckpointEvery, o.Resume, o.Best, o.Patience, o.MinDelta, o.EvalEvery, o.EvalBatches, slices.Sorted(maps.Keys(o.Metrics))}
	if o.Eval != nil {
		plan = append(plan, o.Eval.Fingerprint())
	}
	values["steps, evaluations and checkpoints"] = plan
	values["random numbers"] = t.random.State()
	values["weights that are not trained"], values["weights"] = t.base, nn.Hash(t.changed())
	for _, what := range slices.Sorted(maps.Keys(values)) {
		text, err := json.Marshal(values[what])
		if err == nil {
			err = group.Agree("the "+what, string(text))
		}
		if err != nil {
			return fmt.Errorf("train: %w", err)
		}
	}
	return nil
}

// together returns an error if the weights are no longer the same on all ranks.
func (t *trainer) together() error {
	if t.o.Ranks.Size() == 1 {
		return nil
	}
	if err := t.o.Ranks.Agree("the weights", nn.Hash(t.changed())); err != nil {
		return fmt.Errorf("the ranks have gone different ways since step %d: %w", max(0, t.saved.step), err)
	}
	return nil
}

// tensors reads a file of tensors, of which the first rank gives the others its bytes.
func (t *trainer) tensors(path string) (map[string]tensor.Tensor, error) {
	if t.o.Ranks.Size() == 1 {
		list, _, err := safetensors.Load(path)
		return list, err
	}
	const most = 1 << 40 // bytes
	text, err := t.o.Ranks.Once(func() ([]byte, error) { return regular.Read(path, most) })
	if err != nil {
		return nil, err
	}
	f, err := safetensors.Read(bytes.NewReader(text), int64(len(text)), path)
	if err != nil {
		return nil, err
	}
	list := map[string]tensor.Tensor{}
	for _, info := range f.Tensors() {
		if list[info.Name], err = f.Tensor(info.Name); err != nil {
			return nil, err
		}
	}
	return list, nil
}

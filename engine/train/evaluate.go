package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/ranks"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Evaluate returns the mean loss over the first batches of a source, with dropout off and without learning:
// the mean over all their targets that count. Each row counts once: as many batches as an epoch has, or 0,
// are all of the data (see data.Once); of a source that does not say how much it has 0 is 8 batches. With
// another function of outputs and targets in place of the loss it returns the mean of that:
//
//	train.Evaluate(ctx, train.WithLoss(m, nn.Accuracy), test, 0)
func Evaluate(ctx context.Context, m Model, d data.Source, batches int) (float64, error) {
	means, err := measure(ctx, nil, m, d, batches, []measured{func(b []tensor.Tensor) tensor.Tensor { return lossOf(m, b) }})
	if err != nil {
		return 0, err
	}
	return means[0], nil
}

// measured is a number of a batch, which is as tensorsOf gives it.
type measured func(batch []tensor.Tensor) tensor.Tensor

// measure returns the mean of each number over the targets of the first batches, of which each rank computes
// its share. The sums are of f64, in the order of the batches.
func measure(ctx context.Context, group *ranks.Group, m Model, d data.Source, batches int, list []measured) ([]float64, error) {
	if err := missing(m, d); err != nil {
		return nil, err
	}
	if batches < 0 {
		return nil, fmt.Errorf("train: evaluate: got %d batches, want at least 0", batches)
	}
	all := data.Epoch(d)
	switch {
	case batches == 0:
		batches = cmp.Or(all, 8)
	case all > 0:
		batches = min(batches, all)
	}
	nn.SetTraining(m, false)
	dev := nn.Device(m)
	var own []float64 // of each batch the weight and the values
	from, to := group.Share(batches)
	for n := from; n < to; n++ {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		group.Went()
		err := within(device.On(ctx, dev), func() (err error) {
			defer unwound(ctx, &err)
			b, err := data.Once(d, n)
			if err != nil {
				return err
			}
			weight := float64(counted(m, b))
			own = append(own, weight)
			if err = packs(m, b); err != nil || weight == 0 {
				own = append(own, make([]float64, len(list))...)
				return err
			}
			if len(list) > 1 && !b.Starts.IsNone() {
				return errors.New("train: Metrics are of outputs, which forget where a packed row's documents begin: evaluate on unpacked data")
			}
			batch, values := tensorsOf(b, dev), make([]tensor.Tensor, len(list))
			for i, f := range list {
				values[i] = f(batch)
			}
			tensor.Eval(values...) // together: what they share is computed once
			for _, v := range values {
				own = append(own, v.Item())
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	numbers, err := group.Numbers(own)
	if err != nil {
		return nil, err
	}
	means, targets := make([]float64, len(list)), 0.0
	for row := range slices.Chunk(numbers, 1+len(list)) {
		for i, v := range row[1:] {
			means[i] += v * row[0]
		}
		targets += row[0]
	}
	if targets == 0 {
		return nil, fmt.Errorf("train: evaluate: no target counts in %d batches", batches)
	}
	for i := range means {
		means[i] /= targets
	}
	return means, nil
}

// within calls f with the context of its evaluations, and returns its error, or that of a *tensor.Error.
func within(ctx context.Context, f func() error) (err error) {
	failed := tensor.Try(func() { tensor.Within(ctx, func() { err = f() }) })
	if failed != nil {
		return failed
	}
	return err
}

// evaluate returns the loss and the metrics on the data that is not trained on.
func (t *trainer) evaluate(ctx context.Context) (Point, error) {
	list := []measured{func(b []tensor.Tensor) tensor.Tensor { return lossOf(t.model, b) }}
	var names []string
	layer, _ := layerOf(t.model)
	for name, metric := range t.o.Metrics {
		names = append(names, name)
		list = append(list, func(b []tensor.Tensor) tensor.Tensor { return metric(layer.Forward(b[0]), b[1]) })
	}
	means, err := measure(ctx, t.o.Ranks, t.model, t.o.Eval, t.o.EvalBatches, list)
	if err != nil {
		return Point{}, err
	}
	_, other := t.model.(Counter) // the mean of its loss is over something else than tokens
	p := Point{Loss: means[0], Tokens: !other && t.history.Tokens > 0}
	for i, name := range names {
		if p.Metrics == nil {
			p.Metrics = map[string]float64{}
		}
		p.Metrics[name] = means[i+1]
	}
	return p, nil
}

// layerOf returns what gives a model's outputs, if there is something.
func layerOf(m Model) (nn.Layer, bool) {
	if w, ok := m.(withLoss); ok {
		return w.layer, true
	}
	layer, ok := m.(nn.Layer)
	return layer, ok
}

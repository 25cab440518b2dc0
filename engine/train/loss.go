package train

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// WithLoss makes a layer a Model, whose loss is that of the layer's outputs:
//
//	train.Run(ctx, train.WithLoss(m, nn.MSELoss), data.Pairs(x, y, 32), options)
//
// The models of one layer are one model: a run that was interrupted goes on.
func WithLoss(m nn.Layer, loss nn.Loss) Model { return withLoss{m, loss} }

type withLoss struct {
	layer nn.Layer
	loss  nn.Loss
}

// Members lists those of the layer, so that weights have the names that they have there.
func (m withLoss) Members() []nn.Member { return m.layer.Members() }

// SetTraining tells the layer, which is no member.
func (m withLoss) SetTraining(on bool) { setTraining(m.layer, on) }

// setTraining tells a module that is no member of what is trained.
func setTraining(m nn.Module, on bool) {
	if l, ok := m.(nn.TrainingAware); ok {
		l.SetTraining(on)
	}
}

func (m withLoss) Loss(inputs, targets tensor.Tensor) tensor.Tensor {
	return m.loss(m.layer.Forward(inputs), targets)
}

// A Counter is a Model whose loss is a mean over something else than the targets that count. It says over how
// many, so that several batches make one step, or one evaluation, as if they were one.
type Counter interface {
	Model
	Counted(b data.Batch) int
}

// counted is over how many the loss of a batch is the mean.
func counted(m Model, b data.Batch) int {
	if c, ok := m.(Counter); ok {
		return c.Counted(b)
	}
	return b.Counted()
}

// packs says whether the model can learn from a batch's rows.
func packs(m Model, b data.Batch) error {
	if _, ok := m.(PackedModel); !ok && !b.Starts.IsNone() {
		return fmt.Errorf("train: the data packs several documents into a row, and %T has no method PackedLoss", m)
	}
	return nil
}

// tensorsOf are a batch's inputs, targets and, if its rows have several documents, their starts.
func tensorsOf(b data.Batch, on device.Device) []tensor.Tensor {
	list := []tensor.Tensor{b.Inputs.To(on), b.Targets.To(on)}
	if !b.Starts.IsNone() {
		list = append(list, b.Starts.To(on))
	}
	return list
}

// lossOf is the model's loss on what tensorsOf gave.
func lossOf(m Model, batch []tensor.Tensor) tensor.Tensor {
	if len(batch) == 3 {
		return m.(PackedModel).PackedLoss(batch[0], batch[1], batch[2])
	}
	return m.Loss(batch[0], batch[1])
}

package train

import (
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
func (m withLoss) SetTraining(on bool) {
	if l, ok := m.layer.(nn.TrainingAware); ok {
		l.SetTraining(on)
	}
}

func (m withLoss) Loss(inputs, targets tensor.Tensor) tensor.Tensor {
	return m.loss(m.layer.Forward(inputs), targets)
}

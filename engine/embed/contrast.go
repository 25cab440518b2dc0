package embed

import (
	"cmp"
	"fmt"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Contrast is a model as package train wants it: it learns from pairs of texts that belong together, a
// question and its answer for example, as rows of [Model.Tokens].
//
//	train.Run(ctx, embed.Contrast{Model: m}, data.Pairs(m.Tokens(questions...), m.Tokens(answers...), 32), options)
type Contrast struct {
	Model *Model
	Scale float64 // of the cosines; 0 means 20
}

// Loss is the mean of −log of the probability that a text of the inputs i64 [B T] belongs to the one of its
// own row among all of the targets i64 [B U], which is softmax(Scale·similarity): each row's target is a
// wrong answer to all other rows (van den Oord et al. 2018; MultipleNegativesRankingLoss of
// sentence-transformers).
func (c Contrast) Loss(inputs, targets tensor.Tensor) tensor.Tensor {
	if inputs.Rank() != 2 || targets.Rank() != 2 || inputs.Len(0) != targets.Len(0) {
		panic(&tensor.Error{Op: "embed.Contrast", Msg: fmt.Sprintf("got inputs %v and targets %v, want [B T] and [B U]", inputs.Shape(), targets.Shape())})
	}
	scale := cmp.Or(c.Scale, 20)
	scores := c.Model.Similarity(c.Model.Forward(inputs), c.Model.Forward(targets)).Mul(scale)
	return tensor.CrossEntropy(scores, tensor.Range(inputs.Len(0)).To(scores.Device()), tensor.CrossEntropyOptions{})
}

// Members lists those of the model.
func (c Contrast) Members() []nn.Member { return c.Model.Members() }

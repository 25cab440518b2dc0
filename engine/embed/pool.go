package embed

import (
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Pooling makes one vector of those of a text's tokens.
type Pooling string

// The names are those of sentence-transformers.
const (
	Mean     Pooling = "mean"                 // of all tokens
	MeanSqrt Pooling = "mean_sqrt_len_tokens" // their sum over the root of their number
	First    Pooling = "cls"                  // that of the first token
	Last     Pooling = "lasttoken"
	Max      Pooling = "max" // the largest of each element
)

// poolings are all of them.
var poolings = []Pooling{First, Max, Mean, MeanSqrt, Last} // in the order in which several stand side by side

// pool makes [B width] of x [B T width]; seen is bool [B T]. A text without tokens gives 0.
func pool(kinds []Pooling, x, seen tensor.Tensor) tensor.Tensor {
	count := seen.Cast(dtype.F32).Sum(1).Unsqueeze(-1) // [B 1]
	some := count.Gt(0)
	var list []tensor.Tensor
	for _, kind := range kinds {
		var y tensor.Tensor
		switch kind {
		case First:
			y = x.Slice(1, 0, 1).Squeeze(1)
		case Last:
			at := count.Sub(1).Maximum(0).Cast(dtype.I64)
			place := tensor.Range(x.Len(1)).To(x.Device()).Unsqueeze(0).Eq(at)
			y = tensor.Where(place.Unsqueeze(-1), x, 0).Sum(1)
		case Max:
			y = tensor.Where(seen.Unsqueeze(-1), x, -3e38).Max(1)
		default:
			y = tensor.Where(seen.Unsqueeze(-1), x, 0).Sum(1)
			if n := count.Maximum(1); kind == MeanSqrt {
				y = y.Div(n.Sqrt())
			} else {
				y = y.Div(n)
			}
		}
		list = append(list, tensor.Where(some, y, 0))
	}
	if len(list) == 1 {
		return list[0]
	}
	return tensor.Concat(list, -1)
}

// A Dense is a layer after the pooling: act(x·W + bias).
type Dense struct {
	Layer nn.Layer
	Act   nn.Func // the zero Func changes nothing
	out   int
}

// Out is the length of the rows that come out.
func (d *Dense) Out() int { return d.out }

// Forward maps x [B in] to [B Out].
func (d *Dense) Forward(x tensor.Tensor) tensor.Tensor {
	x = d.Layer.Forward(x)
	if d.Act.Apply != nil {
		x = d.Act.Apply(x)
	}
	return x
}

// Members lists the layer.
func (d *Dense) Members() []nn.Member { return []nn.Member{{Name: "linear", Slot: &d.Layer}} }

package quant

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Expand is the inverse of [Module]: it exchanges all quantised layers of m for plain ones whose weights are
// what the codes stand for, rounded to dt: F32, F16 or BF16. It returns how many layers it exchanged.
func Expand(m nn.Module, dt dtype.Type) (int, error) {
	if dt != dtype.F32 && dt != dtype.F16 && dt != dtype.BF16 {
		return 0, fmt.Errorf("quant: got %v to expand to, want f32, f16 or bf16", dt)
	}
	n := 0
	for _, slot := range slotsOf(m) {
		var layer nn.Layer
		param := func(w tensor.Tensor) tensor.Tensor { return w.Eval().Named(slot.name + ".weight").Param() }
		switch l := slot.Layer().(type) {
		case *Linear:
			layer = &nn.Linear{Weight: param(l.Weight.Dequantize(dt)), Bias: l.Bias}
		case *Embedding:
			layer = &nn.Embedding{Weight: param(l.Weight.Dequantize(dt).Transpose())}
		case *Grouped:
			layer = &nn.Grouped{Weight: param(l.Weight.Dequantize(dt))}
		default:
			continue
		}
		slot.set(layer)
		n++
	}
	return n, nil
}

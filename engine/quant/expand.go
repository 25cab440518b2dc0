package quant

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
)

// Expand is the inverse of [Module]: it exchanges all quantised layers of m for plain ones whose weights are
// what the codes stand for, rounded to dt: F32, F16 or BF16. It returns how many layers it exchanged.
func Expand(m nn.Module, dt dtype.Type) (int, error) {
	if dt != dtype.F32 && dt != dtype.F16 && dt != dtype.BF16 {
		return 0, fmt.Errorf("quant: got %v to expand to, want f32, f16 or bf16", dt)
	}
	n := 0
	nn.Walk(m, func(path string, member nn.Member) {
		if member.Slot == nil {
			return
		}
		switch l := (*member.Slot).(type) {
		case *Linear:
			w := l.Weight.Dequantize(dt).Eval()
			*member.Slot, n = &nn.Linear{Weight: w.Named(path + ".weight").Param(), Bias: l.Bias}, n+1
		case *Embedding:
			w := l.Weight.Dequantize(dt).Transpose().Eval()
			*member.Slot, n = &nn.Embedding{Weight: w.Named(path + ".weight").Param()}, n+1
		}
	})
	return n, nil
}

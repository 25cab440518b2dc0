package optim

import (
	"math"
	"testing"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A person may look at the loss, and at whatever else was computed from the parameters and not read yet,
// after the step that it led to: its value is that of before the step, in each step.
func TestLossAfterTheStep(t *testing.T) {
	x := tensor.From([]float64{1, 2, 3}).Eval()
	for _, rule := range []Rule{AdamW{}, SGD{}, SGD{Momentum: 0.9}} {
		for _, c := range []struct {
			name   string
			commit func(u *Update)
		}{
			{"Commit", (*Update).Commit},
			{"CommitIf", func(u *Update) { u.CommitIf(tensor.Scalar(1)) }},
			{"Tensors and Commit", func(u *Update) { tensor.Eval(u.Tensors()...); u.Commit() }},
		} {
			w := tensor.From([]float64{3, -1, 2}).Param()
			o := rule.New([]nn.Param{nn.NewParam("w", &w)})
			for i := range 8 {
				now := w.Float64s()
				want, sum := 0.0, 0.0
				for k, v := range now {
					want += math.Exp(v * float64(k+1) / 4)
					sum += v
				}
				loss, other := w.Mul(x).Mul(0.25).Exp().Sum(), tensor.Tensor{}
				if i >= 4 {
					other = w.Sum()
				}
				c.commit(o.Update(tensor.Grad(loss, w), 0.1, tensor.Tensor{}))
				var got, of float64
				if err := tensor.Try(func() {
					if got, of = loss.Item(), sum; !other.IsNone() {
						of = other.Item()
					}
				}); err != nil {
					t.Fatalf("%v, %s, step %d: %v", rule, c.name, i+1, err)
				}
				if math.Abs(got-want) > 1e-3 || math.Abs(of-sum) > 1e-3 {
					t.Errorf("%v, %s, step %d: the loss is %v and the sum %v, want %v and %v", rule, c.name, i+1, got, of, want, sum)
				}
				if moved := w.Float64s(); moved[0] == now[0] {
					t.Errorf("%v, %s, step %d: nothing was learnt", rule, c.name, i+1)
				}
			}
		}
	}
}

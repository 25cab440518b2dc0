package plan_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A plan says where each launch comes from: the place and the operations of the program, the operation whose
// gradient it is, or that it belongs to the optimizer. The place of a gradient is that of the operation, not
// that of the call of Grad.
func TestOrigins(t *testing.T) {
	line := ""
	at := func(place string) { line = place }
	for _, c := range []struct {
		name  string
		build func() tensor.Tensor
		want  []string
	}{
		{"an epilogue joins its product", func() tensor.Tensor {
			x := ready([]int{4, 5}, []int{5, 6})
			at("In[1]:1")
			y := x[0].MatMul(x[1])
			at("In[1]:2")
			return y.Mul(2).Silu()
		}, []string{"In[1]:1 matmul", "In[1]:2 mul, silu"}},
		{"nobody knows the place", func() tensor.Tensor {
			x := ready([]int{4, 5})
			at("")
			return x[0].Exp()
		}, []string{"exp"}},
		{"a gradient", func() tensor.Tensor {
			w := tensor.Ones(5).Param()
			at("In[2]:1")
			loss := w.Exp().Sum()
			at("In[2]:2")
			return tensor.Grad(loss, w)[0]
		}, []string{"In[2]:1 backward of exp", "In[2]:1 exp"}},
		{"two products whose gradients become one product", func() tensor.Tensor {
			x, w := tensor.Ones(4, 5).Param(), ready([]int{5, 6}, []int{5, 6})
			at("In[2]:1")
			p := x.MatMul(w[0])
			at("In[2]:2")
			q := x.MatMul(w[1])
			at("In[2]:3")
			return tensor.Grad(p.Sum().Add(q.Sum()), x)[0]
		}, []string{"In[2]:2 backward of matmul"}},
		{"a gradient that computes the forward pass again", func() tensor.Tensor {
			w := tensor.Ones(5).Param()
			at("In[3]:1")
			loss := tensor.Checkpoint(func(x tensor.Tensor) tensor.Tensor { return x.Sin() }, w.Mul(2)).Sum()
			at("In[3]:2")
			return tensor.Grad(loss, w)[0]
		}, []string{"In[3]:1 backward of checkpoint", "In[3]:1 backward of sin", "In[3]:1 mul"}},
		{"a step of an optimizer", func() tensor.Tensor {
			w := tensor.Ones(5).Param()
			o := optim.SGD{}.New([]nn.Param{nn.NewParam("w", &w)})
			at("In[4]:1")
			return o.Update(ready([]int{5}), 0.5, tensor.Tensor{}).Tensors()[0]
		}, []string{"In[4]:1 optimizer: "}},
	} {
		ctx := profile.WithPlaces(context.Background(), func(string) string { return line })
		tensor.Within(ctx, func() {
			var got []string
			for l := range strings.Lines(c.build().Plan()) {
				if from, ok := strings.CutPrefix(strings.TrimSpace(l), "from "); ok {
					got = append(got, from)
				}
			}
			slices.Sort(got)
			got = slices.Compact(got)
			if len(got) != len(c.want) || !slices.EqualFunc(got, c.want, strings.HasPrefix) {
				t.Errorf("%s: got %q, want %q", c.name, got, c.want)
			}
		})
	}
}

// Who does not ask is not told, and pays nothing.
func TestNoOrigins(t *testing.T) {
	x := ready([]int{4})[0].Exp()
	if plan := x.Plan(); strings.Contains(plan, "from ") {
		t.Errorf("got %s, want no origin", plan)
	}
}

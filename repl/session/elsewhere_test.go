package session

import (
	"strings"
	"testing"
)

// A name of PyTorch, NumPy or MLX is answered with the Go for it, which runs when it is pasted.
func TestNamesOfPyTorchAreAnswered(t *testing.T) {
	for _, c := range []struct{ typed, hint string }{
		{"tensor.Relu(x)", "write x.Relu()"},
		{"tensor.Cat([]tensor.Tensor{x, x}, 0)", "write tensor.Concat([]tensor.Tensor{x, y}, 0)"},
		{"nn.Parameter(x)", "write x.Param()"},
		{"F.relu(x)", "write x.Relu()"},
		{"torch.relu(x)", "write x.Relu()"},
		{"torch.nn.ReLU()", "write nn.ReLU()"},
		{"torch.cuda.is_available()", "tensors are in package tensor, layers in nn, which are there without an import: nn.NewLinear(4, 8)"},
		{"torch.randint(0, 10, x.Shape())", "write tensor.RandInt(0, 10, 2, 3)"},
		{"m.Parameters()", "write nn.Params(m)"},
		{"m.StateDict()", "write nn.Params(m)"},
		{"m.Train()", "write nn.SetTraining(m, true)"},
		{"m.Eval()", "write nn.SetTraining(m, false)"},
		{"opt.StateDict()", "write opt.State()"},
		{"opt.ZeroGrad()", "gradients are values that tensor.Grad returns: there is nothing to set to zero"},
		{"torch.no_grad()", "nothing need be switched off: gradients are made where tensor.Grad asks for them"},
		{`x.to("cuda")`, "write x.To(device.Default())"},
		{`x.to("cpu")`, "write x.To(device.CPU())"},
		{"x.to(torch.float16)", "write x.Cast(dtype.F16)"},
		{"x.MaskedFill(mask, 0)", "write tensor.Where(mask, 0, x)"},
		{"y.Unbind(0)", "write y.Unstack(0)"},
		{"optim.Adam{}", "write optim.AdamW{}.New(nn.Params(m))"},
		{"mx.logaddexp(x, y)", "write x.LogAddExp(y)"},
	} {
		s, _ := newSession(t, Options{})
		run(t, s, `x := tensor.Randn(2, 3); y := tensor.Randn(2, 3); mask := x.Gt(0); m := nn.NewLinear(3, 2); opt := optim.SGD{}.New(nn.Params(m)); _ = opt`)
		r := s.Run(t.Context(), c.typed)
		if r.Err == nil {
			t.Errorf("%s: runs, want a complaint", c.typed)
			continue
		}
		_, hint, _ := strings.Cut(firstLine(r.Err), "\x00")
		if hint != c.hint {
			t.Errorf("%s:\n got %s\nwant %s", c.typed, hint, c.hint)
		}
		if goText, ok := strings.CutPrefix(hint, "write "); ok {
			if r := s.Run(t.Context(), goText); r.Err != nil {
				t.Errorf("%s: pasted: %v", goText, r.Err)
			}
		}
	}
}

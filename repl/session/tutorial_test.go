package session

import (
	"strings"
	"testing"
)

// tutorialSetup declares what the earlier cells of a beginner's tutorial have made.
const tutorialSetup = `x := tensor.Randn(2, 3); y := tensor.Randn(2, 3); m := nn.NewLinear(3, 2); w := tensor.Randn(3, 2).Param()
opt := optim.SGD{}.New(nn.Params(m)); _, _ = opt, w`

// What somebody who knows PyTorch's tutorials types by habit either runs, where the hint is empty, or is
// answered with a line that runs when it is pasted.
func TestTutorialsByHabit(t *testing.T) {
	for _, c := range []struct{ typed, hint, pasted string }{ // pasted is what follows "write", unless it is given
		// tensors
		{"data = [[1, 2], [3, 4]]", "write data := [][]int{{1, 2}, {3, 4}}", ""},
		{"t = torch.tensor([[1, 2], [3, 4]])", "write t := tensor.From([][]int{{1, 2}, {3, 4}})", ""},
		{"ones = torch.ones_like(x)", "write ones := tensor.OnesLike(x)", ""},
		{"shape = (2, 3,)", "write shape := []int{2, 3}", ""},
		{"x.shape", "did you mean Shape()?", "x.Shape()"},
		{"x.dtype", "did you mean DType()?", "x.DType()"},
		{"x.device", "did you mean Device()?", "x.Device()"},
		{`print(f"Shape of tensor: {x.shape}")`, `write fmt.Printf("Shape of tensor: %v\n", x.Shape())`, ""},
		{"x[0]", "", ""},
		{"x[:, 0]", "", ""},
		{"x[..., -1]", "", ""},
		{"x[:, 1] = 0", "", ""},
		{"t1 = torch.cat([x, x, x], dim=1)", "write t1 := tensor.Concat([]tensor.Tensor{x, x, x}, 1)", ""},
		{"y1 = x @ x.T", "write y1 := x.MatMul(x.T())", ""},
		{"z1 = x * y", "write z1 := x.Mul(y)", ""},
		{"agg = x.sum()", "write agg := x.Sum()", ""},
		{"n = x.numpy()", "write n := x.Floats()", ""},
		{`x = x.to("cuda")`, "write x = x.To(device.Default())", ""},
		{"h = x.to(torch.float16)", "write h := x.Cast(dtype.F16)", ""},
		// gradients
		{"w = torch.randn(5, 3, requires_grad=True)", "write w = tensor.Randn(5, 3).Param()", ""},
		{"b = torch.zeros(3, dtype=torch.float64)", "write b := tensor.Zeros(3).Cast(dtype.F64)", ""},
		{"with torch.no_grad():\n    z = x @ w", "nothing need be switched off: gradients are made where tensor.Grad asks for them", "z := x.MatMul(w)"},
		{"z = x.matmul(w).detach()", "write z := x.MatMul(w).Detach()", ""},
		{"F.binary_cross_entropy_with_logits(x, y)", "write tensor.BinaryCrossEntropy(x, y)", ""},
		// layers
		{"layer = nn.Linear(3, 2)", "write layer := nn.NewLinearBias(3, 2)", ""},
		{"relu = nn.ReLU()", "declare it with :=", "relu := nn.ReLU()"},
		{"torch.relu(x)", "write x.Relu()", ""},
		{"m.parameters()", "write nn.Params(m)", ""},
		{"m.state_dict()", "write nn.Params(m)", ""},
		// optimisation
		{"optimizer = torch.optim.SGD(m.parameters(), lr=1e-3)", "write optimizer := optim.SGD{}.New(nn.Params(m))", ""},
		{"optimizer = optim.Adam(m.parameters(), lr=1e-3)", "write optimizer := optim.AdamW{}.New(nn.Params(m))", ""},
		{"m.train()", "write nn.SetTraining(m, true)", ""},
		{"m.eval()", "write nn.SetTraining(m, false)", ""},
	} {
		s, _ := newSession(t, Options{})
		run(t, s, tutorialSetup)
		r := s.Run(t.Context(), c.typed)
		hint := ""
		if r.Err != nil {
			_, hint, _ = strings.Cut(firstLine(r.Err), "\x00")
		}
		if hint != c.hint || (hint == "") != (r.Err == nil) {
			t.Errorf("%s:\n got %s (%v)\nwant %s", c.typed, hint, r.Err, c.hint)
		}
		goText, ok := strings.CutPrefix(hint, "write ")
		if c.pasted != "" {
			goText, ok = c.pasted, true
		}
		if ok {
			if r := s.Run(t.Context(), goText); r.Err != nil {
				t.Errorf("%s: pasted: %v", goText, r.Err)
			}
		}
	}
}

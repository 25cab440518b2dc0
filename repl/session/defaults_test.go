package session

import (
	"strings"
	"testing"
)

// What a call leaves out is in the Go for it what PyTorch, PEFT and NumPy take then, as their signatures say;
// an argument that nothing stands for is never dropped from a line to paste.
func TestDefaultsArePyTorchs(t *testing.T) {
	const setup = "m := nn.NewMLP(4, 8, 4); x := tensor.Rand(3, 4); y := tensor.Rand(3, 4); w := tensor.Ones(5, 4);" +
		"index := tensor.From([]int{1, 2, 3}); opt := optim.SGD{}.New(nn.Params(m)); _ = opt"
	for _, c := range []struct{ python, goLine string }{ // an empty line: there is none to paste
		{"o = torch.optim.AdamW(m.parameters(), lr=1e-3)", "lr := 1e-3; o := optim.AdamW{WeightDecay: 0.01}.New(nn.Params(m))"},
		{"o = AdamW(m.parameters())", "o := optim.AdamW{WeightDecay: 0.01}.New(nn.Params(m))"},
		{"o = torch.optim.AdamW(m.parameters(), weight_decay=0)", "o := optim.AdamW{}.New(nn.Params(m))"},
		{"o = torch.optim.AdamW(m.parameters(), weight_decay=0.1, betas=(0.9, 0.95), eps=1e-6)", "o := optim.AdamW{Beta1: 0.9, Beta2: 0.95, Eps: 1e-6, WeightDecay: 0.1}.New(nn.Params(m))"},
		{"o = torch.optim.Adam(m.parameters())", "o := optim.AdamW{}.New(nn.Params(m))"},
		{"o = torch.optim.Adam(m.parameters(), weight_decay=0.1)", ""},
		{"o = torch.optim.SGD(m.parameters(), momentum=0.9, weight_decay=1e-4)", "o := optim.SGD{Momentum: 0.9, WeightDecay: 1e-4}.New(nn.Params(m))"},
		{"l = nn.RMSNorm(8)", "l := nn.NewRMSNorm(8, 1.1920929e-07)"},
		{"l = nn.LayerNorm(8)", "l := nn.NewLayerNorm(8, 1e-5)"},
		{"l = nn.Embedding(10, 4)", "l := nn.NewEmbedding(tensor.DefaultRNG(), 10, 4, 1)"},
		{"l = nn.Dropout()", "l := nn.NewDropout(0.5)"},
		{"l = nn.GELU(approximate='tanh')", `l := nn.Func{Name: "GELU", Apply: tensor.Tensor.GeluTanh}`},
		{"F.gelu(x)", "x.Gelu()"},
		{"F.gelu(x, approximate='tanh')", "x.GeluTanh()"},
		{"F.cross_entropy(x, index, ignore_index=0)", "tensor.CrossEntropy(x, index, tensor.CrossEntropyOptions{Ignore: []int{0}})"},
		{"F.cross_entropy(x, index, reduction='sum')", ""},
		{"F.smooth_l1_loss(x, y)", "nn.HuberLoss(1)(x, y)"},
		{"F.smooth_l1_loss(x, y, beta=0.5)", "nn.HuberLoss(0.5)(x, y).Div(0.5)"},
		{"F.huber_loss(x, y, delta=0.5)", "nn.HuberLoss(0.5)(x, y)"},
		{"l = nn.SmoothL1Loss()", "l := nn.HuberLoss(1)"},
		{"l = nn.SmoothL1Loss(beta=0.5)", ""},
		{"F.kl_div(x, y)", "tensor.KLDivergence(x, y.Log())"},
		{"F.embedding(index, w)", "w.Take(index, 0)"},
		{"F.threshold(x, 0.1, 20)", ""},
		{"torch.multinomial(x, 2)", "tensor.Categorical(x.Log(), 2)"},
		{"torch.median(x)", "x.Flatten().Sort(0).Select(0, (x.Size()-1)/2)"},
		{"np.median(x)", "x.Median()"},
		{"torch.median(x, dim=1)", "x.Sort(1).Select(1, (x.Len(1)-1)/2)"},
		{"np.quantile(x, 0.25)", "x.Quantile(0.25)"},
		{"torch.quantile(x, 0.25, dim=1)", "x.Quantile(0.25, 1)"},
		{"np.percentile(x, 50)", "x.Quantile(50 / 100.0)"},
		{"np.cumsum(x)", "x.CumSum()"},
		{"np.cumsum(x, axis=1)", "x.CumSum(1)"},
		{"np.diff(x)", "x.Diff(-1)"},
		{"np.repeat(x, 2)", "x.Flatten().Repeat(0, 2)"},
		{"torch.repeat_interleave(x, 2, dim=1)", "x.Repeat(1, 2)"},
		{"torch.roll(x, 1)", "x.Flatten().Roll(0, 1).Reshape(x.Shape()...)"},
		{"torch.roll(x, 1, 0)", "x.Roll(0, 1)"},
		{"x.clamp(min=0, max=1)", "x.Clip(0, 1)"},
		{"q = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 50, eta_min=1e-5)", "q := optim.Cosine(1e-3, 0, 50).To(1e-5)"},
		{"q = torch.optim.lr_scheduler.LinearLR(opt, total_iters=20)", "q := optim.Schedule{Peak: 1e-3, Warmup: 20}"},
		{"q = torch.optim.lr_scheduler.LinearLR(opt, start_factor=1.0, end_factor=0.1)", ""},
		{"q = torch.optim.lr_scheduler.ConstantLR(opt)", ""},
		{"q = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=100)", "q := optim.Cosine(0.1, 30, 100)"},
		{"a = LoraConfig()", "a := lora.Config{Rank: 8, Alpha: 8}"},
		{"a = LoraConfig(r=16, use_dora=True)", "a := lora.Config{Rank: 16, DoRA: true, Alpha: 8}"},
		{`a = LoraConfig(lora_alpha=32, modules_to_save=["lm_head"])`, `a := lora.Config{Alpha: 32, Train: "lm_head"}`},
	} {
		s, _ := newSession(t, Options{})
		run(t, s, setup)
		r := s.Run(t.Context(), c.python)
		if r.Err == nil {
			t.Errorf("%s: runs, want a complaint", c.python)
			continue
		}
		_, hint, _ := strings.Cut(firstLine(r.Err), "\x00")
		if got, _ := strings.CutPrefix(hint, "write "); got != c.goLine && (c.goLine != "" || got != hint) {
			t.Errorf("%s:\n got %s\nwant %s", c.python, hint, c.goLine)
		}
		if r := s.Run(t.Context(), c.goLine); r.Err != nil {
			t.Errorf("%s: pasted: %v", c.goLine, r.Err)
		}
	}
}

// An answer has every argument that was typed, or says for which there is no place.
func TestNoArgumentIsLost(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, "x := tensor.Rand(3, 4); y := tensor.Rand(3, 4); v := tensor.Ones(3); c := tensor.Ones(2, 3, 4); n := 2; xs := []int{1, 2}; ys := xs;"+
		"index := tensor.Ones(3, 4).Cast(dtype.I64); loss := tensor.Scalar(1.5); net := nn.NewMLP(4, 8, 4); other := device.CPU()", "x.Eval(); y.Eval(); v.Eval(); c.Eval()")
	for _, c := range []struct{ typed, hint string }{
		{"np.linalg.norm(x, 1)", "write linalg.MatrixNorm(x, 1)"},
		{"np.linalg.norm(v, 1)", "write linalg.Norm(v, 1)"},
		{"np.linalg.norm(x[0], 1)", "its Go is x.Norm(), which has no place for 1"}, // of how many axes is not known
		{"torch.norm(x, 2)", "write linalg.Norm(x, 2)"},
		{"x.norm(2)", "write linalg.Norm(x, 2)"},
		{"x.norm(dim=1, keepdim=True)", "write x.Norm(1).Unsqueeze(1)"},
		{"np.random.normal(loc=5, scale=2, size=3)", "write tensor.Randn(3).Mul(2).Add(5)"},
		{"np.random.normal(0, 2, size=(3,4))", "write tensor.Randn(3, 4).Mul(2)"},
		{"torch.normal(0, 1, size=(2,3))", "write tensor.Randn(2, 3)"},
		{"np.random.uniform(0, 5, size=3)", "write tensor.Rand(3).Mul(5)"},
		{"np.random.uniform(low=1, high=5, size=(2, 3))", "write tensor.Rand(2, 3).Mul(5-1).Add(1)"},
		{"np.random.randint(5, size=3)", "write tensor.RandInt(0, 5, 3)"},
		{"np.random.choice(10, 3)", "write tensor.RandInt(0, 10, 3)"},
		{"np.random.choice(x, 3, replace=False)", "its Go is x.Take(tensor.RandInt(0, x.Len(0), 5), 0), which has no place for replace=False"},
		{"np.random.exponential()", "its Go is tensor.Rand(2, 3).Log().Neg()"},
		{"np.transpose(c)", "write c.T()"}, // refused, with what to write
		{"np.transpose(c, (2,0,1))", "write c.Permute(2, 0, 1)"},
		{"np.vstack((x, y))", "write tensor.Concat([]tensor.Tensor{x, y}, 0)"},
		{"np.vstack((x[0], y[0]))", "tensor.Concat([]tensor.Tensor{x, y}, 0), of vectors tensor.Stack([]tensor.Tensor{x, y}, 0)"},
		{"torch.svd(x)", "u, s, vt := linalg.SVD(x); the third value of torch.svd is vt.Transpose()"},
		{"torch.equal(x, y)", "write slices.Equal(x.Shape(), y.Shape()) && x.Eq(y).All().Item() != 0"},
		{"torch.zeros(3, device='cuda')", "write tensor.Zeros(3).To(device.Default())"},
		{"torch.zeros(3, device=other)", "write tensor.Zeros(3).To(other)"},
		{"nn.Linear(4, 8, device='cuda')", "its Go is nn.NewLinearBias(4, 8), which has no place for device='cuda'"},
		{"np.zeros(3, np.int64)", "write tensor.Zeros(3).Cast(dtype.I64)"},
		{"np.std(x, ddof=1)", "write x.StdWith(1)"},
		{"torch.topk(x, 2, largest=False)", "write x.BottomK(2)"},
		{"F.mse_loss(x, y, reduction='sum')", "its Go is tensor.MeanSquares(x, y), which has no place for reduction='sum'"},
		{"np.exp(x, out=y)", "its Go is x.Exp(), which has no place for out=y"},
		{"np.sum(x, where=x > 0)", "its Go is x.Sum(), which has no place for where=x > 0"},
		{"np.nanstd(x, axis=0)", "its Go is x.Masked(x.IsNaN().Not()).Std(), which has no place for axis=0"},
		{"torch.max(x, y)", "write x.Maximum(y)"},
		{"x.astype('float64')", "write x.Cast(dtype.F64)"},
		{"x.scatter_reduce(0, index, y, 'sum')", "write x.PutAlong(0, index, y, tensor.Accumulate)"},
		{"x.masked_fill_(x > 0, -1e9)", "write x = tensor.Where(x.Gt(0), -1e9, x)"},
		{"tensor.Rand(2,3,dtype=dtype.F64)", "write tensor.Rand(2, 3).Cast(dtype.F64)"},
		{"torch.addmm(v, x, y.T)", "write v.Add(x.MatMul(y.T()))"},
		{"torch.bucketize(x, v)", "write v.SearchSorted(x, false)"},
		{"torch.optim.SGD(net.parameters(), 0.1, 0.9)", "its Go is optim.SGD{}.New(nn.Params(m)), which has no place for 0.1, 0.9"},
		{"x.to('cuda', torch.float16)", "write x.To(device.Default()).Cast(dtype.F16)"},
		{"x.topk(2, dim=0)", "its Go is x.TopK(2)"},
		{"nn.init.xavier_uniform_(x)", "write x.Set(tensor.Rand(x.Shape()...).Sub(0.5).Mul(2 * math.Sqrt(6 / float64(x.Len(0)+x.Len(1)))))"},
		// One statement of several on a line is what the answer is about.
		{"z := tensor.Ones(2,3); x.T() @ x", "write z := tensor.Ones(2, 3); x.T().MatMul(x)"},
		{"z := tensor.Ones(2,3); x.topk(2, dim=0)", "its Go is x.TopK(2)"},
		{"z := x @ y.T()", "write z := x.MatMul(y.T())"},
		{"x.Sum(0, keepdim=True)", "write x.SumKeep(0)"},
		// A verb of numbers takes the tensor's number.
		{`print(f"loss {loss:.4f} {loss}")`, `write fmt.Printf("loss %.4f %v\n", loss.Item(), loss)`},
		{`"%.3f of %d" % (loss, n)`, `write fmt.Sprintf("%.3f of %d", loss.Item(), n)`},
		{`"{:.3f}".format(loss)`, `write fmt.Sprintf("%.3f", loss.Item())`},
		// What is no Go is not proposed.
		{"for epoch in range(10): foo bar", "in Go: for epoch := range 10 { … }"},
		{"for i, (a, b) in enumerate(zip(xs, ys)):", "a loop is for i, v := range xs { … }, and for i := range 10 { … } counts"},
		{"[i**2 for i in range(5) if i % 2]", "a loop is for i, v := range xs { … }, and for i := range 10 { … } counts"},
		{"lines = open('x.txt').readlines()", `write text := data.ReadText("x.txt"); lines := slices.Collect(strings.Lines(text))`},
		{"np.clip(x, -1, None)", "write x.Maximum(-1)"},
		{`torch.save(model.state_dict(), "a.pt")`, `its Go is safetensors.Save("model.safetensors", map[string]tensor.Tensor{"x": x}, nil)`},
		{"torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)", "its Go is optim.ClipScale(opt.Grads(loss), 1)"},
		{"F.cross_entropy(x, idx)", "its Go is tensor.CrossEntropy(x, index, tensor.CrossEntropyOptions{})"},
		{"x is y", "is asks whether two names mean one object; == compares values, and of tensors it is x.Eq(y)"},
		{"while True: pass", "write for { }"},
		{"tensor.Ones(1,4).BatchNorm()", "nothing here stands for it: only layers do that, of package nn: NewBatchNorm1d, NewBatchNorm2d, NewLayerNorm, NewRMSNorm"},
		{"dtype.Float32", "did you mean F32?"},
		{"tensor.Ones(xs)", "three dots take it apart: xs..."},
		{"type Net struct{}; nn.Params(Net{})", `a model lists its parts: func (net *Net) Members() []nn.Member { return []nn.Member{{Name: "fc", Part: net.fc}} }`},
	} {
		r := s.Run(t.Context(), c.typed)
		if r.Err == nil {
			t.Errorf("%s: runs, want a complaint", c.typed)
			continue
		}
		if _, hint, _ := strings.Cut(firstLine(r.Err), "\x00"); hint != c.hint {
			t.Errorf("%s:\n got %s\nwant %s", c.typed, hint, c.hint)
		}
	}
}

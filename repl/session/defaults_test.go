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
		{"torch.median(x)", "x.Median()"},
		{"torch.median(x, dim=1)", "x.Median(1)"},
		{"np.quantile(x, 0.25)", "x.Quantile(0.25)"},
		{"torch.quantile(x, 0.25, dim=1)", "x.Quantile(0.25, 1)"},
		{"np.percentile(x, 50)", ""},
		{"np.cumsum(x)", "x.CumSum()"},
		{"np.cumsum(x, axis=1)", "x.CumSum(1)"},
		{"np.diff(x)", "x.Diff(-1)"},
		{"np.repeat(x, 2)", "x.Flatten().Repeat(0, 2)"},
		{"torch.repeat_interleave(x, 2, dim=1)", "x.Repeat(1, 2)"},
		{"torch.roll(x, 1)", ""},
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

package lora_test

import (
	"context"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// BenchmarkStep is a step of LoRA training over frozen weights in bf16. It alternates steps that compute in
// f32 and in bf16, and reports the best of each in milliseconds; with -v it logs the kernels of both.
func BenchmarkStep(b *testing.B) {
	for _, bm := range []struct {
		name  string
		c     llm.Config
		batch int
		long  bool
	}{
		{"small 4x256", llm.Config{Vocab: 8192, Layers: 4, Width: 512, Heads: 8, KVHeads: 2, Hidden: 1408}, 4, false},
		{"2 layers of 0.5B 1x256", llm.Config{Vocab: 32000, Layers: 2, Width: 896, Heads: 14, KVHeads: 2, Hidden: 4864}, 1, true},
	} {
		b.Run(bm.name, func(b *testing.B) {
			if bm.long && !*long {
				b.Skip("only with -long")
			}
			bm.c.DType = dtype.BF16
			m := llm.New(bm.c)
			ad, err := lora.Inject(m, lora.Config{Rank: 16})
			if err != nil {
				b.Fatal(err)
			}
			params, rule := nn.Values(ad.Params()), optim.AdamW{}.New(ad.Params())
			ids := tensor.NewRNG(1).RandInt(0, bm.c.Vocab, bm.batch, 256).Eval()
			step := func(compute dtype.Type) {
				m.Config.Compute = compute
				loss := m.Loss(ids, ids)
				grads := tensor.Grad(loss, params...)
				scale, norm := optim.ClipScale(grads, 1)
				update := rule.Update(grads, 1e-3, scale)
				tensor.Eval(append(update.Tensors(), loss, norm)...)
				update.Commit()
			}
			types := []dtype.Type{dtype.F32, dtype.BF16}
			best := map[dtype.Type]time.Duration{}
			for _, compute := range types { // plans and kernels
				step(compute)
			}
			for range b.N {
				for _, compute := range types {
					start := time.Now()
					step(compute)
					if took := time.Since(start); best[compute] == 0 || took < best[compute] {
						best[compute] = took
					}
				}
			}
			for _, compute := range types {
				b.ReportMetric(float64(best[compute].Microseconds())/1000, "ms/"+compute.String())
				if testing.Verbose() {
					b.Logf("%v\n%v", compute, profile.RecordTimed(context.Background(), func(context.Context) { step(compute) }))
				}
			}
		})
	}
}

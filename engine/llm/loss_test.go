package llm_test

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// The memory of a training step does not grow by tokens × vocabulary, with any output layer that is one
// matrix.
func TestLossMemory(t *testing.T) {
	const vocab, tokens = 32000, 1024
	for _, c := range []struct {
		name   string
		config llm.Config
		frozen bool
	}{
		{"tied", llm.Config{}, false},
		{"untied", llm.Config{Untied: true}, false},
		{"frozen", llm.Config{Untied: true}, true},
		{"capped", llm.Config{LogitCap: 30}, true},
	} {
		c.config.Vocab, c.config.Layers, c.config.Width, c.config.Heads, c.config.Hidden = vocab, 1, 16, 2, 32
		m := llm.New(c.config)
		if c.frozen {
			nn.Freeze(m)
			for _, p := range nn.Params(m.Blocks[0]) {
				p.Unfreeze()
			}
		}
		var params []tensor.Tensor
		for _, p := range nn.Trainable(m) {
			params = append(params, p.Value())
		}
		memory := func(tokens int) int64 {
			ids := tensor.NewRNG(1).RandInt(0, vocab, 1, tokens).Eval()
			device.Default().ResetPeak()
			loss := m.Loss(ids, ids)
			tensor.Eval(append(tensor.Grad(loss, params...), loss)...)
			return device.Default().Memory().Plan
		}
		few, many := memory(tokens/4), memory(tokens) // 256 rows are computed at once
		if more := many - few; more > 20<<20 {
			t.Errorf("%s: %d tokens more take %d MiB, want far less than their logits, %d MiB", c.name, tokens-tokens/4, more>>20, tokens*3/4*vocab*4>>20)
		}
	}
}

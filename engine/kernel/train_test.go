package kernel_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/kernel"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/engine/train"
)

// ownLoss is a decoder whose loss goes through a kernel.
type ownLoss struct {
	*llm.Model
	k *kernel.Kernel
}

func (m ownLoss) Loss(inputs, targets tensor.Tensor) tensor.Tensor {
	return m.k.Call(m.Model.Loss(inputs, targets).Reshape(1)).Sum()
}

// operations is the same with an operation.
type operations struct{ *llm.Model }

func (m operations) Loss(inputs, targets tensor.Tensor) tensor.Tensor {
	return m.Model.Loss(inputs, targets).Square()
}

// Adapters train through a kernel as through an operation, step by step and replayed.
func TestLoRATraining(t *testing.T) {
	compiled(t)
	k := squareWithGradient(t)
	run := func(own, compile bool) string {
		m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 16, Heads: 2, KVHeads: 1, Hidden: 24, Seed: 1})
		adapter, err := lora.Inject(m, lora.Config{Rank: 4, Seed: 2})
		if err != nil {
			t.Fatal(err)
		}
		before := nn.Hash(adapter.Params())
		var model train.Model = operations{m}
		if own {
			model = ownLoss{m, k}
		}
		o := train.Options{Steps: 12, LR: optim.Constant(1e-2), Seed: 7, Compile: compile, Params: adapter.Params()}
		if _, err := train.Run(t.Context(), model, data.Windows(strings.Repeat("to be or not to be ", 40), 16, 2), o); err != nil {
			t.Fatal(err)
		}
		if after := nn.Hash(adapter.Params()); after != before {
			return after
		}
		t.Fatal("nothing was trained")
		return ""
	}
	want := run(false, false)
	for _, c := range []struct{ own, compile bool }{{true, false}, {true, true}} {
		if got := run(c.own, c.compile); got != want {
			t.Errorf("%s: other weights than with an operation: %s, want %s", fmt.Sprintf("compiled %v", c.compile), got, want)
		}
	}
}

package quant_test

import (
	"fmt"
	"log"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// The linear layers of a model keep their weights in 8 bits. An adapter beside them is trained as usual
// (QLoRA).
func Example() {
	m := llm.New(llm.Config{Vocab: 256, Layers: 2, Width: 64, Heads: 2, Hidden: 128, Seed: 1})
	report, err := quant.Module(m, quant.Config{Bits: 8}, quant.AllLinear)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report)
	adapter, err := lora.Inject(m, lora.Config{Rank: 4})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(adapter)
	// Output:
	// int8, groups of 64, symmetric, scales f32: 14 layers · 320.0 KiB → 85.0 KiB
	// LoRA rank 4, scale 2, 14 layers · 8704 trained parameters
}

// A weight in codes is off by at most half a step of its group.
func ExampleQuantize() {
	w := tensor.Linspace(-1, 1, 64).Reshape(64, 1)
	coded, err := quant.Quantize(w, quant.Config{Bits: 8, Group: 64})
	if err != nil {
		log.Fatal(err)
	}
	off := coded.Dequantize(dtype.F32).Sub(w).Abs().Max().Item()
	fmt.Println(off <= 0.5/127+1e-6)
	// Output: true
}

package lora_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

func small() *llm.Model {
	return llm.New(llm.Config{Vocab: 256, Layers: 2, Width: 32, Heads: 2, Hidden: 64, Seed: 1})
}

// An adapter is put into a model's linear layers, is the only thing that is trained, and can be merged into
// the weights.
func Example() {
	m := small()
	adapter, err := lora.Inject(m, lora.Config{Rank: 4, Alpha: 8, Targets: "q_proj,v_proj"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(adapter)

	ids := tensor.From([][]int{{72, 101, 108}})
	apart := m.Logits(ids)
	adapter.Merge() // W + s·A·B: nothing is computed beside the model any more
	fmt.Println(tensor.AllClose(apart, m.Logits(ids), 1e-4, 1e-4))
	// Output:
	// LoRA rank 4, scale 2, 4 layers · 1024 trained parameters
	// true
}

// The files of an adapter are PEFT's: a folder with adapter_config.json and adapter_model.safetensors.
func ExampleAdapter_Save() {
	dir, err := os.MkdirTemp("", "adapter")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	adapter, err := lora.Inject(small(), lora.Config{Rank: 4, Targets: "q_proj"})
	if err != nil {
		log.Fatal(err)
	}
	path := filepath.Join(dir, "go")
	if err := adapter.Save(path); err != nil {
		log.Fatal(err)
	}
	again, err := lora.Load(path, small())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(again)
	// Output: LoRA rank 4, scale 2, 2 layers · 512 trained parameters
}

// The targets are names of layers, or all-linear; a name that no layer has is an error.
func ExampleInject() {
	_, err := lora.Inject(small(), lora.Config{Rank: 4, Targets: "qproj"})
	fmt.Println(err)
	// Output: lora: target "qproj" chooses no linear layer of the model; did you mean "q_proj"?
}

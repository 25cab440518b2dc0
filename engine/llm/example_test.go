package llm_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A model gives a score for each token that may come next.
func Example() {
	m := llm.New(llm.Config{Vocab: 256, Layers: 2, Width: 64, Heads: 4, KVHeads: 2, Hidden: 128, Seed: 1})
	fmt.Println(m)
	ids := tensor.From([][]int{{72, 101, 108, 108, 111}})
	fmt.Println(m.Logits(ids).Shape())
	// Output:
	// decoder: 2 layers × 64, 4 heads (2 for keys), vocabulary 256 · 90432 parameters, 353.2 KiB
	// [1 5 256]
}

// What is generated stands behind the prompt. A seed makes it the same each time.
func ExampleModel_GenerateTokens() {
	m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 32, Heads: 2, Hidden: 64, Seed: 1})
	sampling := llm.Sampling{Tokens: 5, Temperature: 0.8, Seed: 7}
	first, err := m.GenerateTokens(context.Background(), []int{72, 105}, sampling)
	if err != nil {
		log.Fatal(err)
	}
	again, _ := m.GenerateTokens(context.Background(), []int{72, 105}, sampling)
	fmt.Println(len(first), fmt.Sprint(first) == fmt.Sprint(again))
	// Output: 7 true
}

package safetensors_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A file holds tensors by their names, and texts about them.
func Example() {
	dir, err := os.MkdirTemp("", "safetensors")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	err = safetensors.Save(path, map[string]tensor.Tensor{"weight": tensor.From([][]float32{{1, 2}, {3, 4}})}, map[string]string{"format": "pt"})
	if err != nil {
		log.Fatal(err)
	}
	tensors, metadata, err := safetensors.Load(path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tensors["weight"], metadata)
	// Output:
	// f32[2 2] cpu 16 B · weight
	// [[1. 2.]
	//  [3. 4.]] map[format:pt]
}

// A file that is wrong is refused by a message that names it and says what is wrong.
func ExampleRead() {
	text := "\x10\x00\x00\x00\x00\x00\x00\x00{}"
	_, err := safetensors.Read(strings.NewReader(text), int64(len(text)), "short.safetensors")
	fmt.Println(err)
	// Output: safetensors: short.safetensors: byte 0: the header's length is 16, but only 2 bytes follow
}

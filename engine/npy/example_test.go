package npy_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mcs-notebook/mcs/engine/npy"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// numpy.load reads what SaveZip writes, and LoadZip what numpy.savez writes.
func Example() {
	dir, err := os.MkdirTemp("", "npy")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "points.npz")
	if err := npy.SaveZip(path, map[string]tensor.Tensor{"x": tensor.Range(3), "y": tensor.Ones(3)}); err != nil {
		log.Fatal(err)
	}
	arrays, err := npy.LoadZip(path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(arrays["x"].Ints(), arrays["y"].Floats())
	// Output: [0 1 2] [1 1 1]
}

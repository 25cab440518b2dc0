package msl

import (
	"testing"

	"github.com/mcs-notebook/mcs/shaders"
)

// BenchmarkCUDA is what a kernel costs between its text and the compiler: a backend pays it for each text.
func BenchmarkCUDA(b *testing.B) {
	text := shaders.Blocks() + "kernel void k(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = op_exp(x[i]); }"
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s, err := Parse("k.metal", text)
		if err != nil {
			b.Fatal(err)
		}
		s.CUDA()
	}
}

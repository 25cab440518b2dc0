package main

import (
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// numbers are pseudo-random in [-1, 1) and the same on every side: multiples of 2^-23 from a hash of seed and
// index (inputs.py has the same formula).
func numbers(seed uint32, n int) []float32 {
	x := make([]float32, n)
	each := max(1<<16, (n+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for first := 0; first < n; first += each {
		all.Go(func() { hash(x[first:min(first+each, n)], seed, first) })
	}
	all.Wait()
	return x
}

// hash makes the numbers from first on.
func hash(x []float32, seed uint32, first int) {
	for i := range x {
		h := uint32(first+i)*0x9E3779B1 + seed*0x7F4A7C15
		h = (h ^ h>>16) * 0x85EBCA6B
		h = (h ^ h>>13) * 0xC2B2AE35
		h ^= h >> 16
		x[i] = float32(h>>8)/(1<<23) - 1
	}
}

func values(seed uint32, shape ...int) tensor.Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return tensor.From(numbers(seed, n), shape...).Eval()
}

// exact rounds rows of k numbers to values that codes of some bits hold exactly: multiples of a power of
// two, where the first of each 32 is the largest possible one. inputs.py has the same formula.
func exact(x []float32, k, bits int) []float32 {
	most := float32(int(1)<<(bits-1) - 1)
	for row := range slices.Chunk(x, k) {
		for i, v := range row {
			row[i] = float32(math.RoundToEven(float64(v*most))) / (most + 1)
			if i%32 == 0 {
				row[i] = most / (most + 1)
			}
		}
	}
	return x
}

// words are token numbers below vocabulary.
func words(seed uint32, count, vocabulary int) []int {
	ids := make([]int, count)
	for i, x := range numbers(seed, count) {
		ids[i] = int((x + 1) * (float32(vocabulary) / 2))
	}
	return ids
}

const sampled = 509

// samples are some numbers of each output, the same ones on every side.
func samples(outputs []tensor.Tensor) [][]float64 {
	tensor.Eval(outputs...)
	picked := make([][]float64, len(outputs))
	for k, out := range outputs {
		flat := out.Cast(dtype.F32).Floats()
		for i, n := 0, min(sampled, len(flat)); i < n; i++ {
			picked[k] = append(picked[k], float64(flat[i*len(flat)/n]))
		}
	}
	return picked
}

package vec

import (
	"testing"
	"unsafe"
)

// BenchmarkFunctions reports the GB/s, read and written, of functions on runs in the first-level cache.
func BenchmarkFunctions(b *testing.B) {
	const n = 1024
	x := make([]float32, 16*n)
	for i := range x {
		x[i] = float32(i%77) / 10
	}
	p := func(i int) unsafe.Pointer { return unsafe.Pointer(&x[i*(n+80)]) }
	step := &AdamWStep[float32]{Scale: 1, OneMinusBeta1: 0.1, OneMinusBeta2: 0.01, Decay: 1e-5, Rate: 1e-3, Root: 1, Eps: 1e-8}
	for _, c := range []struct {
		name   string
		arrays int
		run    func()
	}{
		{"add", 3, func() { Of(Add)(p(0), p(1), p(2), nil, n) }},
		{"exp", 2, func() { Of(Exp)(p(0), p(1), nil, nil, n) }},
		{"log", 2, func() { Of(Log)(p(0), p(1), nil, nil, n) }},
		{"tanh", 2, func() { Of(Tanh)(p(0), p(1), nil, nil, n) }},
		{"gelu", 2, func() { Of(Gelu)(p(0), p(1), nil, nil, n) }},
		{"silu", 2, func() { Of(Silu)(p(0), p(1), nil, nil, n) }},
		{"sum", 1, func() { Sum(p(1), n) }},
		{"max_of", 1, func() { MaxOf(p(1), n) }},
		{"exp_sub_sum", 2, func() { ExpSubSum(p(0), p(1), 7, n) }},
		{"norm_to", 4, func() { NormTo(p(0), p(1), p(2), p(3), 1, 1, n) }},
		{"max_of_numbers", 1, func() { MaxOfNumbers(p(1), n) }},
		{"sum_exp_sub", 1, func() { SumExpSub(p(1), 7, n) }},
		{"scale_to", 2, func() { ScaleTo(p(0), p(1), 7, n) }},
		{"norm_grad_sums", 3, func() { NormGradSums(p(1), p(2), p(3), 1, n) }},
		{"norm_grad_to", 4, func() { NormGradTo(p(0), p(1), p(2), p(3), 1, 1, 1, 1, n) }},
		{"scale_mul_to", 3, func() { ScaleMulTo(p(0), p(1), p(2), 7, n) }},
		{"scale_grad_sums", 3, func() { ScaleGradSums(p(1), p(2), p(3), n) }},
		{"scale_grad_to", 4, func() { ScaleGradTo(p(0), p(1), p(2), p(3), 1, 1, n) }},
		{"norm_grad_params", 6, func() { NormGradParams(p(4), p(5), p(2), p(3), 1, 1, n) }},
		{"scale_grad_param", 4, func() { ScaleGradParam(p(4), p(2), p(3), 1, n) }},
		{"adamw", 7, func() { AdamWTo(p(8), p(9), p(10), p(1), p(2), p(3), p(4), step, n) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(4 * n * c.arrays))
			for b.Loop() {
				c.run()
			}
		})
	}
}

package fft_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/device/devicetest"
	"github.com/mcs-notebook/mcs/engine/fft"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// lengths are powers of two, products of small and of large primes, and primes.
var lengths = []int{1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 31, 64, 77, 97, 100, 127, 128, 210, 243, 257, 1009}

// randomCall draws a transform, with what it takes: any axes, lengths and norms.
func randomCall(random *rand.Rand) (name string, shape []int, o fft.Options) {
	names := slices.Sorted(maps.Keys(transforms))
	name = names[random.IntN(len(names))]
	count := 1
	switch {
	case strings.HasSuffix(name, "2"):
		count = 2
	case strings.HasSuffix(name, "n"):
		count = 1 + random.IntN(4)
	}
	most := []int{1009, 257, 40, 9}[count-1]
	for range count + random.IntN(3) {
		shape = append(shape, 1+random.IntN(4))
	}
	o.Axes, o.Norm = random.Perm(len(shape))[:count], fft.Norm(random.IntN(3))
	given := random.IntN(2) == 0
	for i, a := range o.Axes {
		for shape[a] = most + 1; shape[a] > most; {
			shape[a] = lengths[random.IntN(len(lengths))]
		}
		if i == count-1 && strings.HasPrefix(name, "irfft") {
			shape[a] = max(shape[a], 2)
		}
		if given {
			o.N = append(o.N, max(1, shape[a]+random.IntN(7)-3))
		}
	}
	if random.IntN(4) == 0 { // the last ones
		for i := range o.Axes {
			o.Axes[i] = i - count
		}
		slices.Reverse(shape)
		if o.N = nil; shape[len(shape)-1] < 2 {
			shape[len(shape)-1] = 6
		}
	}
	return name, shape, o
}

// TestLentTransforms: what a library computes is what the processor does, with gradients, of any shapes.
func TestLentTransforms(t *testing.T) {
	random, cases := rand.New(rand.NewPCG(3, 4)), 20
	switch {
	case long.Tests():
		cases = 400
	case long.CI():
		cases = 60
	}
	for range cases {
		name, shape, o := randomCall(random)
		var z, w tensor.Tensor
		f := func(z, w tensor.Tensor) (y, gradient tensor.Tensor) {
			z = z.Param()
			x := tensor.Complex(z.Select(0, 0), z.Select(0, 1))
			if strings.HasPrefix(name, "r") {
				x = z.Select(0, 0)
			}
			y = transforms[name](x, o)
			flat := []tensor.Tensor{y.Real().Flatten(), y.Imag().Flatten()}
			both := tensor.Concat(flat, 0)
			return both, tensor.Grad(both.Mul(both.Mul(0.5).Add(w.Expand(both.Shape()...))).Sum(), z)[0]
		}
		var want [2]tensor.Tensor
		for i := range want {
			want[i] = devicetest.OnProcessor(t, func() tensor.Tensor {
				tensor.Seed(5)
				z, w = tensor.Randn(append([]int{2}, shape...)...).Eval(), tensor.Randn(1).Eval()
				y, gradient := f(z, w)
				return []tensor.Tensor{y, gradient}[i]
			})
		}
		what := fmt.Sprint(name, shape, o)
		devicetest.OnLibrary(t, "rehearsal", ir.FFTRoutine, func(d device.Device) {
			z, w := z.To(d).Eval(), w.To(d).Eval()
			y, gradient := f(z, w)
			if r := profile.Record(device.On(t.Context(), d), func(ctx context.Context) {
				tensor.Within(ctx, func() { tensor.Eval(y, gradient) })
			}); r.Copies > 0 || r.Launches == 0 {
				t.Errorf("%s: got %d copies and %d launches", what, r.Copies, r.Launches)
			}
			devicetest.Near(t, what, y, want[0], 1e-5)
			devicetest.Near(t, "the gradient of "+what, gradient, want[1], 2e-5)
		})
	}
}

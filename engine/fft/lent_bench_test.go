package fft_test

import (
	"fmt"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/fft"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// BenchmarkDevice times transforms of f32 and c64 on the device of the flag -device, until their results are
// there: 2²² numbers in rows of a length, or in images of that width. tests/peers/linalg_speed.py runs it
// beside PyTorch.
func BenchmarkDevice(b *testing.B) {
	for _, n := range []int{128, 1000, 1024, 1009, 1 << 20} {
		rows := max(1, (1<<22)/n)
		tensor.Seed(1)
		x := tensor.Randn(rows, n).Eval()
		z := tensor.Complex(x, tensor.Randn(rows, n)).Eval()
		half := fft.RFFT(x).Eval()
		for _, c := range []struct {
			name string
			f    func() tensor.Tensor
		}{
			{"fft", func() tensor.Tensor { return fft.FFT(z) }},
			{"ifft", func() tensor.Tensor { return fft.IFFT(z) }},
			{"rfft", func() tensor.Tensor { return fft.RFFT(x) }},
			{"irfft", func() tensor.Tensor { return fft.IRFFT(half, fft.Options{N: []int{n}}) }},
			{"fft2", func() tensor.Tensor { return fft.FFT2(images(z, n)) }},
			{"rfft2", func() tensor.Tensor { return fft.RFFT2(images(x, n)) }},
			{"grad", func() tensor.Tensor {
				x := x.Param()
				return tensor.Grad(fft.RFFT(x).Abs().Sum(), x)[0]
			}},
		} {
			if n > 2000 && (c.name == "fft2" || c.name == "rfft2") {
				continue
			}
			b.Run(fmt.Sprint(c.name, "/", n), func(b *testing.B) {
				run := func() {
					y := c.f().Eval()
					if err := device.Sync(); err != nil {
						b.Fatal(err)
					}
					y.Free()
				}
				run() // which compiles
				for b.Loop() {
					run()
				}
			})
		}
	}
}

// images are squares of rows of n numbers.
func images(x tensor.Tensor, n int) tensor.Tensor {
	count := x.Len(0) / n
	return x.Slice(0, 0, count*n).Reshape(count, n, n)
}

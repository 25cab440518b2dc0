package fake

import (
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
)

// Convolve computes a convolution of the processor's memory, from where each operand begins, by their numbers.
func Convolve(c *gpu.Convolution, memory [kernel.AttentionOperands][]byte) {
	const x, w, y = kernel.ConvolutionX, kernel.ConvolutionW, kernel.ConvolutionY
	shape, windows := c.Shape, c.Windows
	for axis := c.Spatial; axis < len(windows); axis++ {
		windows[axis] = ir.Window{Kernel: 1, Stride: 1, Dilation: 1}
		for operand := range shape {
			shape[operand][2+axis] = 1
		}
	}
	dt, result := c.DType, c.Result()
	sums := make([]float64, c.Bytes(result)/dt.Size())
	at := func(operand int, place [5]int) (n int) {
		for axis, i := range place {
			n += i * c.At[operand][axis]
		}
		return n
	}
	load := func(operand int, place [5]int) float64 {
		return element(gpu.Matrix{DType: dt}, memory[operand], 0, 0, at(operand, place))
	}
	each(shape[y], func(p [5]int) {
		each([5]int{1, shape[w][1], shape[w][2], shape[w][3], shape[w][4]}, func(tap [5]int) {
			from := [5]int{p[0], p[1]*c.Groups/shape[y][1]*shape[w][1] + tap[1]}
			for axis, d := range windows {
				from[2+axis] = d.At(p[2+axis], tap[2+axis])
				if from[2+axis] < 0 || from[2+axis] >= shape[x][2+axis] {
					return
				}
			}
			tap[0] = p[1]
			switch result {
			case x:
				sums[at(x, from)] += load(w, tap) * load(y, p)
			case w:
				sums[at(w, tap)] += load(x, from) * load(y, p)
			default:
				sums[at(y, p)] += load(x, from) * load(w, tap)
			}
		})
	})
	for i, sum := range sums {
		store(dt, memory[result][i*dt.Size():], float32(sum))
	}
}

// each calls f for each place of a shape.
func each(shape [5]int, f func(place [5]int)) {
	var p [5]int
	for p[0] = range shape[0] {
		for p[1] = range shape[1] {
			for p[2] = range shape[2] {
				for p[3] = range shape[3] {
					for p[4] = range shape[4] {
						f(p)
					}
				}
			}
		}
	}
}

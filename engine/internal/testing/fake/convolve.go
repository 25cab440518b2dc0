package fake

import (
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
)

// Convolved is the operand that a convolution computes from the others.
func Convolved(c *gpu.Convolution) int {
	switch c.Op {
	case ir.ConvTranspose:
		return kernel.ConvolutionX
	case ir.ConvWeight:
		return kernel.ConvolutionW
	}
	return kernel.ConvolutionY
}

// Convolve computes a convolution of the processor's memory, from where each operand begins, by their
// numbers.
func Convolve(c *gpu.Convolution, memory [kernel.AttentionOperands][]byte) {
	const x, w, y = kernel.ConvolutionX, kernel.ConvolutionW, kernel.ConvolutionY
	shape, dt, result := c.Shape, c.DType, Convolved(c)
	sums := make([]float64, c.Bytes(result)/dt.Size())
	at := func(operand int, place [4]int) (n int) {
		for axis, i := range place {
			n += i * c.At[operand][axis]
		}
		return n
	}
	load := func(operand int, place [4]int) float64 {
		return element(gpu.Matrix{DType: dt}, memory[operand], 0, 0, at(operand, place))
	}
	each(shape[y], func(p [4]int) {
		each([4]int{1, shape[w][1], shape[w][2], shape[w][3]}, func(tap [4]int) {
			from := [4]int{p[0], p[1]*c.Groups/shape[y][1]*shape[w][1] + tap[1]}
			for axis, d := range c.Windows {
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
func each(shape [4]int, f func(place [4]int)) {
	var p [4]int
	for p[0] = range shape[0] {
		for p[1] = range shape[1] {
			for p[2] = range shape[2] {
				for p[3] = range shape[3] {
					f(p)
				}
			}
		}
	}
}

package fake

import (
	"encoding/binary"
	"math"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
)

// An attend computes attention of the processor's memory.
type attend struct {
	*gpu.Attention
	memory [kernel.AttentionOperands][]byte
}

// Attend computes attention of the processor's memory, from where each operand begins, by their numbers.
func Attend(a *gpu.Attention, memory [kernel.AttentionOperands][]byte) {
	t := attend{a, memory}
	for b := range a.Batches {
		if a.Gradient {
			t.backward(b)
			continue
		}
		for h := range a.Heads {
			for i := range a.Queries {
				t.forward(b, h, i)
			}
		}
	}
}

func (t *attend) at(operand, b, h, row int) []byte {
	s := t.At[operand]
	return t.memory[operand][(b*s[0]+h*s[1]+row*s[2])*t.DType.Size():]
}

func (t *attend) load(operand, b, h, row, n int) float64 {
	return element(gpu.Matrix{DType: t.DType}, t.at(operand, b, h, row), 0, 0, n)
}

func (t *attend) store(operand, b, h, row int, values []float64) {
	to := t.at(operand, b, h, row)
	for n, v := range values {
		store(t.DType, to[n*t.DType.Size():], float32(v))
	}
}

func (t *attend) dot(one, h1, row1, other, h2, row2, b, width int) (sum float64) {
	for n := range width {
		sum += t.load(one, b, h1, row1, n) * t.load(other, b, h2, row2, n)
	}
	return sum
}

// seen is how many keys a query sees.
func (t *attend) seen(i int) int {
	if t.Causal {
		return i + t.Keys - t.Queries + 1
	}
	return t.Keys
}

// scores are those of the keys that a query sees.
func (t *attend) scores(b, h, i int) []float64 {
	s := make([]float64, t.seen(i))
	for j := range s {
		if t.Window > 0 && j+t.Window < len(s) {
			s[j] = math.Inf(-1)
			continue
		}
		s[j] = float64(t.Scale) * t.dot(kernel.AttentionQ, h, i, kernel.AttentionK, h*t.KeyHeads/t.Heads, j, b, t.Width)
		if most := float64(t.Cap); most > 0 {
			s[j] = most * math.Tanh(s[j]/most)
		}
		if t.Biased {
			s[j] += t.load(kernel.AttentionBias, b, h, i, j)
		}
	}
	return s
}

func (t *attend) lse(b, h, i int) []byte {
	at := t.At[kernel.AttentionLSE]
	return t.memory[kernel.AttentionLSE][4*(b*at[0]+h*at[1]+i*at[2]):]
}

func (t *attend) forward(b, h, i int) {
	s, top, total := t.scores(b, h, i), math.Inf(-1), 0.0
	for _, v := range s {
		top = math.Max(top, v)
	}
	for _, v := range s {
		total += math.Exp(v - top)
	}
	o := make([]float64, t.Depth)
	if math.IsInf(top, -1) { // the query sees no key
		s, total = nil, 1
	}
	for j, v := range s {
		for n := range o {
			o[n] += math.Exp(v-top) / total * t.load(kernel.AttentionV, b, h*t.KeyHeads/t.Heads, j, n)
		}
	}
	t.store(kernel.AttentionO, b, h, i, o)
	if t.Stats {
		binary.LittleEndian.PutUint32(t.lse(b, h, i), math.Float32bits(float32(top+math.Log(total))))
	}
}

// backward is the gradient of a batch.
func (t *attend) backward(b int) {
	rows := func(count, width int) [][]float64 {
		list := make([][]float64, count)
		for i := range list {
			list[i] = make([]float64, width)
		}
		return list
	}
	dk, dv := rows(t.KeyHeads*t.Keys, t.Width), rows(t.KeyHeads*t.Keys, t.Depth)
	for h := range t.Heads {
		kh := h * t.KeyHeads / t.Heads
		for i := range t.Queries {
			dq := make([]float64, t.Width)
			dot := t.dot(kernel.AttentionDO, h, i, kernel.AttentionO, h, i, b, t.Depth)
			lse := float64(math.Float32frombits(binary.LittleEndian.Uint32(t.lse(b, h, i))))
			for j, s := range t.scores(b, h, i) {
				if math.IsInf(s, -1) {
					continue
				}
				p := math.Exp(s - lse)
				slope := float64(t.Scale) * p * (t.dot(kernel.AttentionDO, h, i, kernel.AttentionV, kh, j, b, t.Depth) - dot)
				if bent := s / float64(t.Cap); t.Cap > 0 {
					slope *= 1 - bent*bent
				}
				for n := range t.Depth {
					dv[kh*t.Keys+j][n] += p * t.load(kernel.AttentionDO, b, h, i, n)
				}
				for n := range t.Width {
					dk[kh*t.Keys+j][n] += slope * t.load(kernel.AttentionQ, b, h, i, n)
					dq[n] += slope * t.load(kernel.AttentionK, b, kh, j, n)
				}
			}
			t.store(kernel.AttentionDQ, b, h, i, dq)
		}
	}
	for h := range t.KeyHeads {
		for j := range t.Keys {
			t.store(kernel.AttentionDK, b, h, j, dk[h*t.Keys+j])
			t.store(kernel.AttentionDV, b, h, j, dv[h*t.Keys+j])
		}
	}
}

package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
)

// Products of float64 agree with sums in the order of k, on every instruction set and any number of
// threads. Each part of the result is reported once.
func TestDouble(t *testing.T) {
	for _, set := range isa.Sets() {
		restore := isa.Limit(set)
		for _, c := range []struct{ m, n, k, batch int }{
			{1, 1, 1, 1}, {1, 300, 17, 1}, {300, 1, 17, 1}, {5, 7, 3, 3}, {14, 16, 256, 1}, {33, 65, 257, 2}, {230, 40, 600, 1}, {3, 5, 0, 1},
		} {
			for _, turned := range []bool{false, true} {
				t.Run(fmt.Sprint(set, c, turned), func(t *testing.T) {
					for _, threads := range []int{1, 3} {
						checkDouble(t, c.m, c.n, c.k, c.batch, threads, turned)
					}
				})
			}
		}
		restore()
	}
}

func checkDouble(t *testing.T, m, n, k, batch, threads int, turned bool) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []float64 {
		x := make([]float64, n+1)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return x
	}
	a, b := random(batch*m*k), random(2*k*n)
	terms := []Term{
		{K: k, A: Operand{Line: k, Step: 1}, B: Operand{Line: 1, Step: n}},
		{K: k, A: Operand{Line: k, Step: 1}, B: Operand{Line: 1, Step: n}},
	}
	if turned {
		terms[0].A, terms[0].B = Operand{Line: 1, Step: m}, Operand{Line: k, Step: 1}
	}
	for i := range batch {
		for j := range terms {
			terms[j].A.Batch = append(terms[j].A.Batch, i*m*k)
			terms[j].B.Batch = append(terms[j].B.Batch, 0)
		}
	}
	workers := pool.New(threads)
	defer workers.Close()
	d := NewDouble(m, n, batch, terms, threads)
	c, reported := make([]float64, batch*m*n), make([]int32, batch*m*n)
	at := func(x []float64, i int) unsafe.Pointer { return unsafe.Pointer(&x[i]) }
	d.Run(workers, &DoubleCall{
		A: []unsafe.Pointer{at(a, 0), at(a, 0)}, B: []unsafe.Pointer{at(b, 0), at(b, k*n)}, C: at(c, 0),
		Scratch: make([]float64, d.ScratchLen(threads)),
		Done: func(_ int, r Part) {
			for i := range r.Rows {
				for j := range r.Cols {
					reported[(r.Batch*m+r.Row+i)*n+r.Col+j]++
				}
			}
		},
	})
	for i := range c {
		row, col := i/n%m, i%n
		var want float64
		for term, o := range terms {
			for s := range k {
				want += a[i/(m*n)*m*k+row*o.A.Line+s*o.A.Step] * b[term*k*n+col*o.B.Line+s*o.B.Step]
			}
		}
		if math.Abs(c[i]-want) > 1e-12 || reported[i] != 1 {
			t.Fatalf("%d threads, element %d: got %v, reported %d times, want %v, once", threads, i, c[i], reported[i], want)
		}
	}
}

func BenchmarkDouble(b *testing.B) {
	for _, n := range []int{256, 1024} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			workers := pool.New(2)
			defer workers.Close()
			o := Operand{Line: n, Step: 1}
			d := NewDouble(n, n, 1, []Term{{K: n, A: o, B: Operand{Line: 1, Step: n}}}, 2)
			x := make([]float64, 3*n*n)
			at := func(i int) unsafe.Pointer { return unsafe.Pointer(&x[i*n*n]) }
			call := &DoubleCall{
				A: []unsafe.Pointer{at(0)}, B: []unsafe.Pointer{at(1)}, C: at(2), Scratch: make([]float64, d.ScratchLen(2)),
			}
			for b.Loop() {
				d.Run(workers, call)
			}
			b.ReportMetric(2*float64(n*n*n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

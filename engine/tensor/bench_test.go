package tensor_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A memoryWork is work that memory limits, or exponentials.
type memoryWork struct {
	name  string
	bytes int // what must at least be read and written once
	exps  int // exponentials, where they may cost more than the bytes
	make  func() func() []tensor.Tensor
}

func memoryWorks() []memoryWork {
	list := []memoryWork{
		{"add/1024x1024", 12 << 20, 0, func() func() []tensor.Tensor {
			x, y := tensor.Randn(1024, 1024).Eval(), tensor.Randn(1024, 1024).Eval()
			return func() []tensor.Tensor { return []tensor.Tensor{x.Add(y)} }
		}},
		{"chain/1024x1024", 12 << 20, 2 << 20, func() func() []tensor.Tensor {
			x, y := tensor.Randn(1024, 1024).Eval(), tensor.Randn(1024, 1024).Eval()
			return func() []tensor.Tensor {
				return []tensor.Tensor{x.Mul(y).Add(0.5).Tanh().Mul(x.Sigmoid()).Sub(y)}
			}
		}},
	}
	for _, op := range []string{"softmax", "layer_norm", "rms_norm"} {
		for _, m := range []int{64, 1024} {
			exps := 0
			if op == "softmax" {
				exps = m * 1024
			}
			list = append(list,
				memoryWork{fmt.Sprintf("%s/%dx1024", op, m), 8 * m * 1024, exps, func() func() []tensor.Tensor { return rowWork(op, m, false) }},
				memoryWork{fmt.Sprintf("%s/%dx1024/backward", op, m), 20 * m * 1024, exps, func() func() []tensor.Tensor { return rowWork(op, m, true) }})
		}
	}
	for _, v := range []int{32000, 151936} {
		list = append(list,
			memoryWork{fmt.Sprintf("cross_entropy/256x%d", v), 4 * 256 * v, 256 * v, func() func() []tensor.Tensor { return lossWork(v, false) }},
			memoryWork{fmt.Sprintf("cross_entropy/256x%d/backward", v), 12 * 256 * v, 2 * 256 * v, func() func() []tensor.Tensor { return lossWork(v, true) }})
	}
	for _, millions := range []int{1, 40} {
		list = append(list, memoryWork{fmt.Sprintf("adamw/%dM", millions), 28e6 * millions, 0, func() func() []tensor.Tensor { return adamWWork(millions) }})
	}
	return list
}

// rowWork runs an op along rows of 1024, and with backward also its gradients for all operands.
func rowWork(op string, m int, backward bool) func() []tensor.Tensor {
	x, dy := tensor.Randn(m, 1024).Eval(), tensor.Randn(m, 1024).Eval()
	w, b := tensor.Randn(1024).Eval(), tensor.Randn(1024).Eval()
	return func() []tensor.Tensor {
		var y tensor.Tensor
		wrt := []tensor.Tensor{x}
		switch op {
		case "softmax":
			y = x.Softmax(-1)
		case "layer_norm":
			y, wrt = x.LayerNorm(w, b, 1e-5), append(wrt, w, b)
		default:
			y, wrt = x.RMSNorm(w, 1e-5), append(wrt, w)
		}
		if !backward {
			return []tensor.Tensor{y}
		}
		return append([]tensor.Tensor{y}, tensor.Grad(y.Mul(dy).Sum(), wrt...)...)
	}
}

func lossWork(v int, backward bool) func() []tensor.Tensor {
	logits, targets := tensor.Randn(256, v).Eval(), tensor.Range(256).Eval()
	return func() []tensor.Tensor {
		y := tensor.CrossEntropy(logits, targets, tensor.CrossEntropyOptions{})
		if !backward {
			return []tensor.Tensor{y}
		}
		return append([]tensor.Tensor{y}, tensor.Grad(y, logits)...)
	}
}

// adamWWork steps parameters of a million numbers each.
func adamWWork(millions int) func() []tensor.Tensor {
	values, params, grads := make([]tensor.Tensor, millions), make([]nn.Param, millions), make([]tensor.Tensor, millions)
	for i := range millions {
		values[i], grads[i] = tensor.Randn(1000, 1000).Param(), tensor.Randn(1000, 1000).Eval()
		params[i] = nn.NewParam(fmt.Sprint(i), &values[i])
	}
	optimizer := optim.AdamW{WeightDecay: 0.1}.New(params)
	return func() []tensor.Tensor {
		optimizer.Update(grads, 1e-3, tensor.Tensor{}).Commit()
		return values
	}
}

// BenchmarkMemoryBound runs each work as a loop of a user's does it, with new tensors in each run, which it
// frees. Share is the part of the time that copying as many bytes, or computing as many exponentials, would
// take on the same threads; faults are pages that the system had to provide during a run.
func BenchmarkMemoryBound(b *testing.B) {
	for _, w := range memoryWorks() {
		b.Run(w.name, func(b *testing.B) {
			run := w.make()
			bound := max(copying(w.bytes), exponentials(w.exps))
			for range 3 {
				tensor.Eval(run()...)
			}
			runtime.GC()
			best := time.Hour
			faults := pageFaults()
			for b.Loop() {
				start := time.Now()
				made := run()
				tensor.Eval(made...)
				if !made[0].IsParam() {
					tensor.Free(made...)
				}
				best = min(best, time.Since(start))
			}
			b.ReportMetric(float64(pageFaults()-faults)/float64(b.N), "faults/op")
			b.ReportMetric(float64(best.Nanoseconds())/1e3, "best-µs")
			b.ReportMetric(100*bound.Seconds()/best.Seconds(), "best-share-%")
			b.ReportMetric(float64(w.bytes)/best.Seconds()/1e9, "GB/s")
		})
	}
}

// copying is how long it takes at least to read and write bytes, half of them each, in memory that is used
// again.
func copying(bytes int) time.Duration {
	n := max(bytes/8, 1024)
	x, y := make([]float32, n), make([]float32, n)
	return leastTime(n, 4096, func(lo, hi int) {
		vec.ScaleTo(unsafe.Pointer(&y[lo]), unsafe.Pointer(&x[lo]), 1, hi-lo)
	})
}

// exponentials is how long n of them take at least, of numbers in the first-level cache.
func exponentials(n int) time.Duration {
	if n == 0 {
		return 0
	}
	x := make([][2][1024]float32, runtime.GOMAXPROCS(0))
	p := pool.New(len(x))
	defer p.Close()
	return leastOf(func() {
		p.Range(n, 8192, func(worker, lo, hi int) {
			at := &x[worker]
			for ; lo < hi; lo += len(at[0]) {
				vec.SumExpSub(unsafe.Pointer(&at[0]), 1, min(len(at[0]), hi-lo))
			}
		})
	})
}

func leastTime(n, step int, f func(lo, hi int)) time.Duration {
	p := pool.New(0)
	defer p.Close()
	return leastOf(func() {
		p.Range(n, 8192, func(_, lo, hi int) {
			for ; lo < hi; lo += step {
				f(lo, min(hi, lo+step))
			}
		})
	})
}

func leastOf(f func()) time.Duration {
	least := time.Hour
	for began := time.Now(); time.Since(began) < 200*time.Millisecond; {
		start := time.Now()
		f()
		least = min(least, time.Since(start))
	}
	return least
}

// Scatters of 16,384 rows of 256 into 8,192: whole rows, and elements with an index each.
func BenchmarkScatter(b *testing.B) {
	base, updates := tensor.Randn(8192, 256).Eval(), tensor.Randn(16384, 256).Eval()
	rows, each := tensor.RandInt(0, 8192, 16384).Eval(), tensor.RandInt(0, 8192, 16384, 256).Eval()
	for _, c := range []struct {
		name string
		f    func() tensor.Tensor
	}{
		{"rows/add", func() tensor.Tensor { return base.Put(0, rows, updates, tensor.Accumulate) }},
		{"rows/replace", func() tensor.Tensor { return base.Put(0, rows, updates, tensor.Replace) }},
		{"rows/greatest", func() tensor.Tensor { return base.Put(0, rows, updates, tensor.Greatest) }},
		{"elements/add", func() tensor.Tensor { return base.PutAlong(0, each, updates, tensor.Accumulate) }},
		{"elements/replace", func() tensor.Tensor { return base.PutAlong(0, each, updates, tensor.Replace) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(4 * updates.Size()))
			for b.Loop() {
				c.f().Eval()
			}
		})
	}
}

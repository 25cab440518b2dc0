package tensor

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// Long launches stop soon after their context is done, leave what they read as it was, and what they were to
// compute can be computed afterwards. The limit is generous, for machines that are busy; each case would run
// for much longer.
func TestInterruptInsideOfALaunch(t *testing.T) {
	use(t, "cpu")
	const limit = 2 * time.Second
	long := func(x Tensor) Tensor {
		for range 300 {
			x = x.Sin().Exp().Tanh().Add(0.5)
		}
		return x
	}
	for _, c := range []struct {
		name  string
		shape []int
		f     func(x Tensor) Tensor
	}{
		{"matmul", []int{4096, 4096}, func(x Tensor) Tensor {
			for range 8 { // the second and further ones: a list of launches
				x = x.MatMul(x).Mul(1e-3)
			}
			return x
		}},
		{"elementwise chain", []int{8 << 20}, long},
		{"reduced chain", []int{8, 1 << 20}, func(x Tensor) Tensor { return long(x).Sum(-1) }},
		{"rows of a chain", []int{1 << 13, 1 << 10}, func(x Tensor) Tensor { return long(x).Softmax(-1) }},
		{"one long row of a chain", []int{1, 8 << 20}, func(x Tensor) Tensor { return long(x).LogSoftmax(-1) }},
		{"attention", []int{1, 32, 8192, 64}, func(x Tensor) Tensor { return Attention(x, x, x, AttentionOptions{}) }},
		{"sorting", []int{64, 1 << 17}, func(x Tensor) Tensor {
			for range 40 {
				x, _ = x.TopK(1 << 17)
				x = x.Neg()
			}
			return x
		}},
	} {
		x := Full(0.5, c.shape...).Eval()
		y := c.f(x)
		ctx, cancel := context.WithCancel(context.Background())
		var stopped time.Time
		time.AfterFunc(60*time.Millisecond, func() { stopped = time.Now(); cancel() })
		err := EvalContext(ctx, y)
		switch {
		case err == nil:
			t.Logf("%s: done before it was stopped", c.name)
		case !errors.Is(err, context.Canceled) && err.Error() != "eval: interrupted":
			t.Errorf("%s: got %v", c.name, err)
		case time.Since(stopped) > limit:
			t.Errorf("%s: went on for %v", c.name, time.Since(stopped))
		}
		if err != nil && y.Evaluated() {
			t.Errorf("%s: the result was kept though it was not finished", c.name)
		}
		if got := x.Sub(0.5).Abs().Max().Item(); got != 0 {
			t.Errorf("%s: what it read is off by %v", c.name, got)
		}
	}
}

// One launch stops within 100 ms on a machine that does nothing else, whatever it computes of 16 million
// elements; the limit is for one that does. Figures: go test ./engine/tensor -run InterruptOfOneLaunch -long
// -v
func TestInterruptOfOneLaunch(t *testing.T) {
	if !long.Tests() {
		t.Skip("takes a minute: -long runs it")
	}
	use(t, "cpu")
	const n, limit = 16 << 20, 400 * time.Millisecond
	x := Rand(n).Eval()
	d, i, y := x.Cast(dtype.F64).Eval(), RandInt(0, n, n).Eval(), x.Add(1).Eval()
	square := func(t Tensor) Tensor { return t.Reshape(4096, 4096) }
	for _, c := range []struct {
		name string
		f    func() Tensor
	}{
		{"top k, all values", func() Tensor { v, _ := x.TopK(n); return v }},
		{"top k, all places", func() Tensor { _, at := x.TopK(n); return at }},
		{"top 10", func() Tensor { v, _ := x.TopK(10); return v }},
		{"sorting f64", func() Tensor { return d.Sort(0) }},
		{"argsort", func() Tensor { return x.ArgSort(0) }},
		{"sorting rows", func() Tensor { return square(x).Sort(1) }},
		{"a median", func() Tensor { return x.Median(0) }},
		{"a random order", func() Tensor { return RandPerm(n) }},
		{"pow of f64", func() Tensor { return d.Pow(d) }},
		{"functions of f64", func() Tensor { return d.Pow(d).Atan2(d).Erf() }},
		{"a sum of them", func() Tensor { return d.Pow(d).Sum() }},
		{"softmax of f64", func() Tensor { return d.Softmax(-1) }},
		{"layer norm of f64", func() Tensor { return d.LayerNorm(d, d, 1e-5) }},
		{"a running sum", func() Tensor { return d.CumSum(0) }},
		{"take", func() Tensor { return x.Take(i, 0) }},
		{"take along", func() Tensor { return x.TakeAlong(i, 0) }},
		{"scatter add", func() Tensor { return x.ScatterAdd(0, i, y) }},
		{"put", func() Tensor { return x.Put(0, i, y, Greatest) }},
		{"random numbers", func() Tensor { return Randn(n) }},
		{"argmax", func() Tensor { return i.ArgMax(0) }},
		{"argmax of columns", func() Tensor { return square(x).ArgMax(0) }},
		{"a product of f64", func() Tensor { return square(d).MatMul(square(d)) }},
		{"a product of i64", func() Tensor { return square(i).MatMul(square(i)) }},
	} {
		var worst time.Duration
		for _, after := range []time.Duration{10, 40, 150, 400} {
			ctx, cancel := context.WithCancel(t.Context())
			stopped := make(chan time.Time, 1)
			time.AfterFunc(after*time.Millisecond, func() { stopped <- time.Now(); cancel() })
			result := c.f()
			err := EvalContext(ctx, result)
			done := time.Now()
			result.Free()
			if at := <-stopped; err != nil {
				worst = max(worst, done.Sub(at))
			}
		}
		t.Logf("%-18s stopped within %v", c.name, worst.Round(time.Millisecond))
		if worst > limit {
			t.Errorf("%s: went on for %v", c.name, worst)
		}
	}
}

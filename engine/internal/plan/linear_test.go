package plan_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/plan"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// A repetition makes something of n equal parts.
type repetition struct {
	name string
	make func(n int) []tensor.Tensor
}

// step makes a chain: each link is computed from the one before.
func step(name string, shape []int, f func(y, x tensor.Tensor, i int) tensor.Tensor) repetition {
	return repetition{name, func(n int) []tensor.Tensor {
		x := tensor.Full(0.5, shape...).Eval()
		y := x
		for i := range n {
			y = f(y, x, i)
		}
		return []tensor.Tensor{y}
	}}
}

// gradient makes the gradient of a chain with respect to what stands in each link.
func gradient(name string, f func(y, w tensor.Tensor) tensor.Tensor) repetition {
	return repetition{name, func(n int) []tensor.Tensor {
		w := tensor.Full(0.5, 4, 4).Param()
		y := w
		for range n {
			y = f(y, w)
		}
		return tensor.Grad(y.Sum(), w)
	}}
}

func repetitions() []repetition {
	return []repetition{
		step("additions of a number", []int{4}, func(y, _ tensor.Tensor, _ int) tensor.Tensor { return y.Add(1) }),
		step("additions of other numbers", []int{4}, func(y, _ tensor.Tensor, i int) tensor.Tensor { return y.Add(0.5 + float64(i)) }),
		step("additions of a tensor", []int{4}, func(y, x tensor.Tensor, _ int) tensor.Tensor { return y.Add(x) }),
		step("additions of random tensors", []int{4}, func(y, _ tensor.Tensor, _ int) tensor.Tensor { return y.Add(tensor.Rand(4)) }),
		step("additions of stored tensors", []int{4}, func(y, _ tensor.Tensor, _ int) tensor.Tensor { return y.Add(tensor.Ones(4).Eval()) }),
		step("sums", []int{4}, func(y, _ tensor.Tensor, _ int) tensor.Tensor { return y.Add(y.Sum()) }),
		step("products", []int{4, 4}, func(y, x tensor.Tensor, _ int) tensor.Tensor { return y.MatMul(x) }),
		step("products that are added", []int{4, 4}, func(y, x tensor.Tensor, i int) tensor.Tensor { return y.Add(x.MatMul(x.Mul(float64(i)))) }),
		step("adding to products", []int{4, 4}, func(y, x tensor.Tensor, i int) tensor.Tensor { return x.MatMul(x.Mul(float64(i))).Add(y) }),
		step("products of many rows", []int{16, 16}, func(y, x tensor.Tensor, _ int) tensor.Tensor { return y.MatMul(x).Tanh() }),
		step("rows", []int{4, 4}, func(y, _ tensor.Tensor, _ int) tensor.Tensor { return y.Softmax(-1) }),
		step("views", []int{4, 4}, func(y, _ tensor.Tensor, _ int) tensor.Tensor { return y.Transpose() }),
		step("views that do not compose", []int{4, 6}, func(y, _ tensor.Tensor, _ int) tensor.Tensor { return y.Transpose().Reshape(4, 6) }),
		step("sums of views", []int{4, 4}, func(y, x tensor.Tensor, _ int) tensor.Tensor { return y.Transpose().Add(x) }),
		step("first and last", []int{4}, func(y, x tensor.Tensor, _ int) tensor.Tensor { return y.Exp().Mul(x).Sub(y) }),
		{"independent results", func(n int) (ys []tensor.Tensor) {
			x := tensor.Ones(4).Eval()
			for i := range n {
				ys = append(ys, x.Add(float64(i)))
			}
			return ys
		}},
		{"independent products", func(n int) (ys []tensor.Tensor) {
			x := tensor.Ones(16, 16).Eval()
			for i := range n {
				ys = append(ys, x.Add(float64(i)).MatMul(x.Mul(float64(i))))
			}
			return ys
		}},
		{"results of one product", func(n int) (ys []tensor.Tensor) {
			x := tensor.Ones(4, 4).Eval()
			y := x.MatMul(x)
			for i := range n {
				ys = append(ys, y.Add(float64(i)).Sum())
			}
			return ys
		}},
		{"one result of many", func(n int) []tensor.Tensor {
			x := tensor.Ones(4).Eval()
			var ys []tensor.Tensor
			for i := range n {
				ys = append(ys, x.Add(float64(i)))
			}
			return []tensor.Tensor{tensor.Concat(ys, 0)}
		}},
		gradient("gradient of multiplications", func(y, w tensor.Tensor) tensor.Tensor { return y.Mul(w) }),
		gradient("gradient of products", tensor.Tensor.MatMul),
		gradient("gradient of products and tanh", func(y, w tensor.Tensor) tensor.Tensor { return y.MatMul(w).Tanh() }),
		gradient("gradient of norms", func(y, w tensor.Tensor) tensor.Tensor { return y.Add(w).Softmax(-1) }),
	}
}

// Twice as many links take about twice as many steps to plan.
func TestPlanningIsLinear(t *testing.T) {
	defer useDevice(t, "ref")()
	for i, r := range repetitions() {
		for _, fuse := range []bool{true, false} {
			if !long.Tests() && (i%4 != 0 || !fuse) {
				continue
			}
			tensor.Within(tensor.WithFusion(t.Context(), fuse), func() {
				steps := func(n int) int {
					ys := r.make(n)
					plan.Forget()
					tensor.Eval(ys...)
					return largest(t).Steps
				}
				const n = 600 // a search that ends early counts for much of what is smaller
				one, four := steps(n), steps(4*n)
				if float64(four) > 4.8*float64(one) {
					t.Errorf("%s, fused %v: %d take %d steps, %d take %d: %.1f times as many", r.name, fuse, n, one, 4*n, four, float64(four)/float64(one))
				}
			})
		}
	}
}

// largest returns the needs of the plan that took most steps.
func largest(t *testing.T) (most plan.Needs) {
	dev, err := backend.Open(device.Default().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range plan.NeedsOf(dev) {
		if n.Steps > most.Steps {
			most = n
		}
	}
	return most
}

// A gradient makes about twice as many nodes and lists for twice as many links.
func TestGradientIsLinear(t *testing.T) {
	for _, f := range []func(y, w tensor.Tensor) tensor.Tensor{tensor.Tensor.MatMul, func(y, w tensor.Tensor) tensor.Tensor { return y.Reshape(2, 8).Reshape(4, 4).Add(w.MatMul(w)) }} {
		bytes := func(n int) uint64 {
			w := tensor.Full(0.5, 4, 4).Param()
			y := w
			for range n {
				y = f(y, w)
			}
			loss := y.Sum()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			tensor.Grad(loss, w)
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		if one, four := bytes(1000), bytes(4000); four > 6*one {
			t.Errorf("1000 links take %d bytes, 4000 take %d", one, four)
		}
	}
}

// Planning stops with its context: a chain of which planning alone takes seconds ends soon after.
func TestPlanningStops(t *testing.T) {
	y := tensor.Ones(4).Eval()
	for range 300_000 {
		y = y.Add(1)
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	var stopped time.Time
	time.AfterFunc(100*time.Millisecond, func() { stopped = time.Now(); cancel(stop) })
	err := tensor.EvalContext(ctx, y)
	if took := time.Since(stopped); !errors.Is(err, stop) || took > 2*time.Second {
		t.Errorf("got %v, %v after it was stopped", err, took)
	}
	// Other goroutines plan meanwhile, and the chain can still be evaluated.
	short := tensor.Ones(4).Add(1)
	for i, z := 0, y; i < 3; i++ {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, stop)
		if err := tensor.EvalContext(ctx, z.Mul(2)); !errors.Is(err, stop) {
			t.Errorf("got %v", err)
		}
		cancel()
	}
	if got := short.Sum().Item(); got != 8 {
		t.Errorf("got %v", got)
	}
}

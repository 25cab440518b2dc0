package bench

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Ceilings are the best rates that the engine's own kernels reached on a device: what other figures are a
// share of.
type Ceilings struct {
	Flops float64 // f32 operations a second, of a square matmul
	BF16  float64 // the same of bf16, which a matrix unit may do many times as fast
	Read  float64 // bytes a second, of a sum over more than the caches hold
}

var ceilings = struct {
	sync.Mutex
	of map[string]Ceilings
}{of: map[string]Ceilings{}}

// MeasureCeilings measures the default device, once in a process: some 0.5 s and 64 MiB. A device that is so
// slow that smaller work shows its rate gets smaller work.
func MeasureCeilings(ctx context.Context) (Ceilings, error) {
	ceilings.Lock()
	defer ceilings.Unlock()
	name := device.Default().String()
	if c, ok := ceilings.of[name]; ok {
		return c, nil
	}
	var c Ceilings
	var err error
	for _, m := range []struct {
		rate *float64
		of   dtype.Type
	}{{&c.Flops, dtype.F32}, {&c.BF16, dtype.BF16}} {
		if *m.rate, err = bestRate(ctx, 1024, func(n int) (func(), float64) {
			a := ramp(n*n).Reshape(n, n).Cast(m.of).Eval()
			return func() { a.MatMul(a).Eval() }, 2 * float64(n) * float64(n) * float64(n)
		}); err != nil {
			return Ceilings{}, err
		}
	}
	if c.Read, err = bestRate(ctx, 1<<24, func(n int) (func(), float64) {
		x := ramp(n)
		return func() { x.Sum().Eval() }, 4 * float64(n)
	}); err != nil {
		return Ceilings{}, err
	}
	// What was measured with is large: it must not count as the session's.
	runtime.GC()
	device.Default().FreeCache()
	ceilings.of[name] = c
	return c, nil
}

// ramp is n stored numbers: not random, which would move the session's seed on, and not a constant, which
// need not be stored.
func ramp(n int) tensor.Tensor { return tensor.Arange(0, float64(n), 1).Eval() }

// How long the rate of one kind of work is sampled, and how long a run must take before its size no longer
// grows.
const (
	ceilingTime  = 150 * time.Millisecond
	longEnough   = 50 * time.Millisecond
	smallestSize = 1.0 / 64
)

// try runs f, whose evaluations obey ctx.
func try(ctx context.Context, f func()) error {
	return tensor.Try(func() { tensor.Within(ctx, f) })
}

// bestRate returns the highest rate of work at up to the largest size. Make returns the work of a size and
// its amount.
func bestRate(ctx context.Context, largest int, make func(n int) (func(), float64)) (best float64, err error) {
	err = try(ctx, func() {
		for n := int(float64(largest) * smallestSize); n <= largest; n *= 2 {
			work, amount := make(n)
			work() // builds the plan and fetches the data
			took := time.Duration(0)
			for spent := time.Duration(0); spent < ceilingTime && ctx.Err() == nil; spent += took {
				start := time.Now()
				work()
				took = time.Since(start)
				best = max(best, amount/took.Seconds())
				if n < largest {
					break
				}
			}
			if took > longEnough {
				return
			}
		}
	})
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return best, err
}

package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/machine"
)

// How long the rate of one kind of work is sampled, and how long a run must take before its size no longer
// grows.
const (
	ceilingTime  = 80 * time.Millisecond // of products
	movingTime   = 40 * time.Millisecond // of each kind of moving data
	longEnough   = 10 * time.Millisecond
	smallestSize = 64 // times smaller than the largest is where sizes begin

	largestData = 64 << 20 // bytes that are read to get past the caches of a processor, at most
)

// measured are the types in which arithmetic is measured, where the device has them.
var measured = []dtype.Type{dtype.F32, dtype.F64, dtype.F16, dtype.BF16, dtype.I8}

// A reach is how large the work is by which a device is measured.
type reach struct {
	product int // rows and columns of the largest matrix product
	levels  []Level
}

// reachOf returns sizes that take a processor some milliseconds. An accelerator, which has no threads, would
// do them in the time of a launch: it gets products of 512 times the arithmetic, and as much memory as lets a
// launch take a millisecond at some TB/s.
func reachOf(i device.Info) reach {
	if i.Threads > 0 {
		return reach{1024, levels(machine.Caches())}
	}
	data := int64(2 << 30)
	if i.Memory > 0 {
		data = min(data, i.Memory/16)
	}
	return reach{8192, []Level{{Name: "cache", Size: min(16<<20, data), Holds: 128 << 20}, {Name: "memory", Size: data}}}
}

// measureCeilings measures a device: in a second, or less on one that is so slow that smaller work shows its
// rate.
func measureCeilings(ctx context.Context, d device.Device) (Ceilings, error) {
	ctx = device.On(ctx, d)
	before, reach := thisMachine(d.String()), reachOf(d.Info())
	c := Ceilings{Arithmetic: map[string]float64{}}
	var doubts []string
	for _, t := range measured {
		if !slices.Contains(d.Info().DTypes, t) {
			continue
		}
		sizes, err := ratesOf(ctx, reach.product, ceilingTime, func(n int) (func(), float64) {
			a := ramp(n*n).Mul(1.0/float64(n*n)).Reshape(n, n).Cast(t).Eval()
			return func() { a.MatMul(a).Eval() }, 2 * float64(n) * float64(n) * float64(n)
		})
		if err != nil {
			return Ceilings{}, err
		}
		// A smaller product may do more a second: it stays in a cache.
		c.Arithmetic[t.String()] = slices.Max(slices.Concat(sizes...))
		doubts = append(doubts, unsteady(t.String(), sizes[len(sizes)-1]))
	}
	for _, l := range reach.levels {
		var fastest []float64 // rates of the kind that reaches the highest
		for _, kind := range moving {
			sizes, err := ratesOf(ctx, int(l.Size/4), movingTime, kind)
			if err != nil {
				return Ceilings{}, err
			}
			if rates := sizes[len(sizes)-1]; slices.Max(rates) > l.Rate {
				l.Rate, fastest = slices.Max(rates), rates
			}
		}
		doubts = append(doubts, unsteady(l.Name, fastest))
		c.Memory = append(c.Memory, l)
	}
	// What was measured with is large: it must not count as the session's.
	runtime.GC()
	d.FreeCache()
	after := thisMachine(d.String())
	c.Measured = time.Now()
	if d.Info().Threads > 0 { // work of others on the processors takes nothing from an accelerator
		doubts = append(after.since(before).Noise(), doubts...)
	}
	for _, doubt := range doubts {
		if doubt != "" && c.Doubt == "" {
			c.Doubt = "measured while the machine was not quiet: " + doubt
		}
	}
	return c, nil
}

// moving are works that little but memory limits, on about n numbers: reading, in a sum and in a product with
// one row, and reading and writing in several proportions, which a cache may do faster.
var moving = []func(n int) (work func(), bytes float64){
	func(n int) (func(), float64) {
		x := ramp(n)
		return func() { x.Sum().Eval() }, 4 * float64(n)
	},
	func(n int) (func(), float64) {
		n = max(1, n/2)
		x, y := ramp(n), ramp(n)
		return func() { tensor.Free(x.Mul(y).Eval()) }, 12 * float64(n)
	},
	func(n int) (func(), float64) {
		n = max(1, n/2)
		x := ramp(n)
		return func() { tensor.Free(x.Neg().Eval()) }, 8 * float64(n)
	},
	func(n int) (func(), float64) {
		const columns = 64
		rows := max(1, n/columns)
		x, w := ramp(rows).Reshape(1, rows), ramp(rows*columns).Reshape(rows, columns)
		return func() { tensor.Free(x.MatMul(w).Eval()) }, 4 * float64(rows*columns+rows+columns)
	},
}

// levels are the sizes of data for which reading is measured: half of each cache, because something else is
// always in it, and more than the last one holds.
func levels(caches []machine.Cache) (list []Level) {
	if len(caches) == 0 {
		caches = []machine.Cache{{Size: 32 << 10, Sharing: 1}, {Size: 512 << 10, Sharing: 1}}
	}
	for i, c := range caches {
		if c.Size/2 < largestData {
			many := max(1, runtime.NumCPU()/max(1, c.Sharing))
			list = append(list, Level{Name: fmt.Sprintf("L%d", i+1), Size: c.Size / 2, Holds: int64(many) * c.Size})
		}
	}
	// A last cache that holds all that is measured is this machine's memory, as far as anybody can see.
	return append(list, Level{Name: "memory", Size: largestData})
}

// unsteady says that a rate was reached by chance, if the third best of several is far from the best.
func unsteady(name string, rates []float64) string {
	const apart = 0.1
	best := slices.Clone(rates)
	slices.Sort(best)
	slices.Reverse(best)
	if len(best) < 3 || best[2] >= (1-apart)*best[0] {
		return ""
	}
	return fmt.Sprintf("the best rates of %s are more than %s apart", name, percent(apart))
}

// ramp is n stored numbers: not random, which would move the session's seed on, and not a constant, which
// need not be stored.
func ramp(n int) tensor.Tensor { return tensor.Arange(0, float64(n), 1).Eval() }

// ratesOf returns the rates of work of several sizes, the largest last: several rates of the largest that the
// device does in reasonable time, one of each smaller. Make returns the work of a size and its amount.
func ratesOf(ctx context.Context, largest int, long time.Duration, make func(n int) (func(), float64)) (sizes [][]float64, err error) {
	var failed error
	work := func() {
		wait := device.Default().Sync
		for n := max(1, largest/smallestSize); n <= largest; n *= 2 {
			work, amount := make(n)
			work() // builds the plan and fetches the data
			if failed = wait(); failed != nil {
				return
			}
			var rates []float64
			took := time.Duration(0)
			for spent := time.Duration(0); spent < long && ctx.Err() == nil; spent += took {
				start := machine.Now()
				work()
				if failed = wait(); failed != nil {
					return
				}
				took = machine.Now() - start
				rates = append(rates, amount/max(took, 1).Seconds())
				if n < largest && took < longEnough {
					break // a larger one tells more
				}
			}
			if len(rates) > 0 {
				sizes = append(sizes, rates)
			}
			if took > longEnough {
				return
			}
		}
	}
	err = tensor.Try(func() { tensor.Within(ctx, work) })
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err = cmp.Or(err, failed); err == nil && len(sizes) == 0 {
		err = errors.New("bench: got no time to measure a ceiling")
	}
	return sizes, err
}

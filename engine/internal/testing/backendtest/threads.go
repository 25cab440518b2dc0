package backendtest

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// threadGraphs is how many random graphs SameBits compares.
const threadGraphs = 40

// SameBits compares a backend with itself: results must be the same bits for any number of threads, beside
// another goroutine that computes, and in each run. It walks the op table and random graphs as Run does, and
// as there all types together run each case once, all with -long, and without CI=1 a third of that.
func SameBits(t *testing.T, open func(threads int) backend.Backend) {
	s := &threadSuite{}
	threads := []int{1, 3}
	if long.Tests() {
		threads = []int{1, 2, 3, 4, 7, 2}
	}
	for _, n := range threads {
		s.threads = append(s.threads, n)
		s.devs = append(s.devs, backend.NewDevice(fmt.Sprintf("%d threads", n), open(n)))
	}
	every, graphs := 9, threadGraphs/8
	switch {
	case long.Tests():
		every, graphs = 1, threadGraphs
	case long.CI():
		every, graphs = 3, threadGraphs/2
	}
	for _, r := range ir.Rows() {
		t.Run(r.Name, func(t *testing.T) {
			for i, c := range casesOf(r.Op) {
				for k, dt := range []dtype.Type{dtype.F32, dtype.BF16, dtype.F64} {
					if i%every != k%every || dt == dtype.F64 && i%3 != 2 { // f64 has few kernels of its own
						continue
					}
					s.same(t, fmt.Sprintf("%s %v", c.Name, dt), dt, c)
				}
			}
		})
	}
	for _, c := range sharedWork() {
		t.Run(c.Name, func(t *testing.T) { s.same(t, c.Name, dtype.F32, c) })
	}
	t.Run("random graphs", func(t *testing.T) {
		for seed := range graphs {
			s.same(t, fmt.Sprintf("graph %d", seed), dtype.F32, RandomGraph(5+seed, 3+seed))
		}
	})
}

type threadSuite struct {
	threads []int
	devs    []*backend.Device
}

// same evaluates a case with each number of threads.
func (s *threadSuite) same(t *testing.T, name string, dt dtype.Type, c Case) {
	t.Helper()
	c = c.kept()
	want, err := Evaluate(s.devs[0], name, dt, c)
	if err == errNotForDType {
		return
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	for i, dev := range s.devs[1:] {
		var beside sync.WaitGroup
		if i == 0 {
			beside.Go(func() {
				if _, err := Evaluate(dev, name, dt, c); err != nil {
					t.Errorf("%s: beside another: %v", name, err)
				}
			})
		}
		got, err := Evaluate(dev, name, dt, c)
		beside.Wait()
		if err != nil {
			t.Errorf("%s: %v: %v", name, dev, err)
			return
		}
		for j := range want {
			if k := firstOther(&got[j], &want[j]); k >= 0 {
				t.Errorf("%s: result %d of %d: element %d is %v with %d threads and %v with %d", name, j, len(want), k,
					got[j].element(k), s.threads[i+1], want[j].element(k), s.threads[0])
				return
			}
		}
	}
}

// firstOther is the first element with other bits, −1 if there is none. All NaNs count as the same.
func firstOther(got, want *Values) int {
	for i, w := range want.F {
		if g := got.F[i]; math.Float64bits(g) != math.Float64bits(w) && (g == g || w == w) {
			return i
		}
	}
	for i, w := range want.I {
		if got.I[i] != w {
			return i
		}
	}
	return -1
}

// element is element i for a message.
func (v *Values) element(i int) any {
	if v.DType.Float() {
		return v.F[i]
	}
	return v.I[i]
}

// sharedWork are graphs that are large enough to be computed by several threads.
func sharedWork() []Case {
	var list []Case
	add := func(name string, build func(b *B, dt dtype.Type) []*ir.Node) {
		list = append(list, Case{Name: name, Build: build})
	}
	for _, s := range [][3]int{{300, 257, 190}, {3, 400, 700}, {16, 900, 300}, {700, 64, 5}, {64, 5000, 40}, {1, 3000, 70}} {
		add(fmt.Sprint("product ", s), single(func(b *B, dt dtype.Type) *ir.Node {
			return b.New(ir.MatMul, ir.Attr{}, b.Normal(dt, s[0], s[1]), b.Normal(dt, s[1], s[2]))
		}))
	}
	for _, s := range [][2]int{{1, 300_000}, {5, 70_000}, {40, 33_000}, {1000, 70}, {3000, 7}, {40_000, 1}, {300, 1030}} {
		add(fmt.Sprint("sums of ", s), func(b *B, dt dtype.Type) (sums []*ir.Node) {
			x := b.Normal(dt, s[0], s[1])
			for _, axes := range [][]int{{0}, {1}, {0, 1}} {
				sums = append(sums, b.New(ir.Sum, ir.Attr{Axes: axes}, x), b.New(ir.Prod, ir.Attr{Axes: axes}, x))
			}
			return sums
		})
	}
	for _, op := range []ir.Op{ir.Softmax, ir.LayerNormGrad, ir.RMSNormGrad, ir.CrossEntropyGrad} {
		add(fmt.Sprint("rows of ", op), func(b *B, dt dtype.Type) []*ir.Node {
			attr := ir.Attr{Float: 1e-5}
			if op == ir.CrossEntropyGrad {
				attr = ir.Attr{Index: -100}
			}
			return rowOp(b, op, dt, b.Normal(dt, 700, 130), attr)
		})
	}
	add("scattered sums", single(func(b *B, dt dtype.Type) *ir.Node {
		return b.New(ir.ScatterAdd, ir.Attr{}, b.Normal(dt, 300, 40), b.Places(300, 5000), b.Normal(dt, 5000, 40))
	}))
	return list
}

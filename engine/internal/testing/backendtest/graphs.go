package backendtest

import (
	"context"
	"flag"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/ref"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/plan"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

var graphs = flag.Int("graphs", 200, "how many random graphs the conformance suite compares; on a processor without CI=1 every fifth of them")

// foundSomething are further seeds, each of which has once found a mistake. The graph of 1500 has a launch
// that reads a value and computes it, too.
var foundSomething = []int{1500}

// inTurn are the types of random graphs beside F32. Each graph has the next one of them.
var inTurn = slices.DeleteFunc(dtype.All(), func(dt dtype.Type) bool { return !dt.Int() && dt != dtype.F64 })

// graphs compares random graphs on the backend, fused, with the reference, where every node is a launch of
// its own. Each launch is held against the reference by itself, too.
func (s *suite) graphs(t *testing.T) {
	b, err := newChecked(s.dev.Backend())
	if err != nil {
		t.Fatal(err)
	}
	dev := backend.NewDevice("checked", b)
	seeds := slices.Clone(foundSomething)
	for seed := range *graphs {
		if seed%5 == 0 || !s.quick {
			seeds = append(seeds, seed)
		}
	}
	if s.few {
		seeds = []int{3, 17}
	}
	for _, seed := range seeds {
		for _, dt := range []dtype.Type{dtype.F32, inTurn[seed%len(inTurn)]} {
			if !slices.Contains(s.dtypes, dt) {
				continue
			}
			c := RandomGraph(5+seed%200/4, 3+seed%200/10).kept()
			name := fmt.Sprintf("graph %d %v", seed, dt)
			want, err := unfused(func() ([]Values, error) { return Evaluate(s.exact, name, dt, c) })
			if err != nil {
				t.Fatalf("%s: reference: %v", name, err)
			}
			spreads, err := s.spreads(name, dt, c, want)
			if err != nil {
				t.Fatalf("%s: disturbed reference: %v", name, err)
			}
			got, err := Evaluate(dev, name, dt, c)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for i := range want {
				if err := spreads[i].allows(&got[i]); err != nil {
					t.Errorf("%s: result %d of %d: %v", name, i, len(want), err)
				}
			}
		}
	}
}

// spreads evaluates a case on the disturbed reference.
func (s *suite) spreads(name string, dt dtype.Type, c Case, want []Values) ([]spread, error) {
	list := make([]spread, len(want))
	for i := range want {
		list[i].want = want[i]
	}
	for seed := range disturbances {
		var results []Values
		var err error
		scope.Within(ref.Disturbed(context.Background(), uint64(seed)), func() {
			results, err = unfused(func() ([]Values, error) { return Evaluate(s.exact, name, dt, c) })
		})
		if err != nil {
			return nil, err
		}
		for i := range results {
			list[i].add(&results[i])
		}
	}
	return list, nil
}

// unfused runs f with all fusion rules off.
func unfused(f func() ([]Values, error)) (values []Values, err error) {
	scope.Within(plan.WithFusion(context.Background(), false), func() { values, err = f() })
	return values, err
}

// RandomGraph returns a case of about that many ops on tensors whose axes are at most that long: arithmetic,
// views, broadcasting, reductions, products, row ops, with some of the values as results. All functions in it
// are smooth and keep numbers small, so that rounding stays rounding.
func RandomGraph(ops, longest int) Case {
	return Case{Name: "random graph", Build: func(b *B, dt dtype.Type) []*ir.Node {
		g := &graphMaker{B: b, dt: dt, longest: longest}
		for range 3 {
			g.leaf()
		}
		for range ops {
			g.step()
		}
		results := []*ir.Node{g.pool[len(g.pool)-1]}
		for _, n := range g.pool {
			if n.Op != ir.Leaf && b.rng.IntN(5) == 0 {
				results = append(results, n)
			}
		}
		return results
	}}
}

// A graphMaker grows a graph from a pool of values, all of one dtype.
type graphMaker struct {
	*B
	dt      dtype.Type
	longest int
	pool    []*ir.Node
}

func (g *graphMaker) keep(n *ir.Node) { g.pool = append(g.pool, n) }

// any returns a value of the pool: a new one more often than an old one.
func (g *graphMaker) any() *ir.Node {
	n := len(g.pool)
	return g.pool[n-1-min(g.rng.IntN(n), g.rng.IntN(n))]
}

func (g *graphMaker) length() int {
	if g.rng.IntN(40) == 0 {
		return 0
	}
	return 1 + g.rng.IntN(g.longest)
}

func (g *graphMaker) leaf() {
	shape := make([]int, g.rng.IntN(4))
	for i := range shape {
		shape[i] = g.length()
	}
	g.keep(g.Normal(g.dt, shape...))
}

func (g *graphMaker) step() {
	x := g.any()
	switch k := g.rng.IntN(20); {
	case k < 4:
		g.keep(g.unary(x))
	case k < 9:
		g.keep(g.binary(x, g.like(x)))
	case k < 13:
		g.keep(g.view(x))
	case k < 15:
		g.keep(g.reduce(x))
	case k < 17:
		g.keep(g.product(x))
	case k < 18 && g.dt.Float():
		g.keep(g.row(x))
	case k < 19:
		cond := g.New(ir.Lt, ir.Attr{}, g.Normal(g.dt, x.Shape...), g.Normal(g.dt, x.Shape...))
		g.keep(g.New(ir.Where, ir.Attr{}, cond, x, g.like(x)))
	default:
		g.leaf()
	}
}

func (g *graphMaker) pick(ops ...ir.Op) ir.Op { return ops[g.rng.IntN(len(ops))] }

func (g *graphMaker) unary(x *ir.Node) *ir.Node {
	if !g.dt.Float() {
		return g.New(g.pick(ir.Neg, ir.Abs, ir.Sign, ir.Not), ir.Attr{}, x)
	}
	return g.New(g.pick(ir.Neg, ir.Abs, ir.Tanh, ir.Sigmoid, ir.Sin, ir.Erf, ir.Tanh), ir.Attr{}, x)
}

// binary combines two values of one shape and keeps the result small.
func (g *graphMaker) binary(x, y *ir.Node) *ir.Node {
	if !g.dt.Float() {
		return g.New(g.pick(ir.Add, ir.Sub, ir.Mul, ir.Max, ir.Min, ir.Mod, ir.Xor), ir.Attr{}, x, y)
	}
	r := g.New(g.pick(ir.Add, ir.Sub, ir.Mul, ir.Max, ir.Min), ir.Attr{}, x, y)
	return g.New(ir.Mul, ir.Attr{}, r, g.Number(g.dt, 0.5))
}

// like finds or makes a value of x's shape: another one, x turned, something broadcast, or new data.
func (g *graphMaker) like(x *ir.Node) *ir.Node {
	for range 4 {
		y := g.any()
		if slices.Equal(y.Shape, x.Shape) {
			return y
		}
		if ir.Size(y.Shape) == ir.Size(x.Shape) {
			return g.New(ir.Reshape, ir.Attr{Shape: x.Shape}, y)
		}
		if n, err := ir.New(ir.Expand, ir.Attr{Shape: x.Shape}, y); err == nil {
			return n
		}
	}
	switch r := len(x.Shape); {
	case r > 0 && g.rng.IntN(2) == 0:
		return g.Repeated(g.dt, g.rng.IntN(r), x.Shape...)
	case r > 1 && x.Shape[r-1] == x.Shape[r-2]:
		return g.Swap(x)
	case g.rng.IntN(3) == 0:
		return g.Number(g.dt, float64(g.rng.IntN(3)))
	}
	return g.Normal(g.dt, x.Shape...)
}

func (g *graphMaker) view(x *ir.Node) *ir.Node {
	r := len(x.Shape)
	switch k := g.rng.IntN(6); {
	case k == 0 && r > 0:
		return g.New(ir.Permute, ir.Attr{Axes: g.rng.Perm(r)}, x)
	case k == 1 && r > 0:
		return g.New(ir.Flip, ir.Attr{Axes: []int{g.rng.IntN(r)}}, x)
	case k == 2 && r > 0:
		var ints []int
		for _, d := range x.Shape {
			start := g.rng.IntN(d + 1)
			ints = append(ints, start, start+g.rng.IntN(d-start+1), 1+g.rng.IntN(2))
		}
		return g.New(ir.Slice, ir.Attr{Ints: ints}, x)
	case k == 3 && r < 4:
		return g.New(ir.Expand, ir.Attr{Shape: append([]int{1 + g.rng.IntN(3)}, x.Shape...)}, x)
	case k == 4 && r > 1:
		return g.New(ir.Reshape, ir.Attr{Shape: []int{ir.Size(x.Shape)}}, x)
	}
	shape := slices.Insert(slices.Clone(x.Shape), g.rng.IntN(r+1), 1)
	if len(shape) > 4 {
		shape = []int{ir.Size(x.Shape)}
	}
	return g.New(ir.Reshape, ir.Attr{Shape: shape}, x)
}

func (g *graphMaker) reduce(x *ir.Node) *ir.Node {
	var axes []int
	for i, d := range x.Shape {
		if d > 0 && g.rng.IntN(2) == 0 {
			axes = append(axes, i)
		}
	}
	op := g.pick(ir.Sum, ir.ReduceMax, ir.ReduceMin, ir.Mean)
	if op == ir.Mean && !g.dt.Float() {
		op = ir.Sum
	}
	r := g.New(op, ir.Attr{Axes: axes}, x)
	if op == ir.Sum && g.dt.Float() {
		r = g.New(ir.Tanh, ir.Attr{}, r)
	}
	if g.rng.IntN(2) == 0 {
		return g.New(ir.Expand, ir.Attr{Shape: x.Shape}, r)
	}
	return r
}

func (g *graphMaker) product(x *ir.Node) *ir.Node {
	r := len(x.Shape)
	if r < 2 {
		x = g.New(ir.Reshape, ir.Attr{Shape: []int{1, ir.Size(x.Shape)}}, x)
		r = 2
	}
	inner := x.Shape[r-1]
	shape := append(slices.Clone(x.Shape[:r-2]), inner, g.length())
	w := g.Normal(g.dt, shape...)
	if r > 2 && g.rng.IntN(2) == 0 { // one weight for all batches
		w = g.New(ir.Expand, ir.Attr{Shape: shape}, g.Normal(g.dt, shape[r-2:]...))
	}
	y := g.New(ir.MatMul, ir.Attr{}, x, w)
	if !g.dt.Float() {
		return y
	}
	return g.New(ir.Mul, ir.Attr{}, y, g.Number(g.dt, 1/math.Sqrt(float64(1+inner))))
}

func (g *graphMaker) row(x *ir.Node) *ir.Node {
	r := len(x.Shape)
	if r == 0 || x.Shape[r-1] == 0 {
		return g.unary(x)
	}
	width := x.Shape[r-1]
	switch g.rng.IntN(3) {
	case 0:
		return g.New(ir.Softmax, ir.Attr{}, x)
	case 1:
		return g.New(ir.RMSNorm, ir.Attr{Float: 0.1}, x, g.Normal(g.dt, width))
	}
	return g.New(ir.LayerNorm, ir.Attr{Float: 0.1}, x, g.Normal(g.dt, width), g.Normal(g.dt, width))
}

package plan

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// An expr is a number that a run knows before it launches anything: a constant of the graph, which may be
// another one in each run, a literal, or arithmetic on those. Constant folding turns values into exprs, so
// that a plan is right for the numbers of later runs, too.
type expr struct {
	dtype dtype.Type
	input int       // which constant of the walk, or literal, or computed
	value ir.Scalar // of a literal
	op    ir.Op     // of a computed one
	args  [2]int    // earlier exprs
}

const (
	literal  = -1
	computed = -2
)

// scalar returns the index of an expr, an old one if it is equal.
func (g *graph) scalar(e expr) int {
	i, ok := g.places[e]
	if !ok {
		i = len(g.scalars)
		g.scalars = append(g.scalars, e)
		g.places[e] = i
	}
	return i
}

// literal returns the number that v is in every run.
func (g *graph) literal(v int) (float64, bool) {
	x := &g.values[v]
	if x.kind != scalar || !x.dtype.Float() {
		return 0, false
	}
	e := &g.scalars[x.index]
	return e.value.F, e.input == literal
}

// evalScalars computes every expr. consts are those of the walk; out has a place for each expr.
func evalScalars(exprs []expr, consts, out []ir.Scalar) {
	for i := range exprs {
		switch e := &exprs[i]; e.input {
		case literal:
			out[i] = e.value
		case computed:
			f := scalarOps[e.op](out[e.args[0]].F, out[e.args[1]].F)
			if e.dtype == dtype.F32 {
				f = float64(float32(f))
			}
			out[i] = ir.Scalar{F: f}
		default:
			out[i] = consts[e.input]
		}
	}
}

// scalarOps are the ops that are folded, all exact in float64 so that one rounding to F32 gives what a kernel
// gives. A unary op ignores its second argument.
var scalarOps = map[ir.Op]func(x, y float64) float64{
	ir.Add:   func(x, y float64) float64 { return x + y },
	ir.Sub:   func(x, y float64) float64 { return x - y },
	ir.Mul:   func(x, y float64) float64 { return x * y },
	ir.Div:   func(x, y float64) float64 { return x / y },
	ir.Neg:   func(x, _ float64) float64 { return -x },
	ir.Abs:   func(x, _ float64) float64 { return math.Abs(x) },
	ir.Recip: func(x, _ float64) float64 { return 1 / x },
	ir.Sqrt:  func(x, _ float64) float64 { return math.Sqrt(x) },
}

// simplify finds a cheaper equal of a mapped value. Only what is exact for every operand is done: x·0 is not
// 0 for NaN, and x+0 is not x for -0.
func (g *graph) simplify(v *value) (int, bool) {
	if i, ok := g.fold(v); ok {
		return i, true
	}
	switch v.op {
	case ir.Cast:
		if g.values[v.args[0]].dtype == v.dtype {
			return v.args[0], true
		}
	case ir.Mul:
		for i, a := range v.args {
			if f, ok := g.literal(a); ok && f == 1 {
				return v.args[1-i], true
			}
		}
	case ir.Div:
		if f, ok := g.literal(v.args[1]); ok && f == 1 {
			return v.args[0], true
		}
	case ir.Pow:
		f, ok := g.literal(v.args[1])
		switch {
		case ok && f == 1:
			return v.args[0], true
		case ok && f == 2:
			return g.elementwise(value{op: ir.Mul, dtype: v.dtype, shape: v.shape, args: []int{v.args[0], v.args[0]}}), true
		case ok && f == -1:
			return g.elementwise(value{op: ir.Recip, dtype: v.dtype, shape: v.shape, args: v.args[:1]}), true
		}
	}
	return 0, false
}

// fold computes an op on numbers ahead of the launches.
func (g *graph) fold(v *value) (int, bool) {
	if scalarOps[v.op] == nil || v.dtype != dtype.F32 && v.dtype != dtype.F64 {
		return 0, false
	}
	e := expr{dtype: v.dtype, input: computed, op: v.op}
	for i, a := range v.args {
		if g.values[a].kind != scalar {
			return 0, false
		}
		e.args[i] = g.values[a].index
	}
	return g.add(value{kind: scalar, dtype: v.dtype, shape: v.shape, index: g.scalar(e)}), true
}

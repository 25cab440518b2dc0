package cpu

import (
	"fmt"
	"math"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/ref"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Every elementwise op of the table, on every dtype that the op takes, over special values and over ordinary
// ones.
func TestElementwiseOps(t *testing.T) {
	inf := math.Inf(1)
	floats := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -2.5, 3.5, inf, -inf, math.NaN(), 1e-3, 80, -80, 1e30, -7, 2}
	for _, row := range ir.Rows() {
		if row.Family != ir.FamilyElementwise || row.Op == ir.Cast {
			continue
		}
		for _, typ := range dtype.All() {
			values := floats
			if !typ.Float() {
				low, high := ir.IntRange(typ)
				values = []float64{float64(low), float64(high), 0, 1, 2, 7, -1, -7, 1 << 40}
			}
			args, result, ok := elementwiseArgs(row.Op, typ)
			if !ok {
				continue
			}
			t.Run(row.Name+"/"+typ.String(), func(t *testing.T) {
				b := newBuilder(backend.Map, 1)
				n := len(values)
				shape := []int{n * n * 3}
				in := backend.Inst{Op: row.Op, DType: result, Shape: shape}
				for i, a := range args {
					in.Args = append(in.Args, b.fill(a, shape, func(j int) float64 {
						if a != typ { // a condition
							return float64(j & 1)
						}
						// All pairs; the last third is ordinary numbers.
						v := values[j%n]
						if i%2 == 1 {
							v = values[j/n%n]
						}
						if j >= 2*n*n && typ.Float() {
							v = b.rng.NormFloat64() * 3
						}
						return v
					}))
				}
				b.out(b.inst(in))
				b.checkEach(t, 4e-6)
			})
		}
	}
}

func TestCasts(t *testing.T) {
	for _, from := range dtype.All() {
		for _, to := range dtype.All() {
			t.Run(fmt.Sprint(from, to), func(t *testing.T) {
				values := []float64{0, 1, 2, 100, 255}
				if from != dtype.Bool { // integers that do not have the number get the nearest
					values = append(values, -1, -128, -30000, 1e5, math.MaxInt32, math.MinInt32)
				}
				if from.Float() {
					values = append(values, 0.5, -0.5, 1.7, -1.7, 300, 1e10, -1e10, 1e20, -1e20, math.Inf(1), math.Inf(-1), math.NaN(), 65520)
				}
				b := newBuilder(backend.Map, 1)
				shape := []int{len(values)}
				x := b.fill(from, shape, func(i int) float64 { return values[i] })
				r := b.inst(backend.Inst{Op: ir.Cast, Attr: ir.Attr{DType: to}, DType: to, Shape: shape, Args: []backend.Ref{x}})
				b.out(r)
				if to.Float() { // what a cast lost stays lost
					b.out(b.inst(backend.Inst{Op: ir.Cast, Attr: ir.Attr{DType: dtype.F32}, DType: dtype.F32, Shape: shape, Args: []backend.Ref{r}}))
				}
				b.checkEach(t, 0)
			})
		}
	}
}

// elementwiseArgs returns the dtypes of an op's operands and result when its main operands have type t.
func elementwiseArgs(op ir.Op, t dtype.Type) (args []dtype.Type, result dtype.Type, ok bool) {
	leaf := func(t dtype.Type) *ir.Node {
		return ir.NewLeaf(nil, t, &ir.Data{Layout: new(ir.Contiguous([]int{2}))}, "")
	}
	for _, try := range [][]dtype.Type{{t}, {t, t}, {dtype.Bool, t, t}} {
		var src []*ir.Node
		for _, a := range try {
			src = append(src, leaf(a))
		}
		if n, err := ir.New(op, ir.Attr{}, src...); err == nil {
			return try, n.DType, true
		}
	}
	return nil, dtype.Invalid, false
}

// checkEach is check with a tolerance relative to each element, because the elements differ by many orders.
func (b *builder) checkEach(t *testing.T, tolerance float64) {
	t.Helper()
	exact, err := ref.Open()
	if err != nil {
		t.Fatal(err)
	}
	want, err := b.run(exact)
	if err != nil {
		t.Fatal(err)
	}
	be := New(2)
	defer be.Close()
	got, err := b.run(be)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range b.g.Outputs {
		limit := tolerance
		switch o.DType {
		case dtype.F16:
			limit = 0x1p-9
		case dtype.BF16:
			limit = 0x1p-7
		}
		for j := range ir.Size(o.Shape) {
			x, y := element(got[i], o.DType, j), element(want[i], o.DType, j)
			if x == y || x != x && y != y || o.DType.Float() && math.Abs(x-y) <= limit*math.Abs(y)+limit*1e-6 {
				continue
			}
			var args []float64
			for _, in := range b.g.Inputs {
				args = append(args, element(b.data[in.Buf], in.DType, j))
			}
			t.Fatalf("%v of %v: got %v, want %v", o.DType, args, x, y)
		}
	}
}

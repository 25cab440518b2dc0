package tensor_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	. "github.com/mcs-notebook/mcs/engine/tensor"
)

// A complexCase is a call with operands in quarters, and projections of what NumPy or PyTorch answers: a
// shape, whether it is complex, and two sums of each part (tests/peers/complex_cases.py).
type complexCase struct {
	Op   string
	Args []struct {
		Shape []int
		Parts [][]int
	}
}

func (c *complexCase) operands(dt dtype.Type) (list []Tensor) {
	for _, a := range c.Args {
		x := From(a.Parts[0], a.Shape...).Cast(dt).Div(4)
		if len(a.Shape) == 0 {
			x = x.Reshape()
		}
		if len(a.Parts) == 2 {
			x = Complex(x, From(a.Parts[1], a.Shape...).Cast(dt).Div(4).Reshape(x.Shape()...))
		}
		list = append(list, x)
	}
	return append(list, Tensor{})
}

// complexAgrees compares a result with projections, in units of what the elements add up to.
func complexAgrees(got Tensor, want *[6]any, limit float64) error {
	var shape []int
	for _, n := range want[0].([]any) {
		shape = append(shape, int(n.(float64)))
	}
	if complex := want[1].(bool); !slices.Equal(got.Shape(), shape) || got.DType().Complex() != complex {
		return fmt.Errorf("got %s, want %v, complex: %v", got.Brief(), shape, complex)
	}
	var sums [4]float64
	size := 1.
	for i, z := range got.Complex128s() {
		wave := math.Cos(float64(i)*0.7 + 0.3)
		for k, x := range []float64{real(z), imag(z)} {
			switch { // as the fixture has them
			case math.IsNaN(x):
				x = 77
			case math.IsInf(x, 0):
				x = math.Copysign(1000, x)
			}
			sums[2*k] += x
			sums[2*k+1] += x * wave
			size += math.Abs(x)
		}
	}
	for k, have := range sums {
		if w := want[k+2].(float64); math.Abs(have-w) > limit*size {
			return fmt.Errorf("got the sums %v, want %v", sums, want[2:])
		}
	}
	return nil
}

const complexNumber = 0.5 - 2i

// complexValues says how a case's result is computed here, of z and, where there are two operands, w.
var complexValues = map[string]func(z, w Tensor) Tensor{
	"add": func(z, w Tensor) Tensor { return z.Add(w) }, "sub": func(z, w Tensor) Tensor { return z.Sub(w) },
	"mul": func(z, w Tensor) Tensor { return z.Mul(w) }, "div": func(z, w Tensor) Tensor { return z.Div(w) },
	"add real": func(z, x Tensor) Tensor { return z.Add(x) }, "mul real": func(z, x Tensor) Tensor { return z.Mul(x) },
	"div real": func(z, x Tensor) Tensor { return z.Div(x) }, "real sub": func(x, z Tensor) Tensor { return x.Sub(z) },
	"real div": func(x, z Tensor) Tensor { return x.Div(z) }, "pow": func(z, w Tensor) Tensor { return z.Pow(w) },
	"real pow": func(x, z Tensor) Tensor { return x.Pow(z) },
	"eq":       func(z, w Tensor) Tensor { return z.Eq(w) }, "ne": func(z, w Tensor) Tensor { return z.Ne(w.Real()) },
	"mul number":      func(z, _ Tensor) Tensor { return z.Mul(complexNumber) },
	"sub from number": func(z, _ Tensor) Tensor { return Sub(complexNumber, z) },
	"div number":      func(z, _ Tensor) Tensor { return z.Div(complex64(complexNumber)) },
	"real mul number": func(x, _ Tensor) Tensor { return x.Mul(complexNumber) },
	"pow number":      func(z, _ Tensor) Tensor { return z.Pow(2.5) }, "pow 3": func(z, _ Tensor) Tensor { return z.Pow(3) },
	"pow -1": func(z, _ Tensor) Tensor { return z.Pow(-1) },
	"neg":    func(z, _ Tensor) Tensor { return z.Neg() }, "conj": func(z, _ Tensor) Tensor { return z.Conj() },
	"abs": func(z, _ Tensor) Tensor { return z.Abs() }, "angle": func(z, _ Tensor) Tensor { return z.Angle() },
	"sign": func(z, _ Tensor) Tensor { return z.Sign() }, "recip": func(z, _ Tensor) Tensor { return z.Recip() },
	"square": func(z, _ Tensor) Tensor { return z.Square() }, "exp": func(z, _ Tensor) Tensor { return z.Exp() },
	"log": func(z, _ Tensor) Tensor { return z.Log() }, "sqrt": func(z, _ Tensor) Tensor { return z.Sqrt() },
	"sin": func(z, _ Tensor) Tensor { return z.Sin() }, "cos": func(z, _ Tensor) Tensor { return z.Cos() },
	"tan": func(z, _ Tensor) Tensor { return z.Tan() }, "real": func(z, _ Tensor) Tensor { return z.Real() },
	"imag": func(z, _ Tensor) Tensor { return z.Imag() }, "sum": func(z, _ Tensor) Tensor { return z.Sum() },
	"sum 0": func(z, _ Tensor) Tensor { return z.Sum(0) }, "mean": func(z, _ Tensor) Tensor { return z.Mean(0, 2) },
	"prod": func(z, _ Tensor) Tensor { return z.Prod(1) }, "cumsum": func(z, _ Tensor) Tensor { return z.CumSum(1) },
	"cumprod": func(z, _ Tensor) Tensor { return z.CumProd(1) }, "var": func(z, _ Tensor) Tensor { return z.Var(0) },
	"std": func(z, _ Tensor) Tensor { return z.Std() }, "norm": func(z, _ Tensor) Tensor { return z.Norm(-1) },
	"norm all": func(z, _ Tensor) Tensor { return z.Norm() }, "matmul": func(z, w Tensor) Tensor { return z.MatMul(w) },
	"matmul real": func(z, x Tensor) Tensor { return z.MatMul(x) },
	"real matmul": func(z, x Tensor) Tensor { return z.Real().MatMul(x.Mul(complexNumber)) },
	"einsum":      einsum, "vecdot": func(z, w Tensor) Tensor { return z.VecDot(w, -1) }, "outer": Tensor.Outer, "kron": Tensor.Kron,
	"trace":   func(z, _ Tensor) Tensor { return z.Trace() },
	"reshape": func(z, _ Tensor) Tensor { return z.Reshape(-1) }, "permute": func(z, _ Tensor) Tensor { return z.Permute(2, 0, 1) },
	"flip": func(z, _ Tensor) Tensor { return z.Flip(0) }, "slice": func(z, _ Tensor) Tensor { return z.Slice(1, 1, 5) },
	"index": func(z, _ Tensor) Tensor { return z.I("..., 0") }, "put": func(z, _ Tensor) Tensor { return z.SetI("0", complexNumber) },
	"roll": func(z, _ Tensor) Tensor { return z.Roll(1, 2) }, "pad": func(z, _ Tensor) Tensor { return z.Pad(0, 1, 2, 3) },
	"tile": func(z, _ Tensor) Tensor { return z.Tile(2) }, "repeat": func(z, _ Tensor) Tensor { return z.Repeat(0, 2) },
	"triu": func(z, _ Tensor) Tensor { return z.Triu(0) }, "take": func(z, _ Tensor) Tensor { return z.Take(From([]int{0, -1, 0}), 1) },
	"concat": func(z, x Tensor) Tensor { return Concat([]Tensor{z.Flatten(), x.Flatten()}, 0) },
	"where":  func(z, x Tensor) Tensor { return Where(z.Real().Gt(0), z, x) },
	"any":    func(z, _ Tensor) Tensor { return z.Any(0) }, "isfinite": func(z, _ Tensor) Tensor { return z.Div(z).IsFinite() },
}

// einsum takes batches by the letter b, as it has no dots.
func einsum(z, w Tensor) Tensor {
	switch {
	case z.Rank() == 2:
		return Einsum("ij,jk->ki", []Tensor{z, w})
	case w.Rank() == 2:
		return Einsum("bij,jk->bki", []Tensor{z, w})
	}
	return Einsum("bij,bjk->bki", []Tensor{z, w})
}

// complexLosses says whose gradient a case has.
var complexLosses = map[string]func(z, w Tensor) Tensor{
	"mul": func(z, w Tensor) Tensor { y := z.Mul(w); return y.Real().Sum().Add(y.Imag().Sum().Mul(2)) },
	"div": func(z, w Tensor) Tensor { return z.Div(w).Abs().Sum() }, "abs": func(z, w Tensor) Tensor { return z.Abs().Mul(w.Abs()).Sum() },
	"angle": func(z, w Tensor) Tensor { return z.Angle().Mul(w.Real()).Sum() }, "conj": func(z, w Tensor) Tensor { return z.Conj().Mul(w).Imag().Square().Sum() },
	"exp": func(z, w Tensor) Tensor { return z.Exp().Mul(w).Real().Sum() }, "log": func(z, w Tensor) Tensor { return z.Log().Div(w).Imag().Sum() },
	"sqrt": func(z, w Tensor) Tensor { return z.Sqrt().Mul(w).Real().Sum() }, "sin": func(z, w Tensor) Tensor { return z.Sin().Mul(w.Cos()).Imag().Sum() },
	"pow": func(z, w Tensor) Tensor { return z.Pow(w).Real().Sum() }, "recip": func(z, w Tensor) Tensor { return Div(1, z.Add(w.Mul(8))).Abs().Sum() },
	"matmul": func(z, w Tensor) Tensor { return z.MatMul(w).Abs().Square().Sum() }, "prod": func(z, w Tensor) Tensor { return z.Prod(0).Mul(w.Sum()).Real().Sum() },
	"real": func(z, w Tensor) Tensor { return z.Real().Mul(w.Real()).Sum() },
	"sum":  func(z, w Tensor) Tensor { return z.Sum(0).Sub(w.Mean(1).Mul(2i)).Abs().Sum() },
	"shape": func(z, w Tensor) Tensor {
		return Concat([]Tensor{z.T(), w.Flip(0)}, 1).Slice(1, 1, 9).Reshape(-1).CumSum(0).Abs().Sum()
	},
	"sgn":    func(z, w Tensor) Tensor { return z.Sign().Mul(w).Real().Sum() },
	"number": func(z, w Tensor) Tensor { return Sub(2i, z).Div(w.Real().Add(5)).Mul(1 + 1i).Abs().Sum() },
}

// TestComplexPeers holds values against NumPy, and gradients against PyTorch.
func TestComplexPeers(t *testing.T) {
	f, err := os.Open("testdata/complex.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var cases struct {
		Values []struct {
			complexCase
			Want [6]any
		}
		Gradients []struct {
			complexCase
			Want []*[6]any
		}
		Special []map[string][2]string
	}
	if err := json.NewDecoder(z).Decode(&cases); err != nil {
		t.Fatal(err)
	}
	if len(cases.Values) < 500 || len(cases.Gradients) < 100 || len(cases.Special) < 36 {
		t.Fatalf("got %d values, %d gradients and %d special ones, want 500, 100 and 36", len(cases.Values), len(cases.Gradients), len(cases.Special))
	}
	for i, c := range cases.Values {
		for dt, limit := range map[dtype.Type]float64{dtype.F64: 1e-12, dtype.F32: 3e-5} {
			in := c.operands(dt)
			if err := complexAgrees(complexValues[c.Op](in[0], in[1]), &c.Want, limit); err != nil {
				t.Errorf("case %d, %s of %s: %v", i, c.Op, in[0].Brief(), err)
			}
		}
	}
	for i, c := range cases.Gradients {
		in := c.operands(dtype.F64)
		var reached []Tensor
		for k, w := range c.Want {
			if w != nil {
				reached = append(reached, in[k])
			}
		}
		for k, g := range Grad(complexLosses[c.Op](in[0], in[1]), reached...) {
			if err := complexAgrees(g, c.Want[k], 1e-11); err != nil {
				t.Errorf("gradient %d, operand %d of %s: %v", i, k, c.Op, err)
			}
		}
	}
	for _, c := range cases.Special {
		number := func(s [2]string) complex128 {
			re, err1 := strconv.ParseFloat(s[0], 64)
			im, err2 := strconv.ParseFloat(s[1], 64)
			if err1 != nil || err2 != nil {
				t.Fatal(s)
			}
			return complex(re, im)
		}
		z := FromAs(dtype.C128, number(c["z"]))
		for op, y := range map[string]Tensor{"abs": z.Abs(), "angle": z.Angle(), "square": z.Square(), "sqrt": z.Sqrt()} {
			got, want := y.Complex128s()[0], number(c[op])
			same := func(a, b float64) bool {
				return math.Abs(a-b) < 1e-12 || a == b && math.Signbit(a) == math.Signbit(b) || a != a && b != b
			}
			if !same(real(got), real(want)) || !same(imag(got), imag(want)) {
				t.Errorf("%s of %v: got %v, want %v", op, c["z"], got, want)
			}
		}
	}
}

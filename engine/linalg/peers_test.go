package linalg_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/linalg"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A peerCase is a call, with matrices in quarters, and projections of what NumPy or PyTorch answers: a shape
// and two sums (tests/peers/linalg_cases.py).
type peerCase struct {
	Op   string
	Args [][2][]int // shape, elements
	Want []*[3]any
}

func (c *peerCase) tensors(dt dtype.Type) []Tensor {
	args := make([]Tensor, len(c.Args))
	for i, a := range c.Args {
		args[i] = tensor.From(a[1], a[0]...).Cast(dt).Div(4)
	}
	return args
}

// agrees compares a result with projections, in units of what the elements add up to.
func agrees(got Tensor, want *[3]any, limit float64) error {
	var shape []int
	for _, n := range want[0].([]any) {
		shape = append(shape, int(n.(float64)))
	}
	if !slices.Equal(got.Shape(), shape) {
		return fmt.Errorf("got the shape %v, want %v", got.Shape(), shape)
	}
	sum, wave, size := 0., 0., 1.
	for i, x := range got.Float64s() {
		switch { // as the fixture has them
		case math.IsNaN(x):
			x = 77
		case math.IsInf(x, 0):
			x = math.Copysign(1000, x)
		}
		sum += x
		wave += x * math.Cos(float64(i)*0.7+0.3)
		size += math.Abs(x)
	}
	for i, have := range []float64{sum, wave} {
		if w := want[i+1].(float64); !(math.Abs(have-w) <= limit*size || have == w) {
			return fmt.Errorf("got the sums %v and %v, want %v", sum, wave, want[1:])
		}
	}
	return nil
}

func projector(q Tensor) Tensor { return q.MatMul(q.Transpose()) }

// values says how a case's results are computed here.
var values = map[string]func(a Tensor, more ...Tensor) []Tensor{
	"solve": func(a Tensor, b ...Tensor) []Tensor { return []Tensor{linalg.Solve(a, b[0])} },
	"inv":   func(a Tensor, _ ...Tensor) []Tensor { return []Tensor{linalg.Inv(a)} },
	"det":   func(a Tensor, _ ...Tensor) []Tensor { return []Tensor{linalg.Det(a)} },
	"slogdet": func(a Tensor, _ ...Tensor) []Tensor {
		sign, log := linalg.Slogdet(a)
		return []Tensor{sign, log}
	},
	"cholesky": func(a Tensor, _ ...Tensor) []Tensor {
		return []Tensor{linalg.Cholesky(a.MatMul(a.Transpose()).Add(tensor.Eye(a.Len(-1)).Cast(a.DType())))}
	},
	"eigh": func(a Tensor, _ ...Tensor) []Tensor {
		w, _ := linalg.Eigh(a.Add(a.Transpose()))
		return []Tensor{w}
	},
	"eig_vals": func(a Tensor, _ ...Tensor) []Tensor {
		z := linalg.EigVals(a)
		return []Tensor{z.Sum(-1).Real(), z.Square().Sum(-1).Real(), z.Square().Mul(z).Sum(-1).Real()}
	},
	"matrix_power": func(a Tensor, _ ...Tensor) []Tensor {
		return []Tensor{linalg.MatrixPower(a, 3), linalg.MatrixPower(a, 0)}
	},
	"expm": func(a Tensor, _ ...Tensor) []Tensor { return []Tensor{linalg.Expm(a)} },
	"cond1": func(a Tensor, _ ...Tensor) []Tensor {
		if a.Size() == 0 {
			return []Tensor{tensor.Zeros(a.Shape()[:a.Rank()-2]...)}
		}
		return []Tensor{linalg.Cond(a, 1)}
	},
	"qr": func(a Tensor, _ ...Tensor) []Tensor { q, r := linalg.QR(a); return []Tensor{q, r} },
	"full_qr": func(a Tensor, _ ...Tensor) []Tensor {
		q, r := linalg.FullQR(a)
		return []Tensor{q, r}
	},
	"lu": func(a Tensor, _ ...Tensor) []Tensor {
		f := linalg.LU(a)
		return []Tensor{f.P(), f.L, f.U}
	},
	"svd": func(a Tensor, _ ...Tensor) []Tensor { return []Tensor{linalg.SingularValues(a)} },
	"full_svd": func(a Tensor, _ ...Tensor) []Tensor {
		u, _, vt := linalg.FullSVD(a)
		return []Tensor{projector(u), tensor.From(vt.Shape())}
	},
	"pinv":  func(a Tensor, _ ...Tensor) []Tensor { return []Tensor{linalg.Pinv(a, 1e-10)} },
	"rank":  func(a Tensor, _ ...Tensor) []Tensor { return []Tensor{linalg.MatrixRank(a, 1e-10)} },
	"lstsq": func(a Tensor, b ...Tensor) []Tensor { return []Tensor{linalg.Lstsq(a, b[0], 1e-10)} },
	"norms": func(a Tensor, _ ...Tensor) (list []Tensor) {
		orders := []float64{0, 1, 2, 3, 0.5}
		if a.Size() > 0 {
			orders = append(orders, math.Inf(1), math.Inf(-1))
		}
		for _, order := range orders {
			list = append(list, linalg.Norm(a, order))
		}
		return list
	},
	"matrix_norms": func(a Tensor, _ ...Tensor) (list []Tensor) {
		for _, order := range []float64{1, -1, math.Inf(1), math.Inf(-1), 2, -2} {
			list = append(list, linalg.MatrixNorm(a, order))
		}
		return append(list, linalg.NuclearNorm(a), linalg.Norm(a, 2, -2, -1))
	},
}

// losses says whose gradient a case has.
var losses = map[string]func(a, b Tensor) Tensor{
	"solve":    func(a, b Tensor) Tensor { return linalg.Solve(a, b).Sum() },
	"inv":      func(a, b Tensor) Tensor { return linalg.Inv(a).Mul(b).Sum() },
	"det":      func(a, _ Tensor) Tensor { return linalg.Det(a).Sum() },
	"slogdet":  func(a, _ Tensor) Tensor { _, log := linalg.Slogdet(a); return log.Sum() },
	"cholesky": func(a, b Tensor) Tensor { return values["cholesky"](a)[0].Mul(b).Sum() },
	"qr":       func(a, b Tensor) Tensor { q, r := linalg.QR(a); return q.Mul(b).Sum().Add(r.Sum()) },
	"lu":       func(a, b Tensor) Tensor { f := linalg.LU(a); return f.L.Mul(b).Sum().Add(f.U.Sum()) },
	"svd":      func(a, b Tensor) Tensor { u, s, _ := linalg.SVD(a); return u.Abs().Mul(b).Sum().Add(s.Square().Sum()) },
	"eigh": func(a, b Tensor) Tensor {
		w, v := linalg.Eigh(a.Add(a.Transpose()))
		return v.Abs().Mul(b).Sum().Add(w.Pow(3).Sum())
	},
	"pinv":         func(a, b Tensor) Tensor { return linalg.Pinv(a, linalg.Default).Mul(b.Transpose()).Sum() },
	"lstsq":        func(a, b Tensor) Tensor { return linalg.Lstsq(a, b, linalg.Default).Sum() },
	"expm":         func(a, b Tensor) Tensor { return linalg.Expm(a.Div(4)).Mul(b).Sum() },
	"matrix_power": func(a, b Tensor) Tensor { return linalg.MatrixPower(a, 3).Mul(b).Sum() },
	"nuclear":      func(a, _ Tensor) Tensor { return linalg.NuclearNorm(a).Sum() },
	"norm":         func(a, _ Tensor) Tensor { return linalg.Norm(a, 3) },
	"cond":         func(a, _ Tensor) Tensor { return linalg.Cond(a, 2).Sum() },
	"cross": func(a, b Tensor) Tensor {
		three := func(x Tensor) Tensor { return x.Slice(-1, 0, 3).Slice(-2, 0, 3) }
		return linalg.Cross(three(a), three(b)).Square().Sum()
	},
}

// TestPeers holds values against NumPy and gradients against PyTorch.
func TestPeers(t *testing.T) {
	cases := peerCases(t)
	for i, c := range cases.Values {
		args := c.tensors(dtype.F64)
		got := values[c.Op](args[0], args[1:]...)
		if len(got) != len(c.Want) {
			t.Fatalf("case %d, %s: got %d results, want %d", i, c.Op, len(got), len(c.Want))
		}
		tensor.Eval(got...)
		for k, w := range c.Want {
			if err := agrees(got[k], w, 1e-9); err != nil {
				t.Errorf("case %d, result %d of %s of %v: %v", i, k, c.Op, args[0], err)
			}
		}
	}
	for i, c := range cases.Gradients {
		args := c.tensors(dtype.F64)
		for k, w := range c.Want {
			if w == nil {
				continue
			}
			if err := agrees(tensor.Grad(losses[c.Op](args[0], args[1]), args[k])[0], w, 1e-9); err != nil {
				t.Errorf("gradient %d, operand %d of %s of %v: %v", i, k, c.Op, args[0], err)
			}
		}
	}
}

// peerCases reads the fixture.
func peerCases(t *testing.T) (cases struct{ Values, Gradients []*peerCase }) {
	f, err := os.Open("testdata/peers.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(&cases); err != nil {
		t.Fatal(err)
	}
	if len(cases.Values) < 2000 || len(cases.Gradients) < 80 {
		t.Fatalf("got %d values and %d gradients, want 2000 and 80", len(cases.Values), len(cases.Gradients))
	}
	return cases
}

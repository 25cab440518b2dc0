package tensor

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime/debug"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

var calls = flag.Int("calls", 4000, "how many random calls TestCallsThatCannotBe makes")

// Whatever a method is called with, it returns, or it panics with an *Error that names an operation. The
// calls are random: shapes with zeros, of any rank, all dtypes, axes that do not exist, numbers that do not
// fit.
func TestCallsThatCannotBe(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	typ := reflect.TypeFor[Tensor]()
	skipped := map[string]bool{"To": true, "TensorOp": true, "Format": true} // what fmt calls
	refused := 0
	for i := range *calls {
		m := typ.Method(i % typ.NumMethod())
		if skipped[m.Name] {
			continue
		}
		args := []reflect.Value{reflect.ValueOf(oddTensor(rng))}
		for j := 1; j < m.Type.NumIn(); j++ {
			in := m.Type.In(j)
			if m.Type.IsVariadic() && j == m.Type.NumIn()-1 {
				for range rng.IntN(4) {
					args = append(args, oddValue(rng, in.Elem()))
				}
				continue
			}
			args = append(args, oddValue(rng, in))
		}
		if call(t, m.Name, m.Func, args) != nil {
			refused++
		}
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}

// The same for the package's functions.
func TestFunctionsThatCannotBe(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	functions := map[string]any{
		"Attention": Attention, "Full": Full, "Zeros": Zeros, "Range": Range, "Arange": Arange, "Linspace": Linspace,
		"Eye": Eye, "FromBytes": FromBytes, "Einsum": Einsum, "Grad": Grad, "Linear": Linear, "LoRALinear": LoRALinear,
		"CrossEntropy": CrossEntropy, "Where": Where, "Rand": Rand, "Randn": Randn, "RandInt": RandInt, "Dropout": Dropout,
		"Categorical": Categorical, "MaxAbsDiff": MaxAbsDiff, "AllClose": AllClose, "SumSquares": SumSquares,
		"MeanSquares": MeanSquares, "BinaryCrossEntropy": BinaryCrossEntropy, "KLDivergence": KLDivergence,
		"CosineSimilarity": CosineSimilarity, "RandPerm": RandPerm, "Diag": Diag, "Meshgrid": Meshgrid, "Concat": Concat, "Stack": Stack, "FullLike": FullLike, "AdamW": AdamW, "AdamW8": AdamW8, "AdamWMasters": AdamWMasters, "AdamW8Masters": AdamW8Masters, "FirstNonFinite": FirstNonFinite,
	}
	for name, f := range functions {
		v := reflect.ValueOf(f)
		for range *calls / len(functions) / 4 {
			var args []reflect.Value
			for j := range v.Type().NumIn() {
				in := v.Type().In(j)
				if v.Type().IsVariadic() && j == v.Type().NumIn()-1 {
					for range rng.IntN(4) {
						args = append(args, oddValue(rng, in.Elem()))
					}
					continue
				}
				args = append(args, oddValue(rng, in))
			}
			call(t, name, v, args)
		}
	}
}

// call calls f, evaluates what it returns, and returns the *Error that it panicked with.
func call(t *testing.T, name string, f reflect.Value, args []reflect.Value) (refused *Error) {
	t.Helper()
	describe := func() string {
		text := name + "("
		for _, a := range args {
			if x, ok := a.Interface().(Tensor); ok && !x.IsNone() {
				text += fmt.Sprintf("%v%v, ", x.DType(), x.Shape())
				continue
			}
			text += fmt.Sprintf("%v, ", a.Interface())
		}
		return text + ")"
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Error:
			if refused = r; r.Op == "" || r.Msg == "" {
				t.Errorf("%s: got the error %q, want one that names the operation and what is wrong", describe(), r)
			}
		default:
			t.Errorf("%s: panicked with %v\n%s", describe(), r, debug.Stack())
		}
	}()
	for _, out := range f.Call(args) {
		switch x := out.Interface().(type) {
		case Tensor:
			if !x.IsNone() && x.Size() < 1<<16 {
				_ = x.Eval().String()
			}
		case []Tensor:
			for _, y := range x {
				if y.Size() < 1<<16 {
					_ = y.Eval().String()
				}
			}
		}
	}
	return nil
}

var oddShapes = [][]int{{}, {0}, {1}, {3}, {2, 3}, {3, 2}, {0, 3}, {2, 0, 3}, {1, 3, 3}, {2, 2, 3, 4}, {1, 1, 1, 1, 2}}

func oddTensor(rng *rand.Rand) Tensor {
	if rng.IntN(40) == 0 {
		return Tensor{}
	}
	all := dtype.All()
	dt := all[rng.IntN(len(all)-1)] // without f64, which is for ref
	x := Rand(oddShapes[rng.IntN(len(oddShapes))]...).Mul(4).Sub(1)
	if rng.IntN(2) == 0 {
		return x
	}
	return x.Cast(dt)
}

func oddValue(rng *rand.Rand, t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch {
	case t == reflect.TypeFor[Tensor]():
		v.Set(reflect.ValueOf(oddTensor(rng)))
	case t == reflect.TypeFor[dtype.Type]():
		v.SetUint(uint64(rng.IntN(10)))
	case t.Kind() == reflect.Int:
		v.SetInt(int64([]int{0, 1, 2, 3, -1, -2, -5, 7, 1 << 40, -1 << 63}[rng.IntN(10)]))
	case t.Kind() == reflect.Float64:
		v.SetFloat([]float64{0, 1, -1, 0.5, 1e300, 1e-9}[rng.IntN(6)])
	case t.Kind() == reflect.Bool:
		v.SetBool(rng.IntN(2) == 0)
	case t.Kind() == reflect.String:
		v.SetString([]string{"", "ij,jk->ik", "ii->i", "i j", "ij->", "...i,i", "ij,jk->", "->", ",", "IJ->JI"}[rng.IntN(10)])
	case t.Kind() == reflect.Slice:
		for range rng.IntN(4) {
			v.Set(reflect.Append(v, oddValue(rng, t.Elem())))
		}
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() && rng.IntN(2) == 0 {
				v.Field(i).Set(oddValue(rng, t.Field(i).Type))
			}
		}
	case t.Kind() == reflect.Interface: // an operand
		if rng.IntN(2) == 0 {
			v.Set(reflect.ValueOf([]any{0, 1, -1, 2.5, int64(1) << 40, true, "text", uint8(3)}[rng.IntN(8)]))
		} else {
			v.Set(reflect.ValueOf(oddTensor(rng)))
		}
	case t.Kind() == reflect.Uint8:
		v.SetUint(uint64(rng.IntN(256)))
	}
	return v
}

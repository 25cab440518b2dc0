package tensor_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	. "github.com/mcs-notebook/mcs/engine/tensor"
)

// What holds tensors, and changes what they hold, takes both parts.
func TestComplexHandles(t *testing.T) {
	z := From([]complex64{1 + 2i, -3i}).Named("z").Param()
	if !z.IsParam() || !z.Real().IsParam() || z.Name() != "z" {
		t.Errorf("got %v, want a parameter z", z)
	}
	before := z.Snapshot()
	z.Set(z.Mul(1i).Detach())
	if got := z.Complex64s(); got[0] != -2+1i || got[1] != 3 || !z.IsParam() {
		t.Errorf("got %v after Set, want [(-2+1i) (3+0i)]", got)
	}
	if !z.Restore(before) || z.Complex128s()[0] != 1+2i || z.Restore(before) {
		t.Errorf("got %v, want the restored value", z)
	}
	f := Compile(func(x ...Tensor) []Tensor {
		y := z.Mul(x[0]) // the parameter is read by its handle
		return append([]Tensor{y.Abs().Sum(), y.Real()}, Grad(y.Abs().Sum(), z)[0].Imag())
	})
	for range 3 {
		y := f(From([]float32{2, 1}))
		if got := y[1].Floats(); got[0] != 2 || len(y) != 3 || y[2].Floats()[1] != -1 {
			t.Errorf("got %v and %v of a compiled function", got, y[2])
		}
	}
	if err := Try(func() { f(z) }); err == nil || err.Error() != "compile: got z c64[2], want real numbers: Real, Imag, Abs and Angle give some" {
		t.Errorf("got %v, want a refusal", err)
	}
	frozen := From([]complex64{1}).Freeze()
	if err := Try(func() { Grad(frozen.Abs().Sum(), frozen) }); err == nil || frozen.Frozen() == "" {
		t.Errorf("got %v, want that it is frozen", err)
	}
	parts := Grad(z.Real().Square().Sum(), z)[0]
	if got := parts.Complex64s(); got[0] != 2 || got[1] != 0 {
		t.Errorf("got the gradient %v, want [2 0]", got)
	}
	if err := Try(func() { Grad(From(1i).Real(), z) }); err == nil || err.Error() != "grad: the loss does not depend on z f32[2]" {
		t.Errorf("got %v, want that the loss does not depend on z", err)
	}
	text, want := z.String(), "c64[2] cpu 16 B · z\n[1.+2.i 0.-3.i]"
	if text != want {
		t.Errorf("got %q, want %q", text, want)
	}
	if got := FromBytes(dtype.C64, z.Bytes(), 2).Complex64s(); got[0] != 1+2i || got[1] != -3i {
		t.Errorf("got %v from its bytes", got)
	}
	if z.Free(); !z.Freed() || z.Brief() != "z c64[2] freed" {
		t.Errorf("got %q, want it freed", z.Brief())
	}
}

// TestComplexMethods calls each method of a tensor with complex numbers. Those that take them are listed in
// docs/dtypes.md; the others refuse them by an error of an operation.
func TestComplexMethods(t *testing.T) {
	text, err := os.ReadFile("../../docs/dtypes.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "These methods take complex numbers:")
	list, _, _ = strings.Cut(list, "\n\n")
	var documented []string
	for i, name := range strings.Split(list, "`") {
		if i%2 == 1 {
			documented = append(documented, name)
		}
	}
	z := From([]complex64{1 + 2i, -3, 0.5i, 0}, 2, 2)
	index, square := From([]int{1, 0}), From([]int{1, 0, 0, 1}, 2, 2)
	arguments := map[string][]any{
		"Take": {index, 0}, "TakeAlong": {square, 0}, "ScatterAdd": {0, index, z}, "ScatterAlong": {0, square, z}, "Overwrite": {0, index, z},
		"Put": {0, index, z, Replace}, "PutAlong": {0, square, z, Replace}, "Masked": {z.Real().Gt(0)}, "Reshape": {4}, "Permute": {1, 0}, "Expand": {1, 2, 2},
		"Tile": {2}, "SliceStep": {0, 0, 2, 2}, "Split": {0, 1}, "Chunk": {0, 2}, "I": {"0"}, "SetI": {"0", z}, "SetIndex": {2i, At(0)}, "TensorDot": {z, []int{1}, []int{0}},
		"Lerp": {z, 0.5}, "Restore": {z.Snapshot()}, "Cast": {dtype.C128}, "To": {z.Device()}, "Repeat": {0, 2}, "VecDot": {z, -1}, "Roll": {0, 1}, "Pow": {1.5}, "AvgPool": {[]int{1}}, "AvgPool1d": {1}, "MaxPool1d": {1}, "LpPool": {2.0, []int{1}},
	}
	var taken []string
	for i := range reflect.TypeFor[Tensor]().NumMethod() {
		m := reflect.TypeFor[Tensor]().Method(i)
		if m.Name == "Format" || m.Name == "MarshalJSON" { // fmt and json call them: see TestComplexText
			continue
		}
		args := []reflect.Value{reflect.ValueOf(z.Mul(1))}
		if given, ok := arguments[m.Name]; ok {
			for _, a := range given {
				args = append(args, reflect.ValueOf(a))
			}
		} else {
			for k := 1; k < m.Type.NumIn() && !(m.Type.IsVariadic() && k == m.Type.NumIn()-1); k++ {
				switch in := m.Type.In(k); in {
				case reflect.TypeFor[Tensor](), reflect.TypeFor[Operand]():
					args = append(args, reflect.ValueOf(z))
				default:
					args = append(args, reflect.Zero(in))
				}
			}
		}
		err := Try(func() {
			for _, y := range m.Func.Call(args) {
				if y, ok := y.Interface().(Tensor); ok {
					y.Eval()
				}
			}
		})
		var refusal *Error
		switch {
		case err == nil:
			taken = append(taken, m.Name)
		case !errors.As(err, &refusal) || !strings.Contains(err.Error(), "c64"):
			t.Errorf("%s: got %v, want a refusal of c64", m.Name, err)
		}
	}
	if slices.Sort(documented); !slices.Equal(taken, documented) {
		t.Errorf("got the methods `%s`, want those of docs/dtypes.md `%s`", strings.Join(taken, "` `"), strings.Join(documented, "` `"))
	}
}

func TestComplexText(t *testing.T) {
	z := From([]complex64{1 + 2i, -3})
	if got := fmt.Sprintf("%.1f %v", z, z.Sum()); got != "[ (1.0+2.0i) (-3.0+0.0i)] (-2+2i)" {
		t.Errorf("got %s", got)
	}
	if text, err := json.Marshal(z); err == nil || !strings.Contains(err.Error(), "got c64[2], want real numbers") {
		t.Errorf("json: got %s and error %v, want a refusal", text, err)
	}
}

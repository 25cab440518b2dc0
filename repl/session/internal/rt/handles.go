package rt

import "reflect"

// TensorPath is the path of the package with the type Tensor.
const TensorPath = "github.com/mcs-notebook/mcs/engine/tensor"

// HandlesCompared says why tensors are not compared by ==. Where the types tell, the cell is refused; where
// only the values in interfaces do, the comparison panics.
const HandlesCompared = "== would compare the handles of tensors, not their values: a.Eq(b) compares elements, tensor.AllClose(a, b, 1e-5, 1e-8) whole tensors, a.IsNone() tells the zero Tensor"

// Equal is x == y for interfaces, and for types that contain interfaces.
func (r *Runtime) Equal(x, y any) bool {
	switch x.(type) {
	case nil, bool, int, string, float64:
		return x == y
	}
	x, y = r.Open(x), r.Open(y)
	if compareHandles(reflect.ValueOf(x), reflect.ValueOf(y)) {
		panic(HandlesCompared)
	}
	return x == y
}

// compareHandles says whether == of two values in interfaces compares tensors.
func compareHandles(x, y reflect.Value) bool {
	if !x.IsValid() || !y.IsValid() || x.Type() != y.Type() {
		return false
	}
	switch t := x.Type(); t.Kind() {
	case reflect.Interface:
		return compareHandles(x.Elem(), y.Elem())
	case reflect.Array:
		for i := range x.Len() {
			if compareHandles(x.Index(i), y.Index(i)) {
				return true
			}
		}
	case reflect.Struct:
		if t.Name() == "Tensor" && t.PkgPath() == TensorPath {
			return true
		}
		for i := range x.NumField() {
			if compareHandles(x.Field(i), y.Field(i)) {
				return true
			}
		}
	}
	return false
}

package magics

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// measure returns the shape of a tensor, or the length of a slice, array, map or string, and the size in
// bytes of the tensors in it, or of its elements where they have one that a reader would expect.
func measure(v any) (shape string, size int64) {
	list := tensorsIn(v)
	for _, t := range list {
		size += int64(t.Size()) * int64(t.DType().Size())
	}
	if t, ok := v.(tensor.Tensor); ok {
		if len(list) == 0 { // none, or freed
			return "", 0
		}
		return fmt.Sprint(t.Shape()), size
	}
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Slice, reflect.Array:
		if size == 0 {
			size = int64(rv.Len()) * int64(rv.Type().Elem().Size())
		}
		return strconv.Itoa(rv.Len()), size
	case reflect.String:
		return strconv.Itoa(rv.Len()), int64(rv.Len())
	case reflect.Map:
		return strconv.Itoa(rv.Len()), size
	}
	return "", size
}

package driver

import (
	"fmt"
	"math"
)

// constant is a function constant's value in memory, and its MTLDataType.
func constant(value any) (bits uint32, kind uintptr, err error) {
	const float, signed, unsigned, boolean = 3, 29, 33, 53
	switch v := value.(type) {
	case bool:
		if v {
			bits = 1
		}
		return bits, boolean, nil
	case int32:
		return uint32(v), signed, nil
	case uint32:
		return v, unsigned, nil
	case float32:
		return math.Float32bits(v), float, nil
	}
	return 0, 0, fmt.Errorf("got a %T, want a bool, int32, uint32 or float32", value)
}

package ir

import (
	"fmt"
	"math"
)

// NoDraw is the index that a draw makes of scores of which none can be drawn. A lookup refuses it.
const NoDraw = math.MinInt64

// OutOfRange is the error of a lookup whose index at a position is not in an axis of a length.
func OutOfRange(op Op, index int64, position, axis, length int) error {
	if index == NoDraw {
		return fmt.Errorf("categorical: got logits of draw %d that have a NaN, or are all -Inf", position)
	}
	return fmt.Errorf("%v: index %d at position %d is out of range for axis %d of length %d", op, index, position, axis, length)
}

// Package few is for lists that mostly have a few elements.
package few

// Clear sets all elements to zero. It is for lists that mostly have a few elements: Go makes a call of the
// runtime of its own clear, and of a loop that runs upwards, which takes longer than some stores.
func Clear[T any](list []T) {
	var zero T
	for i := len(list) - 1; i >= 0; i-- {
		list[i] = zero
	}
}

//go:build !amd64 || mcs_portable

package micro

// HasSort reports whether Divide and SortFew may be called.
func HasSort() bool { return false }

// Few is how many numbers SortFew sorts at most.
func Few() int { panic("micro: no sorting") }

// Divide brings 16 numbers or more that are at most pivot before the others, and counts them. It needs room
// for [DivideRoom] numbers.
func Divide(x, room []int32, pivot int32) (low int) { panic("micro: no sorting") }

// SortFew writes n numbers, at most Few, in rising order, each as y^(y>>31&mask) with y = x^before.
func SortFew(to, from *int32, n int, mask, before uint32) { panic("micro: no sorting") }

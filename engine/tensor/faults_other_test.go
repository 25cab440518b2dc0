//go:build !unix

package tensor_test

// pageFaults is not counted on this system.
func pageFaults() int64 { return 0 }

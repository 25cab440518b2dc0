//go:build !amd64 && !arm64

package pool

// relax passes a little time.
//
//go:noinline
func relax() {}

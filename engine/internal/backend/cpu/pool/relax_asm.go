//go:build amd64 || arm64

package pool

// relax tells the processor that its thread waits in a loop, so that it gives way to others that share the
// core.
//
//go:noescape
func relax()

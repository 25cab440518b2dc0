//go:build !linux

package grade

func fences() bool { return false }

//go:build (!amd64 && !arm64) || mcs_portable

package micro

func packVector(*float32, int, Source, int, int) int { return 0 }

func copyRowsVector(*float32, int, *float32, int, int, int, int) bool { return false }

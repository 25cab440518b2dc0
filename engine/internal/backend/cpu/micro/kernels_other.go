//go:build !amd64 || mcs_portable

package micro

// There are no tiles, and no vectors for [Symmetric].

func multiplyTiles(int, *float32, int, *float32, *float32, int, int, int, int) {}

func packTiles([]float32, int, Source, int, int) {}

func symmetric(int, *float64, int, *float64, *float64, *float64, *float64) bool { return false }

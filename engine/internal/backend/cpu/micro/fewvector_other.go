//go:build (!amd64 && !arm64) || mcs_portable

package micro

func axpyVector(int, int, int, *float32, int, Source, *float32, int) int { return 0 }

func dotVector(_, _, _ int, _ *float32, _ int, _ Source, sums *[16]float32) (rows, done int) {
	clear(sums[:])
	return 1, 0
}

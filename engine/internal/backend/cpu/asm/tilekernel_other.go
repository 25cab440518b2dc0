//go:build !amd64 || mcs_portable

package asm

// BF16Kernel returns the micro-kernel that multiplies bf16 by bf16 without widening them first, nil if the machine has none.
func BF16Kernel() *MicroKernel { return nil }

func multiplyTiles(int, *float32, *float32, *float32, int, int, int, int) {}

func packTiles([]float32, Source, int, int) {}

func packPairPanel([]float32, Source, int, int) {}

func roundUp(n, step int) int { return (n + step - 1) / step * step }

func peakBF16(int) int64 { return 0 }

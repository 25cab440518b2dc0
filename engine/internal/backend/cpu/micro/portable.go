//go:build (!amd64 && !arm64) || mcs_portable

package micro

import "embed"

// Assembly is empty: the functions are plain Go.
var Assembly embed.FS

// BF16Kernels returns no micro-kernels: this processor has none for bf16.
func BF16Kernels() []*Kernel { return nil }

func packPairRows([]float32, int, Source, int, int) {}

func packPairPanel([]float32, Source, int, int) {}

func (m *Kernel) peakBF16(int) int64 { return 0 }

func digits(*byte, *float32, int, *int) {}

package magics

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/profile"
)

// Kernels that the plot cannot show, or that no device can have run, are said instead of drawn.
func TestRoofline(t *testing.T) {
	k := &kernelTimes{
		Ceilings: bench.Ceilings{Arithmetic: map[string]float64{"f32": 100e9}, Memory: []bench.Level{{Name: "memory", Size: 1 << 30, Rate: 10e9}}},
		Kernels: []profile.Timing{
			{Kernel: "matmul", DType: dtype.F32, Total: time.Millisecond, Bytes: 1e5, Flops: 5e7, Bound: profile.Compute, Roof: 0.5},
			{Kernel: "copy", DType: dtype.F32, Total: time.Millisecond, Bytes: 1e6, Bound: profile.Memory, Roof: 0.1},
			{Kernel: "memo", DType: dtype.F32, Total: time.Microsecond, Bytes: 1e5, Flops: 5e7, Bound: profile.Compute, Roof: 500},
			{Kernel: "tiny", DType: dtype.F32, Total: time.Microsecond, Bytes: 8, Flops: 2, Bound: profile.Start, Roof: 0.5},
		},
	}
	p, notes := roofline(k)
	var names []string
	for _, s := range p.Series {
		names = append(names, s.Name)
	}
	if want := []string{"f32", "matmul", "tiny"}; !slices.Equal(names, want) {
		t.Errorf("drew %q, want %q", names, want)
	}
	if roof := p.Series[0]; roof.X[1] != 10 || roof.Y[1] != 100e9 || roof.Y[0] != roof.X[0]*10e9 {
		t.Errorf("got the line %v %v, want a ridge at 10 flop/B", roof.X, roof.Y)
	}
	const want = "copy: no arithmetic, 1.00 GB/s\nmemo: 500 times as fast as this device can be: not all of it was done\n" +
		"tiny: as short as a launch, so neither line bounds it"
	if got := strings.Join(notes, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

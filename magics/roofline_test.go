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
		Limits: []limit{{Ceilings: bench.Ceilings{Arithmetic: map[string]float64{"f32": 100e9}, Memory: []bench.Level{{Name: "memory", Size: 1 << 30, Rate: 10e9}}}}},
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

// Of several devices each has its own lines, kernels and ceilings.
func TestRooflineOfDevices(t *testing.T) {
	can := func(f32 float64) bench.Ceilings {
		return bench.Ceilings{Arithmetic: map[string]float64{"f32": f32}, Memory: []bench.Level{{Name: "memory", Size: 1 << 30, Rate: f32 / 10}}}
	}
	kernel := func(device string, roof float64) profile.Timing {
		return profile.Timing{Kernel: "matmul", Device: device, DType: dtype.F32, Total: time.Millisecond, Bytes: 1e5, Flops: 5e7, Bound: profile.Compute, Roof: roof}
	}
	k := &kernelTimes{Limits: []limit{{"cpu", can(100e9), time.Microsecond}, {"cuda:0", can(50e12), time.Millisecond}},
		Kernels: []profile.Timing{kernel("cpu", 0.5), kernel("cuda:0", 0.001)}, Launches: 2}
	p, _ := roofline(k)
	var names []string
	for _, s := range p.Series {
		names = append(names, s.Name)
	}
	if want := []string{"f32 on cpu", "f32 on cuda:0", "matmul on cpu", "matmul on cuda:0"}; !slices.Equal(names, want) {
		t.Errorf("drew %q, want %q", names, want)
	}
	if cpu, gpu := p.Series[0].Y[1], p.Series[1].Y[1]; cpu != 100e9 || gpu != 50e12 {
		t.Errorf("got ceilings of %v and %v, want each device's own", cpu, gpu)
	}
	text := k.Text(100)
	for _, want := range []string{"matmul on cpu ", "matmul on cuda:0 ", "ceilings of cpu: f32 100 GFLOP/s · memory 10.0 GB/s · a launch 1.00 µs",
		"ceilings of cuda:0: f32 50.0 TFLOP/s"} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %q", text, want)
		}
	}
}

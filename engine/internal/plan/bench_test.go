package plan_test

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// BenchmarkSmallOp is what an evaluation costs when there is nothing to compute.
func BenchmarkSmallOp(b *testing.B) {
	defer useDevice(b, "cpu")()
	x, y := tensor.Randn(4).Eval(), tensor.Randn(4).Eval()
	b.ReportAllocs()
	for b.Loop() {
		x.Add(y).Eval()
	}
}

// BenchmarkLoRAStep is the replay of a training step whose arithmetic is small.
func BenchmarkLoRAStep(b *testing.B) {
	defer useDevice(b, "cpu")()
	x, w := tensor.Randn(16, 12).Eval(), tensor.Randn(12, 10).Eval()
	down, up := tensor.Randn(12, 2).Param(), tensor.Zeros(2, 10).Param()
	b.ReportAllocs()
	for b.Loop() {
		loss := tensor.LoRALinear(x, w, down, up, 2).Square().Mean()
		tensor.Eval(append(tensor.Grad(loss, down, up), loss)...)
	}
}

func useDevice(b testing.TB, name string) (restore func()) {
	before := device.Default().String()
	for _, n := range []string{name, before} {
		if _, err := device.Lookup(n); err != nil {
			b.Fatal(err)
		}
	}
	device.Use(name)
	return func() { device.Use(before) }
}

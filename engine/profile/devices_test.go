package profile_test

import (
	"context"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Kernels of one name on two devices are two rows, which name their device.
func TestKernelsOfTwoDevices(t *testing.T) {
	one, two := device.CPU(1), device.CPU(2)
	x, y := tensor.Ones(8).To(one).Eval(), tensor.Ones(16).To(two).Eval()
	r := profile.Record(context.Background(), func(context.Context) {
		x.Neg().Eval()
		y.Neg().Eval()
	})
	if len(r.Kernels) != 2 || r.Kernels[0].Device != "cpu:1" || r.Kernels[0].Launches != 1 || r.Kernels[1].Device != "cpu:2" {
		t.Errorf("got %+v, want one for each device", r.Kernels)
	}
	for _, text := range []string{r.Text(80), profile.Diff(r, r).Text(80)} {
		if !strings.Contains(text, "neg on cpu:1") || !strings.Contains(text, "neg on cpu:2") {
			t.Errorf("got\n%s\nwant the devices beside the names", text)
		}
	}
}

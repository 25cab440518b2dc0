package magics

import (
	"reflect"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Tensors are found in unexported fields, too, but nobody looks into a device, whose goroutines work.
func TestTensorsInPrivateFields(t *testing.T) {
	type model struct {
		on     device.Device
		layer  *nn.Linear
		hidden []tensor.Tensor
	}
	v := &model{device.Default(), nn.NewLinearBias(2, 3), []tensor.Tensor{tensor.Ones(2)}}
	s := settler{private: true}
	s.value(reflect.ValueOf(v), 0)
	if len(s.found) != 3 {
		t.Errorf("found %d tensors, want 3", len(s.found))
	}
	for at := range s.seen {
		if strings.Contains(at.typ.Elem().PkgPath(), "backend/") {
			t.Errorf("looked into a %v", at.typ)
		}
	}
}

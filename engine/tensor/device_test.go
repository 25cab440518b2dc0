package tensor

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
)

// lookup opens a device for a test.
func lookup(t *testing.T, name string) device.Device {
	t.Helper()
	d, err := device.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A tensor of a device that was closed says so wherever its value is needed, and a device of the same name
// that is opened later is another one.
func TestClosedDevice(t *testing.T) {
	old := lookup(t, "cpu:2")
	x := From([]float64{1, 2, 3}).To(old)
	waiting := x.Mul(2)
	if got := x.Add(1).Floats(); got[2] != 4 {
		t.Fatalf("got %v", got)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	again := lookup(t, "cpu:2")
	if again == old || x.Device() != old || old.Sync() == nil || again.Sync() != nil {
		t.Errorf("the device of x is %v, want the one that was closed", x.Device())
	}
	for what, f := range map[string]func(){
		"read": func() { x.Floats() }, "eval": func() { waiting.Eval() }, "to": func() { x.To(device.CPU()) },
		"mixed": func() { x.Add(From([]float64{1, 2, 3}).To(again)) },
	} {
		err := Try(f)
		if err == nil || what != "mixed" && (!errors.Is(err, device.ErrLost) || !strings.Contains(err.Error(), "cpu:2: the device was lost: it was closed")) {
			t.Errorf("%s: got %v, want an error that says that the device was lost", what, err)
		}
	}
	if got := From([]float64{1, 2, 3}).To(again).Mul(2).Floats(); got[2] != 6 {
		t.Errorf("on the device that was opened again: got %v", got)
	}
}

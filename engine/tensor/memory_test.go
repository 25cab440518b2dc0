package tensor

import (
	"runtime"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
)

// Loops that drop what they make go round in bounded memory, though nobody frees anything.
func TestDroppedTensorsAreReused(t *testing.T) {
	const limit = 100 << 20
	for _, c := range []struct {
		name string
		step func() func(i int)
	}{
		{"an operation", func() func(int) {
			x := Zeros(512, 512).Eval()
			return func(i int) { x.Add(i).Eval() }
		}},
		{"a chain", func() func(int) {
			x := Zeros(512, 512).Eval()
			return func(i int) { x = x.Mul(0.5).Eval() }
		}},
		{"set", func() func(int) {
			w := Zeros(512, 512).Param()
			return func(i int) { w.Set(w.Add(i)) }
		}},
		{"random numbers", func() func(int) { return func(int) { Rand(512, 512).Eval() } }},
	} {
		runtime.GC()
		d := device.Default()
		d.FreeCache()
		before, step := d.Memory(), c.step()
		for i := range 250 {
			step(i)
		}
		if after := d.Memory(); after.InUse+after.Kept-before.InUse-before.Kept > limit {
			t.Errorf("%s: 250 steps of 1 MiB hold %d bytes and keep %d, want less than %d more than before", c.name, after.InUse, after.Kept, limit)
		}
	}
}

// What a plan keeps to run again holds none of the values that it was made from or gave.
func TestPlansHoldNoValues(t *testing.T) {
	use(t, "cpu")
	d := device.Default()
	runtime.GC()
	before := d.Memory().InUse
	for i := range 8 {
		x := Full(0.5, 1<<20+i).Eval() // a plan of its own each time
		x.Sub(0.5).Abs().Max().Item()
		x.Add(1).Eval()
	}
	grown := int64(0)
	for range 200 { // cleanups run some time after the collection that has found their object
		runtime.GC()
		if grown = d.Memory().InUse - before; grown <= 1<<20 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("plans of dropped tensors of 4 MiB hold %d bytes", grown)
}

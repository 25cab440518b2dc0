package late_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/box"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/testing/late"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A compiled function does not wait for a device that computes later, where what it sets lies in the memory
// of what was there: the error of a run is that of who reads what it has computed. Where a tensor that is set
// could keep its value, it does.
func TestCompiledRunsAhead(t *testing.T) {
	late.Register("late")
	d, err := device.Lookup("late")
	if err != nil {
		t.Fatal(err)
	}
	tensor.Within(device.On(t.Context(), d), func() {
		dev := backend.Inside(d).Backend().(*late.Backend)
		x, total, rows := tensor.Zeros(3).Eval(), tensor.Zeros().Eval(), tensor.From([]float32{7})
		write := tensor.Compile(func(a ...tensor.Tensor) []tensor.Tensor {
			y := x.Overwrite(0, a[0], rows.Add(x.Len(0)))
			box.Of(y).Held().Flag(ir.InPlace) // nobody reads x afterwards
			x.Set(y)
			return []tensor.Tensor{y.Sum()}
		})
		add := tensor.Compile(func(a ...tensor.Tensor) []tensor.Tensor {
			total.Set(total.Add(x.Take(a[0], 0).Sum()))
			return nil
		})
		index := []tensor.Tensor{tensor.From([]int{0}).Eval(), tensor.From([]int{2}).Eval(), tensor.From([]int{3}).Eval()}
		dev.Pause()
		first, second := write(index[0])[0], write(index[1])[0]
		dev.Resume()
		if got := [2]float64{first.Item(), second.Item()}; got != [2]float64{10, 20} || !slices.Equal(x.Floats(), []float32{10, 0, 10}) {
			t.Errorf("got sums %v of %v, want 10 and 20", got, x.Floats())
		}
		if add(index[1]); total.Item() != 10 {
			t.Errorf("got %v, want 10", total.Item())
		}
		outside := "index 3 at position 0"
		if err := tensor.Try(func() { add(index[2]) }); err == nil || !strings.Contains(err.Error(), outside) || total.Item() != 10 {
			t.Errorf("a sum with an element that x does not have is %v, %v, want what it was, with an error", total.Item(), err)
		}
		third := write(index[2])[0]
		for name, f := range map[string]func(){"the result": func() { third.Floats() }, "what was set": func() { x.Floats() }, "another call": func() { write(index[0])[0].Floats() }} {
			if err := tensor.Try(f); err == nil || !strings.Contains(err.Error(), outside) {
				t.Errorf("%s: got %v, want an error with %q", name, err, outside)
			}
		}
	})
}

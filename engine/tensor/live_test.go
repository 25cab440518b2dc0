package tensor_test

import (
	"context"
	"testing"

	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Within a context that asks for places, live memory is listed with the place that made it. Small values, and
// values that were made outside of such a context, are left out. A view lies in the memory of its base.
func TestLiveMemory(t *testing.T) {
	ctx := profile.WithPlaces(context.Background(), func(string) string { return "TestLiveMemory" })
	var x, y, view, small, anonymous tensor.Tensor
	double := tensor.Compile(func(args ...tensor.Tensor) []tensor.Tensor { return []tensor.Tensor{args[0].Mul(2)} })
	var z tensor.Tensor
	tensor.Within(ctx, func() {
		x = tensor.From(make([]float32, 1000)).Eval()
		y = x.Add(1).Eval()
		view = x.Slice(0, 0, 10).Eval()
		small = tensor.Ones(3).Eval()
		z = double(x)[0]
	})
	anonymous = tensor.Ones(1000).Eval()
	ours := func() (list []tensor.Live) {
		for _, l := range tensor.LiveMemory() {
			if l.From.Place == "TestLiveMemory" {
				list = append(list, l)
			}
		}
		return list
	}
	list := ours()
	if len(list) != 3 || list[0].Bytes != 4000 || list[1].From.Op != "add" {
		t.Fatalf("got %+v, want x, y and z", list)
	}
	at := tensor.Find([]tensor.Tensor{x, y, z, view, small, anonymous, {}}, list)
	for i, want := range []int{0, 1, 2, 0, -1, -1, -1} {
		if at[i] != want {
			t.Errorf("tensor %d: got place %d, want %d", i, at[i], want)
		}
	}
	y.Free()
	if list := ours(); len(list) != 2 {
		t.Errorf("got %+v, want what was freed left out", list)
	}
	z.Free()
}

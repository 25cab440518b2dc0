package plot_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/mcs-notebook/mcs/engine/plot"
	"github.com/mcs-notebook/mcs/engine/progress"
)

// Each point is told, and a snapshot does not change with the points that follow it.
func TestLive(t *testing.T) {
	var states []*plot.Plot
	ctx := progress.WithCanvas(context.Background(), func(d progress.Drawing) {
		states = append(states, d.Snapshot().(*plot.Plot))
	})
	p := plot.Live(ctx, "a", "b").Labels("step", "loss")
	p.Add(1, 10, math.NaN())
	p.Add(2, 5, 7)
	want := []*plot.Plot{
		{XLabel: "step", YLabel: "loss", Series: []plot.Series{{Name: "a", X: []float64{1}, Y: []float64{10}}, {Name: "b", X: []float64{}}}},
		{XLabel: "step", YLabel: "loss", Series: []plot.Series{{Name: "a", X: []float64{1, 2}, Y: []float64{10, 5}}, {Name: "b", X: []float64{2}, Y: []float64{7}}}},
	}
	if !reflect.DeepEqual(states, want) {
		t.Errorf("got %+v, want %+v", states, want)
	}
	for _, c := range []struct {
		do   func()
		want string
	}{
		{func() { p.Add(3, 1) }, "plot.Add: got 1 y for 2 lines"},
		{func() { plot.Line([]int{1}).Add(3, 1) }, "plot.Add: got a plot of fixed data, want one of plot.Live"},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			}()
			c.do()
		}()
	}
	plot.Live(context.Background()).Add(1, 2) // nobody looks
}

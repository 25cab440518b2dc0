package session

import (
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device/devicetest"
)

// A device may find after an evaluation has returned that an index is out of range. The cell that asked for
// the evaluation ends with that error, the next one is not told again, and the value cannot be read.
func TestALateErrorBelongsToItsCell(t *testing.T) {
	devicetest.Register("late")
	s, out := newSession(t, Options{})
	const bad = "gather: index 7 at position 1 is out of range for axis 0 of length 3"
	for _, c := range []struct{ cell, want string }{
		{`err := device.Use("late"); x := tensor.From([]float64{1, 2, 3}); err`, ""},
		{`y := x.Take(tensor.From([]int{0, 7}), 0).Eval()`, bad},
		{`1 + 1`, "2\n"},
		{`y.Sum().Item()`, bad},
		{`z := x.Take(tensor.From([]int{0, 7}), 0).Eval(); z`, bad},
		{`int(x.Sum().Item())`, "6\n"},
		{`tensor.From([]float64{1}).Cast(dtype.F64)`, "cast: got f64, want a dtype that device late has"},
	} {
		got := transcript(s, out, c.cell)
		if fits := strings.Contains(got, c.want); !fits || c.want == "" && strings.Contains(got, "error") || strings.HasSuffix(c.want, "\n") && !strings.HasSuffix(got, c.want) {
			t.Errorf("%s\ngot  %s\nwant %s", c.cell, got, c.want)
		}
	}
}

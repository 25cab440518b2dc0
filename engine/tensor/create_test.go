package tensor

import (
	"bytes"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// TestBytesOfViews: elements are read in C order, wherever they lie.
func TestBytesOfViews(t *testing.T) {
	for _, dt := range []dtype.Type{dtype.U8, dtype.BF16, dtype.F32, dtype.I64} {
		x := Arange(0, 3*70*45, 1).Mod(251).Cast(dt).Reshape(3, 70, 45).Eval()
		for name, view := range map[string]Tensor{
			"turned": x.Permute(0, 2, 1), "reversed axes": x.Permute(2, 1, 0), "a matrix": x.Select(0, 1).Transpose(), "a column": x.Select(0, 2).Select(1, 7),
			"a part": x.Slice(1, 3, 68).Slice(2, 5, 41).Permute(1, 0, 2), "repeated": x.Slice(1, 2, 3).Expand(3, 50, 45), "backwards": x.Flip(1).Transpose(),
			"none": x.Slice(1, 4, 4).Transpose(), "one": x.Select(0, 2).Select(0, 7).Select(0, 9),
		} {
			view = view.Eval()
			if got, want := view.Bytes(), Concat([]Tensor{view.Reshape(-1)}, 0).Add(0).Cast(dt).Eval().Bytes(); !bytes.Equal(got, want) {
				t.Errorf("%v, %s: got %v…", dt, name, got[:min(8, len(got))])
			}
		}
	}
}

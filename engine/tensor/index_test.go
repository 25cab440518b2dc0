package tensor

import (
	"errors"
	"strings"
	"testing"
)

// An index outside of its axis, which often only the device can find, and perhaps late, is an error that
// names the op, the index, its place, the axis and its length.
func TestIndexOutOfRange(t *testing.T) {
	for _, dev := range everyDevice(t) {
		x := Zeros(2, 3).To(dev)
		index := func(list ...int) Tensor { return From(list).To(dev) }
		for _, c := range []struct {
			name string
			f    func() Tensor
			want string
		}{
			{"take beyond the end", func() Tensor { return x.Take(index(0, 3), 1) },
				"gather: index 3 at position 1 is out of range for axis 1 of length 3"},
			{"take before the start", func() Tensor { return x.Take(index(-2, -3), 0) },
				"gather: index -3 at position 1 is out of range for axis 0 of length 2"},
			{"take of nothing", func() Tensor { return Zeros(0, 3).To(dev).Take(index(0), 0) },
				"gather: index 0 at position 0 is out of range for axis 0 of length 0"},
			{"take along", func() Tensor { return x.TakeAlong(index(0, 1, -4, 0).Reshape(2, 2), -1) },
				"gather_along: index -4 at position 2 is out of range for axis 1 of length 3"},
			{"scatter", func() Tensor { return x.ScatterAdd(1, index(7), Ones(2, 1).To(dev)) },
				"scatter_add: index 7 at position 0 is out of range for axis 1 of length 3"},
			{"scatter along", func() Tensor { return x.ScatterAlong(0, index(0, 1, 2).Reshape(1, 3), Ones(1, 3).To(dev)) },
				"scatter_along: index 2 at position 2 is out of range for axis 0 of length 2"},
			{"overwrite", func() Tensor { return x.Overwrite(0, index(-3), Ones(1, 3).To(dev)) },
				"overwrite: index -3 at position 0 is out of range for axis 0 of length 2"},
			{"at", func() Tensor { return x.At(1, 3) }, "at: got index 3 on axis 1 of f32[2 3], want one in -3…2"},
		} {
			err := Try(func() { c.f().Bytes() })
			if e := (*Error)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, %s: got %v, want an error with %q", dev, c.name, err, c.want)
			}
		}
	}
}

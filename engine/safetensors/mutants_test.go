package safetensors

import (
	"errors"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/mutate"
)

// TestMutants: a damaged file is refused with a FormatError, or is a file in which every tensor can be read.
func TestMutants(t *testing.T) {
	whole := build(`{"__metadata__":{"format":"pt","k":"v"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"b.\u0061":{"dtype":"U8","shape":[],"data_offsets":[24,25]}}`, 25)
	mutate.Each(1, 5000, whole, func(i int, mutant []byte) {
		f, err := read(mutant)
		if err != nil {
			if format := (*FormatError)(nil); !errors.As(err, &format) {
				t.Errorf("mutant %d: got %v, want a FormatError", i, err)
			}
			return
		}
		for _, info := range f.Tensors() {
			if b, err := f.Bytes(info.Name); err != nil || int64(len(b)) != info.Bytes {
				t.Errorf("mutant %d: tensor %q: %d bytes, %v, want %d", i, info.Name, len(b), err, info.Bytes)
			}
		}
	})
}

package access

import (
	"cmp"
	"context"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Try calls f with the context of its evaluations, and returns its error, or that of a *tensor.Error.
func Try(ctx context.Context, f func() error) (err error) {
	failed := tensor.Try(func() { tensor.Within(ctx, func() { err = f() }) })
	return cmp.Or(failed, err)
}

// Read is [Filled] for the tensor of a file, which has a name there. A wrong shape is an error.
func Read(name string, dt dtype.Type, shape []int, read func(at int, to []byte) error) (t tensor.Tensor, err error) {
	failed := tensor.Try(func() {
		if t, err = Filled(dt, shape, read); err == nil {
			t.Named(name)
		}
	})
	if err = cmp.Or(failed, err); err != nil {
		t.Free()
		return tensor.Tensor{}, err
	}
	return t, nil
}

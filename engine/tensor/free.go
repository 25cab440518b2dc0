package tensor

import "github.com/mcs-notebook/mcs/engine/internal/box"

// Free gives the memory of tensors back at once: the next result gets it while the caches still hold it. A
// program that does not call Free gets memory back only when Go's collector has run, so that a loop works on
// memory that the caches have forgotten.
//
// After that it is an error to use the tensor by any copy of its handle; [Tensor.Freed] is true. To free it
// again, or to free the zero Tensor, does nothing. Other tensors keep their values: while a view, a
// [Tensor.Snapshot], a parameter that was Set to t, or an evaluation under way needs the memory, they hold
// it. A tensor that was made from t and not yet evaluated cannot be evaluated any more: that is an error. The
// exception is a t that was computed from a parameter, which is computed again.
func Free(ts ...Tensor) {
	for _, t := range ts {
		t.Free()
	}
}

// Free gives the tensor's memory back; see the function [Free].
func (t Tensor) Free() {
	if t.IsNone() {
		return
	}
	for _, x := range reals(t) {
		if tr := tracing(); tr != nil {
			tr.free(box.Of(x))
		} else {
			box.Of(x).Free()
		}
	}
}

// Freed says whether Free was called, or something else has taken the tensor's memory that says so.
func (t Tensor) Freed() bool { return !t.IsNone() && box.Of(reals(t)[0]).Freed() }

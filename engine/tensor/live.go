package tensor

import (
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/profile"
)

// A Live is memory that holds a tensor's value.
type Live struct {
	Device string
	Bytes  int64
	DType  dtype.Type // of the tensor that it was made for
	Shape  []int
	Name   string
	From   profile.Origin // where that was made
	block  *backend.Block
}

// LiveMemory lists the memory of all devices that holds values of tensors, as far as it was asked where these
// come from when they were made (profile.WithPlaces). Values of less than a kilobyte are left out: they lie
// in Go's heap.
func LiveMemory() (list []Live) {
	for _, d := range backend.Opened() {
		for _, b := range d.Live() {
			m := b.Maker()
			list = append(list, Live{Device: d.String(), Bytes: int64(b.Room()), DType: m.Type.DType, Shape: m.Type.Shape, Name: m.Name,
				From: profile.Origin{Place: m.Origin.Line(), Op: m.Origin.Op.String(), Pass: m.Origin.Pass.String()}, block: b})
		}
	}
	return list
}

// Find returns which of the list each tensor's value lies in, −1 for none of them. Views lie in the memory of
// what they are views of.
func Find(ts []Tensor, list []Live) []int {
	at := make(map[*backend.Block]int, len(list))
	for i, l := range list {
		at[l.block] = i
	}
	found := make([]int, len(ts))
	for i, t := range ts {
		found[i] = -1
		if t.IsNone() || t.Freed() {
			continue
		}
		if d := reals(t)[0].node("find").Value(); d != nil {
			if k, ok := at[d.Buf.(*backend.Block)]; ok {
				found[i] = k
			}
		}
	}
	return found
}

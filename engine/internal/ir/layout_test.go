package ir

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// positions lists where the elements of l are, in C order.
func positions(l Layout) []int {
	list := []int{l.Offset}
	for a, d := range l.Shape {
		var next []int
		for _, p := range list {
			for i := range d {
				next = append(next, p+i*l.Stride[a])
			}
		}
		list = next
	}
	return list
}

func TestReshape(t *testing.T) {
	for _, c := range []struct {
		name  string
		from  Layout
		shape []int
		ok    bool
	}{
		{"split", Contiguous([]int{6}), []int{2, 3}, true},
		{"merge", Contiguous([]int{2, 3}), []int{6}, true},
		{"merge transposed", Contiguous([]int{2, 3}).Permute([]int{1, 0}), []int{6}, false},
		{"split transposed", Contiguous([]int{2, 6}).Permute([]int{1, 0}), []int{3, 2, 2}, true},
		{"ones anywhere", Contiguous([]int{2, 3}).Permute([]int{1, 0}), []int{1, 3, 1, 2, 1}, true},
		{"broadcast apart", Contiguous([]int{1, 3}).Expand([]int{2, 3}), []int{2, 1, 3}, true},
		{"broadcast merged", Contiguous([]int{1, 3}).Expand([]int{2, 3}), []int{6}, false},
		{"broadcast alone", Contiguous([]int{1}).Expand([]int{6}), []int{2, 3}, true},
		{"flipped", Contiguous([]int{6}).Flip([]int{0}), []int{2, 3}, true},
		{"rank 0", Contiguous(nil), []int{1, 1}, true},
		{"to rank 0", Contiguous([]int{1, 1}), nil, true},
		{"empty", Contiguous([]int{0, 3}).Permute([]int{1, 0}), []int{5, 0}, true},
	} {
		got, ok := c.from.Reshape(c.shape)
		if ok != c.ok {
			t.Errorf("%s: ok = %v, want %v", c.name, ok, c.ok)
		}
		if ok && !slices.Equal(positions(got), positions(c.from)) {
			t.Errorf("%s: elements at %v, want %v", c.name, positions(got), positions(c.from))
		}
	}
}

// A reshape is possible exactly when strides for it exist; and when it is possible, no element moves.
func TestReshapeKeepsElements(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	shapes := [][]int{{2, 2, 3}, {4, 3}, {3, 4}, {12}, {1, 12}, {2, 6}, {6, 2}, {3, 2, 2}, {2, 3, 2}, {2, 1, 6}}
	for range 2000 {
		l := Contiguous(shapes[r.IntN(len(shapes))])
		for range r.IntN(3) {
			switch r.IntN(3) {
			case 0:
				l = l.Permute(r.Perm(len(l.Shape)))
			case 1:
				l = l.Flip([]int{r.IntN(len(l.Shape))})
			case 2:
				if m, ok := l.Reshape(shapes[r.IntN(len(shapes))]); ok {
					l = m
				}
			}
		}
		want := positions(l)
		to := shapes[r.IntN(len(shapes))]
		got, ok := l.Reshape(to)
		if ok && !slices.Equal(positions(got), want) {
			t.Fatalf("%+v as %v: elements at %v, want %v", l, to, positions(got), want)
		}
		if !ok && strided(want, to) {
			t.Fatalf("%+v as %v: refused, but strides exist", l, to)
		}
	}
}

// strided says whether positions in C order of shape can be described by one stride for each axis.
func strided(pos []int, shape []int) bool {
	l := Contiguous(shape)
	r := Layout{Shape: shape, Stride: make([]int, len(shape)), Offset: pos[0]}
	for a := range shape {
		if shape[a] > 1 {
			r.Stride[a] = pos[l.Stride[a]] - pos[0]
		}
	}
	return slices.Equal(positions(r), pos)
}

func TestSlice(t *testing.T) {
	l := Contiguous([]int{4, 5}).Slice([]int{1, 4, 2, 0, 5, 3})
	if want := []int{5, 8, 15, 18}; !slices.Equal(positions(l), want) {
		t.Errorf("elements at %v, want %v", positions(l), want)
	}
	if l := Contiguous([]int{3}).Slice([]int{3, 3, 1}); l.Size() != 0 || l.Offset != 0 {
		t.Errorf("an empty slice is %+v, want no elements at offset 0", l)
	}
}

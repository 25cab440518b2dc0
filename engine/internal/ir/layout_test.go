package ir

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// positions lists where the elements of a layout are, in C order.
func positions(l Layout) []int {
	list := []int{}
	index := make([]int, len(l.Shape))
	for range l.Size() {
		at := l.Offset
		for i, x := range index {
			at += x * l.Stride[i]
		}
		list = append(list, at)
		next(index, l.Shape)
	}
	return list
}

// next moves index on in C order.
func next(index, shape []int) {
	for i := len(shape) - 1; i >= 0; i-- {
		if index[i]++; index[i] < shape[i] {
			return
		}
		index[i] = 0
	}
}

// array is a tensor by definition: a shape and its elements in C order.
type array struct{ shape, elems []int }

// pick builds the array of that shape whose element at an index comes from from(index) of a.
func (a array) pick(shape []int, from func(index []int) []int) array {
	r := array{shape: shape, elems: []int{}}
	index := make([]int, len(shape))
	for range Size(shape) {
		at := 0
		for i, x := range from(index) {
			at = at*a.shape[i] + x
		}
		r.elems = append(r.elems, a.elems[at])
		next(index, shape)
	}
	return r
}

// Any sequence of views gives the elements that index arithmetic gives.
func TestViewsCompose(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		shape := randomShape(rng, rng.IntN(4))
		l := Contiguous(shape)
		a := array{shape: shape, elems: positions(l)}
		steps := ""
		for range rng.IntN(6) {
			var name string
			name, l, a = randomView(rng, l, a)
			steps += " " + name
			if !slices.Equal(l.Shape, a.shape) || !slices.Equal(positions(l), a.elems) {
				t.Fatalf("%v after%s: got %v %v, want %v %v", shape, steps, l.Shape, positions(l), a.shape, a.elems)
			}
		}
	}
}

func randomShape(rng *rand.Rand, rank int) []int {
	shape := make([]int, rank)
	for i := range shape {
		shape[i] = rng.IntN(5)
		if rng.IntN(3) > 0 {
			shape[i] = 1 + rng.IntN(4)
		}
	}
	return shape
}

// randomView applies one view both ways. A reshape that no layout expresses leaves both as they are.
func randomView(rng *rand.Rand, l Layout, a array) (string, Layout, array) {
	rank := len(l.Shape)
	switch rng.IntN(5) {
	case 0:
		axes := rng.Perm(rank)
		l = l.Permute(axes)
		return "permute", l, a.pick(slices.Clone(l.Shape), func(index []int) []int {
			from := make([]int, rank)
			for i, x := range axes {
				from[x] = index[i]
			}
			return from
		})
	case 1:
		ints := make([]int, 0, 3*rank)
		for _, d := range l.Shape {
			ints = append(ints, randomRange(rng, d)...)
		}
		l = l.Slice(ints)
		return "slice", l, a.pick(slices.Clone(l.Shape), func(index []int) []int {
			from := make([]int, rank)
			for i, x := range index {
				from[i] = ints[3*i] + x*ints[3*i+2]
			}
			return from
		})
	case 2:
		var axes []int
		for i := range rank {
			if rng.IntN(2) == 0 {
				axes = append(axes, i)
			}
		}
		l = l.Flip(axes)
		return "flip", l, a.pick(slices.Clone(l.Shape), func(index []int) []int {
			from := slices.Clone(index)
			for _, i := range axes {
				from[i] = l.Shape[i] - 1 - index[i]
			}
			return from
		})
	case 3:
		old := slices.Clone(l.Shape)
		shape := slices.Concat(randomShape(rng, rng.IntN(2)), old)
		front := len(shape) - rank
		for i, d := range old {
			if d == 1 && rng.IntN(2) == 0 {
				shape[front+i] = rng.IntN(4)
			}
		}
		l = l.Expand(shape)
		return "expand", l, a.pick(shape, func(index []int) []int {
			from := slices.Clone(index[front:])
			for i, d := range old {
				if d == 1 {
					from[i] = 0
				}
			}
			return from
		})
	}
	shape := factor(rng, l.Size())
	if r, ok := l.Reshape(shape); ok {
		return "reshape", r, array{shape: shape, elems: a.elems}
	}
	return "", l, a
}

func randomRange(rng *rand.Rand, d int) []int {
	start, stop := rng.IntN(d+1), rng.IntN(d+1)
	step := 1 + rng.IntN(3)
	if start <= stop {
		return []int{start, stop, step}
	}
	return []int{start - 1, stop - 1, -step}
}

// factor returns a random shape of size n, at times with axes of length 1.
func factor(rng *rand.Rand, n int) []int {
	if n == 0 {
		return []int{2, 0, 3}
	}
	var shape []int
	for n > 1 || rng.IntN(2) == 0 {
		d := 1 + rng.IntN(n)
		for n%d != 0 {
			d--
		}
		shape, n = append(shape, d), n/d
	}
	return shape
}

// A reshape is refused only when strides cannot say it.
func TestReshape(t *testing.T) {
	flip := Contiguous([]int{2, 3}).Flip([]int{0, 1})
	for _, c := range []struct {
		name  string
		l     Layout
		shape []int
		ok    bool
	}{
		{"contiguous", Contiguous([]int{2, 3, 4}), []int{6, 4}, true},
		{"to rank 0", Contiguous([]int{1, 1}), []int{}, true},
		{"transposed, joined", Contiguous([]int{2, 3}).Permute([]int{1, 0}), []int{6}, false},
		{"transposed, split", Contiguous([]int{4, 3}).Permute([]int{1, 0}), []int{3, 2, 2}, true},
		{"transposed, length 1", Contiguous([]int{1, 6}).Permute([]int{1, 0}), []int{2, 3}, true},
		{"all axes flipped", flip, []int{6}, true},
		{"one axis flipped", Contiguous([]int{2, 3}).Flip([]int{1}), []int{6}, false},
		{"expanded", Contiguous([]int{1, 3}).Expand([]int{2, 3}), []int{6}, false},
		{"expanded, all equal", Contiguous([]int{1, 1}).Expand([]int{2, 3}), []int{3, 2}, true},
		{"every second row", Contiguous([]int{4, 6}).Slice([]int{0, 4, 2, 0, 6, 1}), []int{2, 2, 3}, true},
		{"rows cut short", Contiguous([]int{4, 6}).Slice([]int{0, 4, 1, 0, 5, 1}), []int{20}, false},
		{"empty", Contiguous([]int{0, 5}).Permute([]int{1, 0}), []int{0}, true},
	} {
		if _, ok := c.l.Reshape(c.shape); ok != c.ok {
			t.Errorf("%s: reshape %v to %v = %v, want %v", c.name, c.l, c.shape, ok, c.ok)
		}
	}
}

func TestIsContiguous(t *testing.T) {
	for _, c := range []struct {
		l    Layout
		want bool
	}{
		{Contiguous([]int{}), true},
		{Contiguous([]int{2, 0, 3}).Permute([]int{2, 1, 0}), true},
		{Contiguous([]int{1, 4, 1}).Permute([]int{2, 1, 0}), true},
		{Contiguous([]int{4, 3}).Slice([]int{1, 3, 1, 0, 3, 1}), true},
		{Contiguous([]int{4, 3}).Slice([]int{0, 4, 1, 1, 3, 1}), false},
		{Contiguous([]int{4}).Flip([]int{0}), false},
		{Contiguous([]int{1}).Expand([]int{4}), false},
	} {
		if got := c.l.IsContiguous(); got != c.want {
			t.Errorf("%v: got %v, want %v", c.l, got, c.want)
		}
	}
}

// Batches become rows where the right operand is one matrix and the left one goes on from row to row.
func TestJoinRows(t *testing.T) {
	same := Contiguous([]int{4, 5}).Expand([]int{2, 3, 4, 5}) // one weight for all batches
	x := Contiguous([]int{2, 3, 7, 4})
	for _, c := range []struct {
		name        string
		a, b        Layout
		from        int
		left, right []int // shapes, nil if they cannot be joined
	}{
		{"one weight", x, same, 0, []int{42, 4}, []int{4, 5}},
		{"the last batch axis only", x, same, 1, []int{2, 21, 4}, []int{2, 4, 5}},
		{"no axis", x, same, 2, []int{2, 3, 7, 4}, []int{2, 3, 4, 5}},
		{"one weight for each first axis", x, Contiguous([]int{2, 1, 4, 5}).Expand([]int{2, 3, 4, 5}), 1, []int{2, 21, 4}, []int{2, 4, 5}},
		{"the same, joined too far", x, Contiguous([]int{2, 1, 4, 5}).Expand([]int{2, 3, 4, 5}), 0, nil, nil},
		{"rows that lie apart", Contiguous([]int{2, 7, 3, 4}).Permute([]int{0, 2, 1, 3}), same, 0, nil, nil},
		{"one row each, in turned batches", Contiguous([]int{3, 2, 1, 4}).Permute([]int{1, 0, 2, 3}), same, 1, []int{2, 3, 4}, []int{2, 4, 5}},
		{"turned matrices", Contiguous([]int{2, 3, 4, 7}).Permute([]int{0, 1, 3, 2}), same, 0, nil, nil},
		{"a left operand that is repeated", Contiguous([]int{7, 4}).Expand([]int{2, 3, 7, 4}), same, 0, nil, nil},
		{"batches of one", Contiguous([]int{1, 1, 7, 4}), Contiguous([]int{1, 1, 4, 5}), 0, []int{7, 4}, []int{4, 5}},
	} {
		left, right, ok := JoinRows(c.a, c.b, c.from)
		if ok != (c.left != nil) || ok && (!slices.Equal(left.Shape, c.left) || !slices.Equal(right.Shape, c.right)) {
			t.Errorf("%s: got %v and %v, %v, want %v and %v", c.name, left.Shape, right.Shape, ok, c.left, c.right)
			continue
		}
		if ok && !slices.Equal(positions(left), positions(c.a)) {
			t.Errorf("%s: the left operand's elements are others", c.name)
		}
		if ok && !slices.Equal(positions(right)[:20], positions(c.b)[:20]) {
			t.Errorf("%s: the right operand's elements are others", c.name)
		}
	}
}

package conformance

import (
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// shaping are the operators that make tensors or say where elements are.
var shaping = map[string]operator{
	"Identity":        func(c *call) []value { return []value{c.x(0)} },
	"Reshape":         reshape,
	"Flatten":         flatten,
	"Squeeze":         squeeze,
	"Unsqueeze":       unsqueeze,
	"Transpose":       transpose,
	"Concat":          concat,
	"Split":           split,
	"Slice":           slice,
	"Expand":          expand,
	"Tile":            tile,
	"Pad":             pad,
	"CenterCropPad":   centerCropPad,
	"DepthToSpace":    depthToSpace,
	"SpaceToDepth":    spaceToDepth,
	"Shape":           shapeOf,
	"Size":            func(c *call) []value { return c.result(tensor.From(c.x(0).Size()), kInt64) },
	"Constant":        constant,
	"ConstantOfShape": constantOfShape,
	"EyeLike":         eyeLike,
	"Range":           rangeOp,
	"Trilu":           trilu,
}

func reshape(c *call) []value {
	x := c.x(0)
	shape := slices.Clone(c.integers(1, "shape"))
	if !c.flag("allowzero", 0) {
		for i, d := range shape {
			if d == 0 && i < x.Rank() {
				shape[i] = x.Len(i)
			}
		}
	}
	return c.result(x.Reshape(shape...), x.kind)
}

// flatten makes a matrix: the axes before the given one, and the rest.
func flatten(c *call) []value {
	x := c.x(0)
	a := c.integer("axis", 1)
	if a < 0 {
		a += x.Rank()
	}
	shape := x.Shape()
	if a < 0 || a > len(shape) {
		refuse("got axis %d for rank %d", a, len(shape))
	}
	return c.result(x.Reshape(product(shape[:a]), product(shape[a:])), x.kind)
}

func squeeze(c *call) []value {
	return c.result(c.x(0).Squeeze(c.integers(1, "axes")...), c.x(0).kind)
}

// unsqueeze counts its axes in the result.
func unsqueeze(c *call) []value {
	x := c.x(0)
	list := c.integers(1, "axes")
	list = axes(list, x.Rank()+len(list))
	slices.Sort(list)
	t := x.Tensor
	for _, a := range list {
		t = t.Unsqueeze(a)
	}
	return c.result(t, x.kind)
}

func transpose(c *call) []value {
	x := c.x(0)
	order := c.integers(1, "perm")
	if order == nil {
		order = span(0, x.Rank())
		slices.Reverse(order)
	}
	return c.result(x.Permute(order...), x.kind)
}

func concat(c *call) []value {
	parts := make([]tensor.Tensor, len(c.in))
	for i := range c.in {
		parts[i] = c.x(i).Tensor
	}
	return c.result(tensor.Concat(parts, c.integer("axis", 1)), c.x(0).kind)
}

// split cuts by a list of lengths, or into equal parts; the last part may be shorter.
func split(c *call) []value {
	x := c.x(0)
	a := axis(c.integer("axis", 0), x.Rank())
	lengths := c.integers(1, "split")
	if lengths == nil {
		n := c.integer("num_outputs", len(c.outputs))
		length := (x.Len(a) + n - 1) / n
		for i := range n {
			lengths = append(lengths, max(0, min(length, x.Len(a)-i*length)))
		}
	}
	var parts []value
	at := 0
	for _, n := range lengths {
		parts = append(parts, c.fit(x.Slice(a, at, at+n), x.kind))
		at += n
	}
	return parts
}

// slice has its lists as inputs, before version 10 as attributes.
func slice(c *call) []value {
	x := c.x(0)
	starts, ends := c.integers(1, "starts"), c.integers(2, "ends")
	along, steps := c.integers(3, "axes"), c.integers(4, "steps")
	if along == nil {
		along = span(0, len(starts))
	}
	if steps == nil {
		steps = slices.Repeat([]int{1}, len(starts))
	}
	if len(ends) != len(starts) || len(along) != len(starts) || len(steps) != len(starts) {
		refuse("got %d starts, %d ends, %d axes and %d steps", len(starts), len(ends), len(along), len(steps))
	}
	t := x.Tensor
	for i, a := range along {
		t = t.SliceStep(a, starts[i], ends[i], steps[i])
	}
	return c.result(t, x.kind)
}

// expand broadcasts both ways: a length of 1 in the new shape keeps that of the tensor.
func expand(c *call) []value {
	x := c.x(0)
	shape := c.x(1).Ints()
	have := x.Shape()
	rank := max(len(shape), len(have))
	shape = append(slices.Repeat([]int{1}, rank-len(shape)), shape...)
	have = append(slices.Repeat([]int{1}, rank-len(have)), have...)
	for i := range shape {
		if shape[i] == 1 {
			shape[i] = have[i]
		}
	}
	return c.result(x.Expand(shape...), x.kind)
}

// tile has a count for each axis, in version 1 one for one axis.
func tile(c *call) []value {
	x := c.x(0)
	counts := c.x(1).Flatten().Ints()
	if c.version < 6 {
		all := slices.Repeat([]int{1}, x.Rank())
		all[axis(int(c.x(2).Flatten().Item()), x.Rank())] = counts[0]
		counts = all
	}
	return c.result(x.Tile(counts...), x.kind)
}

// pad has its widths as input, before version 11 as an attribute. Negative widths cut.
func pad(c *call) []value {
	x := c.x(0)
	widths := c.integers(1, "pads")
	if widths == nil {
		widths = c.integers(1, "paddings") // version 1
	}
	along := c.integers(3, "no attribute")
	if along == nil {
		along = span(0, x.Rank())
	}
	if len(widths) != 2*len(along) {
		refuse("got %d widths for %d axes", len(widths), len(along))
	}
	t := x.Tensor
	for i, a := range along {
		before, after := widths[i], widths[len(along)+i]
		switch mode := c.text("mode", "constant"); mode {
		case "constant":
			t = padConstant(c, t, axis(a, x.Rank()), before, after)
		case "edge":
			t = t.PadEdge(a, before, after)
		case "reflect":
			t = t.PadReflect(a, before, after)
		case "wrap":
			t = t.PadWrap(a, before, after)
		default:
			refuse("got mode %q", mode)
		}
	}
	return c.result(t, x.kind)
}

func padConstant(c *call, t tensor.Tensor, a, before, after int) tensor.Tensor {
	if before < 0 || after < 0 {
		t = t.Slice(a, max(0, -before), max(0, t.Len(a)+min(0, after)))
		before, after = max(0, before), max(0, after)
	}
	if !c.has(2) {
		return t.Pad(a, before, after, c.number("value", 0))
	}
	block := func(n int) tensor.Tensor {
		shape := t.Shape()
		shape[a] = n
		return c.in[2].Reshape().Cast(t.DType()).Expand(shape...)
	}
	return tensor.Concat([]tensor.Tensor{block(before), t, block(after)}, a)
}

func centerCropPad(c *call) []value {
	x := c.x(0)
	along := c.integers(len(c.in), "axes")
	if along == nil {
		along = span(0, x.Rank())
	}
	t := x.Tensor
	for i, want := range c.x(1).Ints() {
		a := axis(along[i], x.Rank())
		if have := t.Len(a); want <= have {
			start := (have - want) / 2
			t = t.Slice(a, start, start+want)
		} else {
			before := (want - have) / 2
			t = t.Pad(a, before, want-have-before, 0)
		}
	}
	return c.result(t, x.kind)
}

func depthToSpace(c *call) []value {
	x := c.x(0)
	s, b := x.Shape(), c.integer("blocksize", 1)
	n, ch, h, w := s[0], s[1], s[2], s[3]
	var t tensor.Tensor
	if c.text("mode", "DCR") == "DCR" {
		t = x.Reshape(n, b, b, ch/(b*b), h, w).Permute(0, 3, 4, 1, 5, 2)
	} else {
		t = x.Reshape(n, ch/(b*b), b, b, h, w).Permute(0, 1, 4, 2, 5, 3)
	}
	return c.result(t.Reshape(n, ch/(b*b), h*b, w*b), x.kind)
}

func spaceToDepth(c *call) []value {
	x := c.x(0)
	s, b := x.Shape(), c.integer("blocksize", 1)
	n, ch, h, w := s[0], s[1], s[2], s[3]
	t := x.Reshape(n, ch, h/b, b, w/b, b)
	if c.text("mode", "DCR") == "DCR" {
		t = t.Permute(0, 3, 5, 1, 2, 4)
	} else {
		t = t.Permute(0, 1, 3, 5, 2, 4)
	}
	return c.result(t.Reshape(n, ch*b*b, h/b, w/b), x.kind)
}

// shapeOf takes a range of the lengths, clipped as Python does.
func shapeOf(c *call) []value {
	shape := c.x(0).Shape()
	limit := func(i int) int {
		if i < 0 {
			i += len(shape)
		}
		return min(max(i, 0), len(shape))
	}
	from, to := limit(c.integer("start", 0)), limit(c.integer("end", len(shape)))
	list := shape[from:max(from, to)]
	return c.result(tensor.From(list, len(list)), kInt64)
}

func constant(c *call) []value {
	a := func(name string) attribute { return c.attributes[name] }
	switch {
	case a("value").tensor != nil:
		return []value{c.upload(a("value").tensor)}
	case c.set("value_float"):
		return c.result(tensor.Scalar(float64(a("value_float").float)), kFloat)
	case c.set("value_int"):
		return c.result(tensor.From(int(a("value_int").number)), kInt64)
	case c.set("value_floats"):
		return c.result(tensor.From(a("value_floats").floats, len(a("value_floats").floats)), kFloat)
	case c.set("value_ints"):
		list := c.integers(0, "value_ints")
		return c.result(tensor.From(list, len(list)), kInt64)
	}
	refuse("got no value that is a tensor of numbers")
	return nil
}

func constantOfShape(c *call) []value {
	shape := c.x(0).Ints()
	a := c.attributes["value"]
	if a.tensor == nil {
		return c.result(tensor.Zeros(shape...), kFloat)
	}
	v := c.upload(a.tensor)
	return c.result(v.Reshape().Expand(shape...), v.kind)
}

func eyeLike(c *call) []value {
	x := c.x(0)
	rows, columns := tensor.Range(x.Len(0)).Unsqueeze(1), tensor.Range(x.Len(1)).Unsqueeze(0)
	k := kind(c.integer("dtype", int(x.kind)))
	return c.result(columns.Sub(rows).Eq(c.integer("k", 0)).Cast(dtype.F32), k)
}

// rangeOp is start + i·delta; narrow floats are computed in f32.
func rangeOp(c *call) []value {
	start, limit, delta := c.x(0), c.x(1).Item(), c.x(2).Item()
	n := int(max(0, math.Ceil((limit-start.Item())/delta)))
	if start.kind.float() {
		return c.result(tensor.Range(n).Cast(c.real(start).DType()).Mul(delta).Add(c.real(start)), start.kind)
	}
	return c.result(tensor.Range(n).Mul(c.x(2).Cast(dtype.I64)).Add(start.Cast(dtype.I64)), start.kind)
}

func trilu(c *call) []value {
	x, k := c.x(0), 0
	if c.has(1) {
		k = int(c.in[1].Flatten().Item())
	}
	if c.flag("upper", 1) {
		return c.result(x.Triu(k), x.kind)
	}
	return c.result(x.Tril(k), x.kind)
}

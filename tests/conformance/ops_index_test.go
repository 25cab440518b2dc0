package conformance

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// indexing are the operators that choose elements by other tensors.
var indexing = map[string]operator{
	"Gather":          gather,
	"GatherElements":  gatherElements,
	"GatherND":        gatherND,
	"Scatter":         scatterElements,
	"ScatterElements": scatterElements,
	"ScatterND":       scatterND,
	"TensorScatter":   tensorScatter,
	"OneHot":          oneHot,
	"NonZero":         func(c *call) []value { return c.result(c.x(0).NonZero(), kInt64) },
	"Compress":        compress,
	"Where": func(c *call) []value {
		return c.result(tensor.Where(c.x(0).Tensor, c.x(1).Tensor, c.x(2).Tensor), c.x(1).kind)
	},
	"ReverseSequence": reverseSequence,
	"Unique":          unique,
}

// places are indices as i64, those below 0 counted from the end.
func places(index tensor.Tensor, length int) tensor.Tensor {
	i := index.Cast(dtype.I64)
	return tensor.Where(i.Lt(0), i.Add(length), i)
}

func gather(c *call) []value {
	x := c.x(0)
	a := axis(c.integer("axis", 0), x.Rank())
	return c.result(x.Take(c.x(1).Tensor, a), x.kind)
}

// gatherElements lets the index be shorter than x along the other axes.
func gatherElements(c *call) []value {
	x, index := c.x(0), c.x(1)
	a := axis(c.integer("axis", 0), x.Rank())
	t := x.Tensor
	for i := range x.Rank() {
		if i != a {
			t = t.Slice(i, 0, index.Len(i))
		}
	}
	return c.result(t.TakeAlong(index.Tensor, a), x.kind)
}

// rowNumbers turns tuples of indices (the last axis of index) into the number of the element that they name
// in C order.
func rowNumbers(index tensor.Tensor, shape []int) tensor.Tensor {
	n := tensor.Zeros(index.Shape()[:index.Rank()-1]...).Cast(dtype.I64)
	for i, d := range shape {
		n = n.Mul(d).Add(places(index.Select(-1, i), d))
	}
	return n
}

func gatherND(c *call) []value {
	x, index := c.x(0), c.x(1)
	b := c.integer("batch_dims", 0)
	k := index.Len(-1)
	shape := x.Shape()
	batches, inner := product(shape[:b]), product(shape[b:b+k])
	rest := shape[b+k:]
	n := rowNumbers(index.Tensor, shape[b:b+k]).Reshape(batches, product(index.Shape()[b:index.Rank()-1]))
	n = n.Add(tensor.Range(batches).Mul(inner).Unsqueeze(1)).Flatten()
	y := x.Reshape(append([]int{batches * inner}, rest...)...).Take(n, 0)
	return c.result(y.Reshape(slices.Concat(index.Shape()[:index.Rank()-1], rest)...), x.kind)
}

// combinations are the reductions of the scattering operators.
var combinations = map[string]tensor.Combination{
	"none": tensor.Replace, "add": tensor.Accumulate, "mul": tensor.Multiply, "min": tensor.Least, "max": tensor.Greatest,
}

func (c *call) combination() tensor.Combination {
	how, ok := combinations[c.text("reduction", "none")]
	if !ok {
		refuse("got reduction %q", c.text("reduction", ""))
	}
	return how
}

func scatterElements(c *call) []value {
	x := c.x(0)
	a := axis(c.integer("axis", 0), x.Rank())
	return c.result(x.PutAlong(a, c.x(1).Tensor, c.x(2).Tensor, c.combination()), x.kind)
}

// scatterND numbers the slices that the tuples of indices name.
func scatterND(c *call) []value {
	x, index, updates := c.x(0), c.x(1), c.x(2)
	k := index.Len(-1)
	shape := x.Shape()
	rows, width := product(shape[:k]), product(shape[k:])
	n := rowNumbers(index.Tensor, shape[:k]).Flatten()
	y := x.Reshape(rows, width).Put(0, n, updates.Reshape(n.Size(), width), c.combination())
	return c.result(y.Reshape(shape...), x.kind)
}

// tensorScatter writes a block into a cache, for each batch from its own place on.
func tensorScatter(c *call) []value {
	cache, update := c.x(0), c.x(1)
	a := axis(c.integer("axis", -2), cache.Rank())
	shape := slices.Repeat([]int{1}, cache.Rank())
	shape[a] = update.Len(a)
	index := tensor.Range(update.Len(a)).Reshape(shape...)
	if c.has(2) {
		shape[a], shape[0] = 1, update.Len(0)
		index = index.Add(c.in[2].Cast(dtype.I64).Reshape(shape...))
	}
	if c.text("mode", "linear") == "circular" {
		index = index.Mod(cache.Len(a))
	}
	index = index.Expand(update.Shape()...)
	return c.result(cache.PutAlong(a, index, update.Tensor, tensor.Replace), cache.kind)
}

func oneHot(c *call) []value {
	index, depth, values := c.x(0), int(c.x(1).Flatten().Item()), c.x(2)
	a := axis(c.integer("axis", -1), index.Rank()+1)
	hot := movedBack(places(index.Tensor, depth).OneHot(depth), a).Cast(dtype.Bool)
	return c.result(tensor.Where(hot, values.At(1), values.At(0)), values.kind)
}

// compress keeps the slices for which a condition holds; without an axis, elements.
func compress(c *call) []value {
	x := c.x(0)
	kept := c.x(1).NonZero().Flatten()
	if !c.set("axis") {
		return c.result(x.Flatten().Take(kept, 0), x.kind)
	}
	return c.result(x.Take(kept, axis(c.integer("axis", 0), x.Rank())), x.kind)
}

// reverseSequence turns around the beginning of each sequence, of the length that is given for its batch.
func reverseSequence(c *call) []value {
	x := c.x(0)
	batch, time := axis(c.integer("batch_axis", 1), x.Rank()), axis(c.integer("time_axis", 0), x.Rank())
	along := func(a int) []int {
		shape := slices.Repeat([]int{1}, x.Rank())
		shape[a] = x.Len(a)
		return shape
	}
	lengths := c.x(1).Cast(dtype.I64).Reshape(along(batch)...)
	t := tensor.Range(x.Len(time)).Reshape(along(time)...)
	index := tensor.Where(t.Lt(lengths), lengths.Sub(1).Sub(t), t)
	return c.result(x.TakeAlong(index.Expand(x.Shape()...), time), x.kind)
}

// unique finds the different elements, or the different slices of an axis. Slices become numbers first, by
// their elements one after the other: places in rising order of the distinct ones.
func unique(c *call) []value {
	x := c.x(0)
	keys := x.Flatten()
	if c.set("axis") {
		a := axis(c.integer("axis", 0), x.Rank())
		rows := x.MoveAxis(a, 0).Reshape(x.Len(a), -1)
		keys = tensor.Range(x.Len(a)).Mul(0)
		for _, column := range rows.Unstack(1) {
			both := column.Unique()
			keys = keys.Mul(max(1, both.Values.Len(0))).Add(both.Inverse).Unique().Inverse
		}
	}
	d := keys.Unique()
	first, inverse, counts := d.First, d.Inverse.Flatten(), d.Counts
	if !c.flag("sorted", 1) {
		order := first.ArgSort(0)
		first, counts = first.Take(order, 0), counts.Take(order, 0)
		inverse = order.ArgSort(0).Take(inverse, 0)
	}
	y := keys.Take(first, 0)
	if c.set("axis") {
		y = x.Take(first, axis(c.integer("axis", 0), x.Rank()))
	}
	return []value{c.fit(y, x.kind), c.fit(first, kInt64), c.fit(inverse, kInt64), c.fit(counts, kInt64)}
}

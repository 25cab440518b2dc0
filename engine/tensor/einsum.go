package tensor

import (
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Einsum sums products of tensors over named axes, as NumPy's einsum: in "bij,bjk->bik" each letter names an
// axis, an axis that is missing on the right is summed over, and a letter that one tensor has twice takes its
// diagonal. "..." stands for any number of further axes, which broadcast. Without "->" the result has the
// letters that occur once, in alphabetical order, after the axes of "...". Two tensors that share a summed
// axis meet in a [Tensor.MatMul].
func Einsum(equation string, ts []Tensor) Tensor {
	in, out := parseEinsum(equation, ts)
	terms := make([]term, len(ts))
	for i, t := range ts {
		terms[i] = diagonal(term{t, in[i]}, equation)
	}
	wantLengths(equation, terms)
	result := terms[0]
	for i, next := range terms[1:] {
		keep := slices.Clone(out)
		for _, later := range terms[i+2:] {
			keep = append(keep, later.axes...)
		}
		result = product(result, next, keep)
	}
	result = sumOut(result, out)
	return result.to(out).t
}

// A term is a tensor with a name for each axis: a letter, or below 0 an axis of "...", −1 the last one.
type term struct {
	t    Tensor
	axes []rune
}

// parseEinsum returns the axes of each operand and of the result.
func parseEinsum(equation string, ts []Tensor) (in [][]rune, out []rune) {
	left, right, explicit := strings.Cut(strings.ReplaceAll(equation, " ", ""), "->")
	parts := strings.Split(left, ",")
	if len(parts) != len(ts) {
		fail("einsum", "got %d tensors for %q, want %d", len(ts), equation, len(parts))
	}
	count, dots := map[rune]int{}, 0
	for i, part := range parts {
		extra := ts[i].Rank() - len(strings.Replace(part, "...", "", 1))
		if extra < 0 || extra > 0 && !strings.Contains(part, "...") {
			fail("einsum", "got %v for %q in %q, want one axis for each letter", ts[i].node("einsum"), part, equation)
		}
		dots = max(dots, extra)
		axes := axisNames(equation, part, extra)
		for _, a := range axes {
			count[a]++
		}
		in = append(in, axes)
	}
	if explicit {
		out = axisNames(equation, right, dots)
	} else {
		for i := -dots; i < 0; i++ {
			out = append(out, rune(i))
		}
		letters := []rune{}
		for a, n := range count {
			if a > 0 && n == 1 {
				letters = append(letters, a)
			}
		}
		slices.Sort(letters)
		out = append(out, letters...)
	}
	for i, a := range out {
		if a > 0 && count[a] == 0 || slices.Contains(out[:i], a) {
			fail("einsum", "got %q, want each letter of the result once, and on the left", equation)
		}
	}
	return in, out
}

// axisNames reads one part of an equation, in which "..." stands for that many axes.
func axisNames(equation, part string, dots int) []rune {
	before, after, found := strings.Cut(part, "...")
	names := []rune(before)
	if found {
		for i := -dots; i < 0; i++ {
			names = append(names, rune(i))
		}
		names = append(names, []rune(after)...)
	}
	for _, a := range names {
		if a > 0 && (a < 'A' || a > 'Z') && (a < 'a' || a > 'z') {
			fail("einsum", "got %q in %q, want letters, commas, -> and ...", a, equation)
		}
	}
	return names
}

// diagonal takes the diagonal of axes with the same name.
func diagonal(x term, equation string) term {
	for j := 0; j < len(x.axes); j++ {
		i := slices.Index(x.axes, x.axes[j])
		if i == j {
			continue
		}
		n := x.t.Len(i)
		if x.t.Len(j) != n {
			fail("einsum", "got %v for %q, want axes %d and %d of one length", x.t.node("einsum"), equation, i, j)
		}
		order := without(x.t.Rank(), i, j)
		shape := []int{}
		for _, a := range order {
			shape = append(shape, x.t.Len(a))
		}
		flat := x.t.Permute(append(order, i, j)...).Reshape(append(slices.Clone(shape), n*n)...)
		names := []rune{}
		for _, a := range order {
			names = append(names, x.axes[a])
		}
		x = term{flat.SliceStep(-1, 0, n*n, n+1), append(names, x.axes[i])}
		j = -1
	}
	return x
}

// without lists the axes of a rank, two of them left out.
func without(rank, i, j int) []int {
	order := []int{}
	for a := range rank {
		if a != i && a != j {
			order = append(order, a)
		}
	}
	return order
}

// wantLengths checks that an axis has one length everywhere; those of "..." may also be 1.
func wantLengths(equation string, terms []term) {
	lengths := map[rune]int{}
	for _, x := range terms {
		for i, a := range x.axes {
			n := x.t.Len(i)
			have, seen := lengths[a]
			if seen && have != n && (a > 0 || have != 1 && n != 1) {
				fail("einsum", "got lengths %d and %d for one axis of %q, want them equal", have, n, equation)
			}
			if !seen || n != 1 {
				lengths[a] = n
			}
		}
	}
}

// sumOut sums over the axes that nobody needs.
func sumOut(x term, keep []rune) term {
	gone, names := []int{}, []rune{}
	for i, a := range x.axes {
		if slices.Contains(keep, a) {
			names = append(names, a)
		} else {
			gone = append(gone, i)
		}
	}
	if len(gone) == 0 {
		return x
	}
	sum := x.t.Sum(gone...)
	if x.t.DType().Int() {
		sum = sum.Cast(x.t.DType()) // as products have it
	}
	return term{sum, names}
}

// to gives the term these axes in this order: missing ones get length 1.
func (x term) to(axes []rune) term {
	order, shape := []int{}, []int{}
	for _, a := range axes {
		if i := slices.Index(x.axes, a); i >= 0 {
			order = append(order, i)
			shape = append(shape, x.t.Len(i))
		} else {
			shape = append(shape, 1)
		}
	}
	return term{x.t.Permute(order...).Reshape(shape...), axes}
}

// product multiplies two terms and sums over the axes that are not to be kept.
func product(x, y term, keep []rune) term {
	x = sumOut(x, append(slices.Clone(keep), y.axes...))
	y = sumOut(y, append(slices.Clone(keep), x.axes...))
	var both, summed, left, right []rune
	for _, a := range x.axes {
		switch {
		case !slices.Contains(y.axes, a):
			left = append(left, a)
		case slices.Contains(keep, a):
			both = append(both, a)
		default:
			summed = append(summed, a)
		}
	}
	for _, a := range y.axes {
		if !slices.Contains(x.axes, a) {
			right = append(right, a)
		}
	}
	names := slices.Concat(both, left, right)
	if len(summed) == 0 || uneven(x, y, summed) {
		all := append(slices.Clone(names), summed...)
		return sumOut(term{x.to(all).t.Mul(y.to(all).t), all}, names)
	}
	a, b := x.to(slices.Concat(both, left, summed)).t, y.to(slices.Concat(both, summed, right)).t
	i, j, k := len(both), len(left), len(summed)
	sa, sb := a.Shape(), b.Shape()
	a = a.Reshape(slices.Concat(sa[:i], []int{ir.Size(sa[i : i+j]), ir.Size(sa[i+j:])})...)
	b = b.Reshape(slices.Concat(sb[:i], []int{ir.Size(sb[i : i+k]), ir.Size(sb[i+k:])})...)
	c := a.MatMul(b)
	return term{c.Reshape(slices.Concat(c.Shape()[:i], sa[i:i+j], sb[i+k:])...), names}
}

// uneven says whether a summed axis (one of "...") broadcasts.
func uneven(x, y term, summed []rune) bool {
	return slices.ContainsFunc(summed, func(a rune) bool { return x.t.Len(slices.Index(x.axes, a)) != y.t.Len(slices.Index(y.axes, a)) })
}

// TensorDot multiplies and sums over axes of t and those of y in the same order (NumPy's tensordot): what is
// left of t's axes comes first, then what is left of y's.
func (t Tensor) TensorDot(y Tensor, axes, yAxes []int) Tensor {
	a, b := t.node("tensor_dot"), y.node("tensor_dot")
	if len(axes) != len(yAxes) {
		fail("tensor_dot", "got axes %v and %v, want as many of each", axes, yAxes)
	}
	left, right := term{t: t}, term{t: y}
	for i := range a.Shape {
		left.axes = append(left.axes, rune(1+i))
	}
	for i := range b.Shape {
		right.axes = append(right.axes, rune(1+len(a.Shape)+i))
	}
	keep := slices.Concat(left.axes, right.axes)
	for k := range axes {
		i, j := axisOf("tensor_dot", a, axes[k]), axisOf("tensor_dot", b, yAxes[k])
		if a.Shape[i] != b.Shape[j] || !slices.Contains(keep, left.axes[i]) || !slices.Contains(keep, right.axes[j]) {
			fail("tensor_dot", "got %v and %v with axes %v and %v, want axes of one length, each once", a, b, axes, yAxes)
		}
		keep = slices.DeleteFunc(keep, func(r rune) bool { return r == left.axes[i] || r == right.axes[j] })
		right.axes[j] = left.axes[i]
	}
	return product(left, right, keep).to(keep).t
}

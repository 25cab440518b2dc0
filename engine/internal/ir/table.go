package ir

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// table is filled by init, because the rules that stand in it build nodes, which look up the table.
var table [NumOps]Row

func init() {
	// enter puts rows into the table, of a family if they name no other one.
	enter := func(family Family, lists ...[]Row) {
		for _, rows := range lists {
			for i := range rows {
				r := &rows[i]
				if table[r.Op].Name != "" {
					panic("ir: two rows for " + r.Name)
				}
				r.Sources = max(r.Sources, len(r.Operands))
				if r.Family == FamilyLeaf {
					r.Family = family
				}
				table[r.Op] = *r
			}
		}
	}
	enter(FamilyLeaf, leafRows())
	enter(FamilyRandom, randomRows())
	enter(FamilyView, viewRows())
	enter(FamilyCopy, copyRows())
	enter(FamilyElementwise, unaryRows(), binaryRows(), compareRows())
	enter(FamilyReduce, reduceRows())
	enter(FamilyIndex, scanRows(), indexRows())
	enter(FamilyMatMul, linearRows(), linearLossRows(), groupedRows(), quantRows())
	enter(FamilyRow, softmaxRows(), normRows(), lossRows())
	enter(FamilyAttention, attentionRows())
	enter(FamilyConv, convRows())
	enter(FamilyOptimizer, optimizerRows())
	enter(FamilyKernel, kernelRows())
}

// Rows lists the op table in the order of the ops.
func Rows() []Row { return slices.Clone(table[1:]) }

// RowOf returns the row of an op.
func RowOf(op Op) *Row { return &table[op] }

// String returns the row's name.
func (op Op) String() string {
	if op > Invalid && op < NumOps {
		return table[op].Name
	}
	return fmt.Sprintf("op(%d)", uint8(op))
}

// Family is the family of op's row; that of Invalid is FamilyLeaf.
func (op Op) Family() Family { return table[op].Family }

// Operations is how many floating-point operations an elementwise op takes for one element: 1 for an
// addition, 10 and more for a function that is a series.
func (op Op) Operations() int64 { return table[op].Flops(&Node{Attr: none}) }

var familyNames = [...]string{
	"leaf", "view", "copy", "elementwise", "reduce", "matmul", "row", "attention", "conv", "index", "random", "optimizer", "kernel",
}

// String returns the family in lower case.
func (f Family) String() string { return familyNames[f] }

// The helpers below are what Infer rules are made of.

// all is a rule of several, of which the first that is broken counts.
func all(rules ...func(n *Node) error) func(n *Node) error {
	return func(n *Node) error {
		for _, rule := range rules {
			if err := rule(n); err != nil {
				return err
			}
		}
		return nil
	}
}

// as makes n's type that of s.
func as(n, s *Node) error {
	n.DType, n.Shape = s.DType, s.Shape
	return nil
}

// asFirst makes n's type that of its first source.
func asFirst(n *Node) error { return as(n, n.Src[0]) }

// areNumbers, areFloats and hasAxis are checks of the sources: of the first, or of all.
func areNumbers(n *Node) error {
	if !number(n.Src[0].DType) {
		return got(n, "numbers")
	}
	return nil
}

func areFloats(n *Node) error { return floats(n, n.Src...) }
func hasAxis(n *Node) error   { return axis(n, n.Src[0]) }

// floats checks that every source in list is floating-point, and of one dtype.
func floats(n *Node, list ...*Node) error {
	for _, s := range list {
		if !s.DType.Float() {
			return got(n, "a floating-point dtype")
		}
		if s.DType != list[0].DType {
			return got(n, "one dtype")
		}
	}
	return nil
}

// axis checks that Attr.Axis is an axis of s.
func axis(n, s *Node) error {
	if n.Attr.Axis < 0 || n.Attr.Axis >= len(s.Shape) {
		return got(n, "an axis from 0 to %d (not %d)", len(s.Shape)-1, n.Attr.Axis)
	}
	return nil
}

// hasAxes checks that Attr.Axes are different axes of the first source, in rising order.
func hasAxes(n *Node) error {
	s := n.Src[0]
	for i, a := range n.Attr.Axes {
		if a < 0 || a >= len(s.Shape) || i > 0 && a <= n.Attr.Axes[i-1] {
			return got(n, "rising axes from 0 to %d (not %v)", len(s.Shape)-1, n.Attr.Axes)
		}
	}
	return nil
}

// accumulator is the dtype of statistics over rows of dt: logsumexp, losses, optimizer state.
func accumulator(dt dtype.Type) dtype.Type {
	if dt == dtype.F64 {
		return dtype.F64
	}
	return dtype.F32
}

// number says whether dt has arithmetic: Bool has none.
func number(dt dtype.Type) bool { return dt.Float() || dt.Int() }

// with returns shape with axis i replaced by the lengths in mid.
func with(shape []int, i int, mid ...int) []int {
	return slices.Concat(shape[:i], mid, shape[i+1:])
}

// flops returns a cost of k operations an element of the result.
func flops(k int64) func(*Node) int64 {
	return func(n *Node) int64 { return k * int64(Size(result(n))) }
}

// result is the shape of n, or of its first value.
func result(n *Node) []int {
	if n.Outs != nil {
		return n.Outs[0].Shape
	}
	return n.Shape
}

// flopsOfSource returns a cost of k operations an element of the first source.
func flopsOfSource(k int64) func(*Node) int64 {
	return func(n *Node) int64 { return k * int64(Size(n.Src[0].Shape)) }
}

// free is the cost of ops that only move elements.
func free(*Node) int64 { return 0 }

// Tolerances in units of the result's largest magnitude.
const (
	exact      = 0    // only moves or compares elements, or is rounded once by IEEE 754
	rounding   = 5e-7 // a few operations, each rounded
	functions  = 2e-6 // vector versions of exp, log, sin, …
	summation  = 1e-5 // sums in another order
	reductions = 3e-5 // sums of products of functions
)

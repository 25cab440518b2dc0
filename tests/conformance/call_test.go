package conformance

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A call is one run of a node: the inputs and attributes of its operator.
type call struct {
	machine
	*node
	in []value
}

// An operator computes the outputs of a node. It panics with a refusal or a *tensor.Error.
type operator func(c *call) []value

// operators has all implemented operators by name; each family has its own table.
var operators = merge(elementwise, logical, reductions, shaping, indexing, linear, windowed, normalizing, losses, optimizers, quantizing)

func merge(families ...map[string]operator) map[string]operator {
	all := map[string]operator{}
	for _, f := range families {
		for name, op := range f {
			if all[name] != nil {
				panic("two operators named " + name)
			}
			all[name] = op
		}
	}
	return all
}

// has says whether an optional input is there.
func (c *call) has(i int) bool { return i < len(c.in) && !c.in[i].IsNone() }

// x is a required input.
func (c *call) x(i int) value {
	if !c.has(i) {
		refuse("got no input %d", i)
	}
	return c.in[i]
}

// second returns input 1 of an operator of two. Before version 7 its axes are aligned from the axis that
// an attribute names, not from the end.
func (c *call) second() value {
	y := c.x(1)
	rank := c.x(0).Rank()
	if c.version >= 7 || !c.set("axis") || y.Rank() == 0 {
		return y
	}
	after := rank - axis(c.integer("axis", 0), rank) - y.Rank()
	if after < 0 {
		refuse("got %v beside %v from axis %d on", y.Shape(), c.x(0).Shape(), c.integer("axis", 0))
	}
	return value{y.Reshape(append(y.Shape(), slices.Repeat([]int{1}, after)...)...), y.kind}
}

// result is a single output of the kind.
func (c *call) result(t tensor.Tensor, k kind) []value { return []value{c.fit(t, k)} }

func (c *call) integer(name string, otherwise int) int {
	if a, ok := c.attributes[name]; ok {
		return int(a.number)
	}
	return otherwise
}

func (c *call) flag(name string, otherwise int) bool { return c.integer(name, otherwise) != 0 }

func (c *call) number(name string, otherwise float64) float64 {
	if a, ok := c.attributes[name]; ok {
		return float64(a.float)
	}
	return otherwise
}

func (c *call) text(name, otherwise string) string {
	if a, ok := c.attributes[name]; ok {
		return a.text
	}
	return otherwise
}

func (c *call) set(name string) bool {
	_, ok := c.attributes[name]
	return ok
}

// integers is a list that newer versions take as input i and older ones as an attribute; nil if there is
// neither.
func (c *call) integers(i int, name string) []int {
	if c.has(i) {
		return c.in[i].Flatten().Ints()
	}
	a, ok := c.attributes[name]
	if !ok {
		return nil
	}
	list := make([]int, len(a.ints))
	for j, v := range a.ints {
		list[j] = int(v)
	}
	return list
}

// axis resolves an axis that may count from the end.
func axis(a, rank int) int {
	if a < 0 {
		a += rank
	}
	if a < 0 || a >= rank {
		refuse("got an axis beyond rank %d", rank)
	}
	return a
}

func axes(list []int, rank int) []int {
	out := make([]int, len(list))
	for i, a := range list {
		out[i] = axis(a, rank)
	}
	return out
}

// span lists from … to−1.
func span(from, to int) []int {
	list := []int{}
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// real is a float tensor of at least f32 with the values of x, in which formulas are computed before they are
// rounded.
func (c *call) real(x value) tensor.Tensor {
	if x.DType() == dtype.F64 {
		return x.Tensor
	}
	return x.Cast(dtype.F32)
}

// moved puts an axis last; its reverse is moved back.
func moved(t tensor.Tensor, a int) tensor.Tensor {
	order := slices.DeleteFunc(span(0, t.Rank()), func(i int) bool { return i == a })
	return t.Permute(append(order, a)...)
}

// movedBack puts the last axis where moved took it from.
func movedBack(t tensor.Tensor, a int) tensor.Tensor {
	order := slices.Insert(span(0, t.Rank()-1), a, t.Rank()-1)
	return t.Permute(order...)
}

package magics

import (
	"go/ast"
	"slices"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/session"
)

// A state is what a statement changes and what can be put back: the variables of the session that it assigns
// to, the tensors that it Sets by such a variable's name, and where the generator of random tensors stands.
type state struct {
	vars   *session.Snapshot
	boxes  []box
	random *tensor.RNG
	stood  tensor.RNGState
}

// A box is a variable's tensor with the value that it had.
type box struct {
	name        string
	tensor, was tensor.Tensor
}

// state remembers what a statement changes of these variables.
func (c *call) state(source string, names []string) *state {
	s := &state{vars: c.s.Snapshot(names...), random: tensor.DefaultRNG()}
	s.stood = s.random.State()
	set := setTensors(source)
	for _, v := range c.s.Vars() {
		if t, ok := v.Value.(tensor.Tensor); ok && slices.Contains(set, v.Name) && !t.IsNone() && !t.Freed() {
			s.boxes = append(s.boxes, box{v.Name, t, t.Eval().Snapshot()})
		}
	}
	return s
}

// restore puts back what has changed, and says of which variables. That the generator has moved does not
// count: other random numbers are as much work.
func (s *state) restore() (changed []string) {
	s.random.SetState(s.stood)
	changed = s.vars.Restore()
	for _, b := range s.boxes {
		if b.tensor.Restore(b.was) {
			changed = append(changed, b.name)
		}
	}
	return changed
}

// setTensors are the variables whose values a statement replaces: p of p.Set(…).
func setTensors(source string) (names []string) {
	for _, stmt := range parseStatements(source) {
		ast.Inspect(stmt, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Set" {
				if id, ok := ast.Unparen(sel.X).(*ast.Ident); ok {
					names = append(names, id.Name)
				}
			}
			return true
		})
	}
	return names
}

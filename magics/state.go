package magics

import (
	"go/ast"
	"slices"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/notation"
	"github.com/mcs-notebook/mcs/repl/session"
)

// A state holds everything that a statement changes and that can be put back: session variables that it
// assigns, tensors that it Sets by the name of a variable, and the position of the random generator.
type state struct {
	vars   *session.Snapshot
	boxes  []box
	random *tensor.RNG
	stood  tensor.RNGState
}

// A box is the tensor of a variable, and the value that it had.
type box struct {
	name        string
	tensor, was tensor.Tensor
}

// state remembers the variables names, and the tensors that the statement Sets.
func (c *call) state(code *notation.Statements, names []string) *state {
	s := &state{vars: c.s.Snapshot(names...), random: tensor.DefaultRNG()}
	s.stood = s.random.State()
	set := setTensors(code)
	for _, v := range c.s.Vars() {
		if t, ok := v.Value.(tensor.Tensor); ok && slices.Contains(set, v.Name) && !t.IsNone() && !t.Freed() {
			s.boxes = append(s.boxes, box{v.Name, t, t.Eval().Snapshot()})
		}
	}
	return s
}

// restore puts everything back and returns the names of the variables that had changed. A moved random
// generator is no change: other random numbers cost as much work.
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

// setTensors returns the variables whose values a statement replaces: p in p.Set(…).
func setTensors(code *notation.Statements) (names []string) {
	code.Inspect(func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Set" {
			if id, ok := ast.Unparen(sel.X).(*ast.Ident); ok {
				names = append(names, id.Name)
			}
		}
		return true
	})
	return names
}

package session

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// rebound tells, once in a session, of a parameter whose name a unit gives to what is computed from it. It is
// called before the unit runs, and its result after that.
func (s *Session) rebound(u *compile.Unit) (after func()) {
	if s.toldRebound || len(u.Rebinds) == 0 {
		return func() {}
	}
	was := map[string]bool{}
	for _, r := range u.Rebinds {
		param, known := s.isParam(r.Name)
		was[r.Name] = r.Param || known && param
	}
	return func() {
		for _, r := range u.Rebinds {
			if param, known := s.isParam(r.Name); known && !param && was[r.Name] && !s.toldRebound {
				s.toldRebound = true
				s.Tell("%s", fmt.Sprintf("%s is no parameter now: %s:%d gave its name to a new tensor, which depends on all that came before. "+
					"%s changes the parameter itself; %s = %s.Param() makes this tensor one", r.Name, world.CellName(s.past.n), r.Line, r.Set, r.Name, r.Name))
			}
		}
	}
}

// isParam says whether a variable of the session is a parameter, and whether it is a tensor at all.
func (s *Session) isParam(name string) (param, known bool) {
	e := s.compiler.World.Names[name]
	if e == nil || e.Kind != world.Var {
		return false, false
	}
	v, ok := s.value(e)
	if !ok {
		return false, false
	}
	t, ok := v.(tensor.Tensor)
	if !ok || t == (tensor.Tensor{}) || t.Freed() {
		return false, false
	}
	return t.IsParam(), true
}

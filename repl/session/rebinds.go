package session

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// rebound tells, once in a session, of a parameter whose name a unit or a function that it calls gives to
// what is computed from it, and of a function that does so with its own parameter. It is called before the
// unit runs, and its result after that.
func (s *Session) rebound(u *compile.Unit) (after func()) {
	if s.told["rebound"] {
		return func() {}
	}
	list := u.Rebinds
	if u.Runs {
		for _, e := range s.compiler.World.Names {
			if e.Kind == world.Func && e.Decl != nil {
				list = append(list[:len(list):len(list)], e.Decl.Rebinds...)
			}
		}
	}
	was := map[string]bool{}
	for _, r := range list {
		param, known := s.isParam(r.Name)
		was[r.Name] = was[r.Name] || r.Param || known && param
	}
	return func() {
		for _, r := range list {
			place := fmt.Sprintf("%s:%d", world.CellName(r.Cell), r.Line)
			param, known := s.isParam(r.Name)
			switch {
			case s.told["rebound"]:
			case r.Parameter != "":
				s.once("rebound")
				way := r.Set + " changes that itself"
				if r.Set == "" {
					way = "return " + r.Name + " gives the new one back"
				}
				s.Tell("%s of %s is another tensor after %s: the one that its caller gives it stays as it was. %s", r.Name, r.Parameter, place, way)
			case known && !param && was[r.Name]:
				s.once("rebound")
				s.Tell("%s", fmt.Sprintf("%s is no parameter now: %s gave its name to a new tensor, which depends on all that came before. "+
					"%s changes the parameter itself; %s = %s.Param() makes this tensor one", r.Name, place, r.Set, r.Name, r.Name))
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

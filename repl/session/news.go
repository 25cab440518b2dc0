package session

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/help"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// news describes the names whose type has changed since the units began to run: the new meaning of each
// name, and the functions and goroutines that still use the old one.
func (s *Session) news(ran []*compile.Unit) (lines []string) {
	say := func(line string) {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	for _, u := range ran {
		for _, old := range u.Replaced {
			now := s.meaning(old)
			if now == nil || now == old {
				continue
			}
			if old.Kind == world.Type {
				for _, line := range s.keepingType(old.Obj, now.Obj) {
					say(line)
				}
				continue
			}
			if now.Kind == old.Kind && (compile.SameShape(now.Obj.Type(), old.Obj.Type()) || world.TypeString(now.Obj.Type()) == world.TypeString(old.Obj.Type())) {
				continue
			}
			holders := s.holding(old)
			if len(holders) == 0 && (old.Kind != world.Var || now.Kind != world.Var || old.Cell == s.past.n) {
				continue
			}
			what := now.Kind.String()
			if now.Kind != world.Type {
				what = world.TypeString(now.Obj.Type())
			}
			was, is := help.Article(world.TypeString(old.Obj.Type())), help.Article(what)
			say(fmt.Sprintf("%s is %s now, it was %s", old.Name, is, was) + keeping(holders))
		}
		for _, m := range u.Moves { // the name now means another variable
			if holders := s.holding(m.From); len(holders) > 0 {
				say(fmt.Sprintf("%s is of the new %s now", m.From.Name, world.TypeString(m.To.Obj.Type())) + keeping(holders))
			}
		}
		for _, d := range u.Dropped {
			say(d.Title() + " stays as it was: it does not fit what is new")
		}
	}
	return lines
}

// renewAll makes redeclared types take the place of their earlier versions.
func (s *Session) renewAll(replaced []*world.Entity) {
	for _, old := range replaced {
		was, ok := old.Obj.(*types.TypeName)
		e := s.compiler.World.Names[old.Name]
		if !ok || e == nil {
			continue
		}
		if now, ok := e.Obj.(*types.TypeName); ok {
			s.renew(was, now)
		}
	}
}

// renew makes a type stand for the earlier type of its name, if both have the same underlying type. Values
// of the earlier type that an any holds then have the new methods.
func (s *Session) renew(was, now *types.TypeName) {
	if now != was && !now.IsAlias() && !was.IsAlias() && compile.SameShape(was.Type(), now.Type()) {
		s.rt.Renew(s.compiler.Types.Renew(was, now))
	}
}

// keeping words the list of functions and variables that still use the old meaning of a name.
func keeping(holders []string) string {
	switch n := len(holders); n {
	case 0:
		return ""
	case 1:
		return "; " + holders[0] + " keeps the old one"
	default:
		return "; " + strings.Join(holders[:n-1], ", ") + " and " + holders[n-1] + " keep the old one"
	}
}

// meaning returns the entity that the name of a variable, function, type or method means now.
func (s *Session) meaning(old *world.Entity) *world.Entity {
	recv, name, method := strings.Cut(old.Name, ".")
	if !method {
		return s.compiler.World.Names[old.Name]
	}
	t := s.compiler.World.Names[recv]
	if t == nil || t.Kind != world.Type {
		return nil
	}
	m, _, _ := types.LookupFieldOrMethod(t.Obj.Type(), true, t.Obj.Pkg(), name)
	if f, ok := m.(*types.Func); ok {
		return &world.Entity{Name: old.Name, Kind: world.Func, Obj: f}
	}
	return nil
}

// holding lists the declarations that still use a variable or function after its name got a new meaning, and
// those whose functions come from them.
func (s *Session) holding(old *world.Entity) (list []string) {
	from := map[string]bool{} // what may have given its functions away
	for name, e := range s.compiler.World.Names {
		if e.Kind == world.Func && e.Decl != nil && e.Decl.Uses[old.Name] {
			from[name] = true
		}
	}
	note := func(uses func(h *world.Holder) bool) (more bool) {
		for _, h := range s.compiler.World.Holders {
			if !uses(h) || h.Running && !s.rt.Runs(world.CellName(h.Cell)) {
				continue
			}
			if e := s.compiler.World.Names[h.Name]; h.Name != "" && (e == nil || e.Kind != world.Var) {
				continue // the variable was deleted
			}
			if text := h.String(); !slices.Contains(list, text) {
				list, more = append(list, text), true
				from[h.Name] = true
			}
		}
		return more
	}
	note(func(h *world.Holder) bool {
		t := h.Holds[old.Name]
		return t != nil && types.Identical(t, old.Obj.Type())
	})
	for more := old.Kind == world.Func || old.Kind == world.Var; more; {
		more = note(func(h *world.Holder) bool {
			for name := range h.Holds {
				if of, ok := strings.CutPrefix(name, compile.HeldValue("")); ok && from[of] {
					return true
				}
			}
			return false
		})
	}
	return list
}

// keepingType lists what keeps an earlier version of a redeclared type: variables of that type, variables
// with such values in interfaces, and closures and goroutines that mention it. With the same underlying type
// the latter have the new version.
func (s *Session) keepingType(old, now types.Object) (lines []string) {
	renewed := compile.SameShape(old.Type(), now.Type())
	say := func(line string) {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	isOld := func(t types.Type) (found bool) {
		world.WalkNamed(t, func(n *types.Named) { found = found || n.Origin().Obj() == old })
		return found
	}
	for name, e := range s.compiler.World.Names {
		switch {
		case e.Kind != world.Var:
		case isOld(e.Obj.Type()):
			say(fmt.Sprintf("%s keeps the %s of before", name, world.TypeString(e.Obj.Type())))
		case !renewed && s.inInterfaces(s.rt.Variable(e.Internal), isOld):
			say(fmt.Sprintf("%s keeps values of the %s of before", name, old.Name()))
		}
	}
	if !renewed {
		for _, h := range s.holding(&world.Entity{Name: compile.HeldType(old), Kind: world.Type, Obj: old}) {
			say(fmt.Sprintf("%s keeps the %s of before", h, old.Name()))
		}
	}
	slices.Sort(lines)
	return lines
}

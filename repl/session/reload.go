package session

import (
	"context"
	"fmt"
	"go/types"
	"maps"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// runLocal runs a package's declarations and initial values. From then on the package is what cells see under
// its folder; one whose initial values panic is not, and is loaded anew by the next import.
func (s *Session) runLocal(ctx context.Context, u *unit) error {
	p := u.local
	if p.ran {
		return nil
	}
	if _, err := s.execute(ctx, u, nil); err != nil {
		delete(s.locals.newest, p.dir)
		return err
	}
	p.ran = true
	s.locals.current[p.dir] = p
	return nil
}

// racy is how long after a change a file may change once more without looking different.
const racy = 100 * time.Millisecond

// stamp tells whether the files of the packages may have changed, without reading them. It is empty if that
// cannot be told because they have changed just now.
func (ls *locals) stamp() string {
	var b strings.Builder
	settled := time.Now().Add(-racy)
	for _, dir := range ls.watched {
		list, err := os.ReadDir(dir)
		fmt.Fprintf(&b, "%s %v\n", dir, err)
		for _, f := range list {
			info, err := f.Info()
			if err != nil || !strings.HasSuffix(f.Name(), ".go") {
				continue
			}
			if info.ModTime().After(settled) {
				return ""
			}
			fmt.Fprintf(&b, "%s %d %d\n", f.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}

// refresh loads packages again whose files have changed, or those of a package that they import. One that
// cannot be loaded stays as it was, which is said once.
func (s *Session) refresh(ctx context.Context) {
	ls := s.locals
	if len(ls.watched) == 0 {
		return
	}
	stamp := ls.stamp()
	if stamp != "" && stamp == ls.stamped {
		return
	}
	ls.stamped = stamp
	for _, p := range s.imports() {
		before := map[string]*local{}
		for dir, q := range ls.current {
			before[dir] = q
		}
		again, err := s.reload(ctx, p)
		if err != nil {
			text := err.Error()
			if said := slices.Collect(maps.Values(ls.kept)); !slices.Contains(said, text) {
				s.tell("%s: not reloaded, it stays as it was:\n%s", p.shown, text)
			}
			ls.kept[p.dir] = text
			for dir, q := range before { // what had been reloaded for it
				ls.current[dir], ls.newest[dir] = q, q
			}
			continue
		}
		delete(ls.kept, p.dir)
		if again != p {
			s.rebind(ctx, before)
		}
	}
}

// imports are the packages of the user's that cells have imported, by their names.
func (s *Session) imports() (list []*local) {
	paths := s.world.Dots
	for _, path := range s.world.Imports {
		paths = append(paths[:len(paths):len(paths)], path)
	}
	for _, path := range paths {
		if p := s.locals.byPath[path]; p != nil && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].shown < list[j].shown })
	return list
}

// reload loads and runs a package as its files are now.
func (s *Session) reload(ctx context.Context, p *local) (*local, error) {
	again, units, err := s.loadLocal(p.dir, nil)
	if err != nil {
		return nil, err
	}
	for _, u := range units {
		if err := s.build(s.world.Stage(), u); err != nil {
			return nil, err
		}
	}
	for _, u := range units {
		if err := s.runLocal(ctx, u); err != nil {
			return nil, err
		}
	}
	return again, nil
}

// rebind has cells see the packages that were reloaded since before: imports lead to them, functions that use
// them are declared again, and variables of their types get the new types, if those look the same inside.
func (s *Session) rebind(ctx context.Context, before map[string]*local) {
	st := s.world.Stage()
	st.Reloaded = map[string]*types.Package{}
	var lines, changed []string
	for dir, old := range before {
		if now := s.locals.current[dir]; now != old {
			st.Reloaded[old.path] = now.pkg
			changed = append(changed, old.path)
			lines = append(lines, now.shown+": reloaded"+anew(now))
		}
	}
	for name, path := range s.world.Imports {
		if now := st.Reloaded[path]; now != nil {
			s.world.Imports[name] = now.Path()
		}
	}
	for i, path := range s.world.Dots {
		if now := st.Reloaded[path]; now != nil {
			s.world.Dots[i] = now.Path()
			st.Dots = s.world.Dots
		}
	}
	s.generation++
	var u *unit
	file, err := s.parse(0, 1, 1, "package "+world.PkgPath, "", "\n")
	if err == nil {
		u, err = s.redeclare(st, &unit{pos: file.Package}, nil, changed)
	}
	if err == nil {
		err = s.build(st, u)
	}
	if err == nil {
		_, err = s.runUnit(ctx, &Result{}, u)
	}
	if err != nil {
		lines = append(lines, "functions of cells that use it stay as they were: "+err.Error())
	} else {
		for _, d := range u.dropped {
			lines = append(lines, d.Title()+" stays as it was: it does not fit what is new")
		}
	}
	for _, e := range s.world.Names {
		if e.Kind == world.Var && s.mentionsOld(st, e.Obj.Type()) {
			lines = append(lines, fmt.Sprintf("%s keeps the %s of before, which is made of something else now", e.Name, world.TypeString(e.Obj.Type())))
		}
	}
	sort.Strings(lines)
	s.tell("%s", strings.Join(lines, "\n"))
}

// anew says what a reload does to a package's variables, if it has any.
func anew(p *local) string {
	for _, e := range p.world.Names {
		if e.Kind == world.Var {
			return ", its variables start anew"
		}
	}
	return ""
}

// mentionsOld says whether a type is written with one of a package that was reloaded.
func (s *Session) mentionsOld(st *world.Stage, t types.Type) (found bool) {
	world.WalkNamed(t, func(n *types.Named) { found = found || st.Renewed(n) != nil })
	return found
}

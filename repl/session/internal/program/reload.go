package program

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

	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// A Runner runs compiled units for the session.
type Runner interface {
	// RunUnit commits a unit's declarations and runs its code, in the cell that ctx belongs to.
	RunUnit(ctx context.Context, u *compile.Unit) error
	// Changed says that names have another meaning: the rest of a cell must be checked again.
	Changed()
	// Renewed says that a type was declared again.
	Renewed(was, now *types.TypeName)
	// Tell says something to the person.
	Tell(format string, args ...any)
}

// Ran says whether the declarations and initial values of a package have run.
func (ps *Packages) Ran(p *compile.Package) bool { return ps.byPath[p.Path].ran }

// Ended notes the end of a package's run. Without an error, cells see the package under its folder from
// now on. A package whose initial values panic is loaded again by the next import.
func (ps *Packages) Ended(p *compile.Package, err error) {
	if err != nil {
		delete(ps.newest, p.Dir)
		return
	}
	now := ps.byPath[p.Path]
	now.ran = true
	ps.current[p.Dir] = now
}

// racy is how long after a change a file may change once more without looking different.
const racy = 100 * time.Millisecond

// stamp describes the files of the packages without reading them, to tell whether they may have changed.
// It is empty if they changed so recently that their times cannot tell.
func (ps *Packages) stamp() string {
	var b strings.Builder
	settled := time.Now().Add(-racy)
	for _, dir := range ps.watched {
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

// Refresh loads packages again whose files, or whose imports' files, have changed. A package that cannot
// be loaded keeps its old version, with one notice.
func (ps *Packages) Refresh(ctx context.Context) {
	if len(ps.watched) == 0 {
		return
	}
	stamp := ps.stamp()
	if stamp != "" && stamp == ps.stamped {
		return
	}
	ps.stamped = stamp
	for _, p := range ps.imports() {
		before := map[string]*local{}
		maps.Copy(before, ps.current)
		again, err := ps.reload(ctx, p)
		if err != nil {
			text := err.Error()
			if said := slices.Collect(maps.Values(ps.kept)); !slices.Contains(said, text) {
				ps.run.Tell("%s: not reloaded, it stays as it was:\n%s", p.shown, text)
			}
			ps.kept[p.Dir] = text
			for dir, q := range before { // the packages reloaded for it
				ps.current[dir], ps.newest[dir] = q, q
			}
			continue
		}
		delete(ps.kept, p.Dir)
		if again != p {
			ps.rebind(ctx, before)
		}
	}
}

// imports are the packages of the user's that cells have imported, by their names.
func (ps *Packages) imports() (list []*local) {
	paths := ps.c.World.Dots
	for _, path := range ps.c.World.Imports {
		paths = append(slices.Clip(paths), path)
	}
	for _, path := range paths {
		if p := ps.byPath[path]; p != nil && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].shown < list[j].shown })
	return list
}

// reload loads and runs a package as its files are now.
func (ps *Packages) reload(ctx context.Context, p *local) (*local, error) {
	again, units, err := ps.loadLocal(ctx, p.place, nil)
	if err != nil {
		return nil, err
	}
	for _, u := range units {
		if err := ps.c.Build(ps.c.World.Stage(), u); err != nil {
			return nil, err
		}
	}
	for _, u := range units {
		if err := ps.run.RunUnit(ctx, u); err != nil {
			return nil, err
		}
	}
	return again, nil
}

// rebind has cells see the packages that were reloaded since before: imports lead to them, functions that use
// them are declared again, and variables of their types get the new types, if those look the same inside.
func (ps *Packages) rebind(ctx context.Context, before map[string]*local) {
	st := ps.c.World.Stage()
	st.Reloaded = map[string]*types.Package{}
	var lines, changed []string
	for dir, old := range before {
		if now := ps.current[dir]; now != old {
			st.Reloaded[old.Path] = now.Types
			ps.renewTypes(old.Types, now.Types)
			changed = append(changed, old.Path)
			lines = append(lines, now.shown+": reloaded"+anew(now))
		}
	}
	for name, path := range ps.c.World.Imports {
		if now := st.Reloaded[path]; now != nil {
			ps.c.World.Imports[name] = now.Path()
		}
	}
	for i, path := range ps.c.World.Dots {
		if now := st.Reloaded[path]; now != nil {
			ps.c.World.Dots[i] = now.Path()
			st.Dots = ps.c.World.Dots
		}
	}
	ps.run.Changed()
	u, err := ps.c.Renew(st, changed)
	if err == nil {
		err = ps.run.RunUnit(ctx, u)
	}
	if err != nil {
		lines = append(lines, "functions of cells that use it stay as they were: "+err.Error())
	} else {
		for _, d := range u.Dropped {
			lines = append(lines, d.Title()+" stays as it was: it does not fit what is new")
		}
	}
	for _, e := range ps.c.World.Names {
		if e.Kind == world.Var && ps.c.MadeOfOld(st, e.Obj.Type()) {
			lines = append(lines, fmt.Sprintf("%s keeps the %s of before, which is made of something else now", e.Name, world.TypeString(e.Obj.Type())))
		}
	}
	sort.Strings(lines)
	ps.run.Tell("%s", strings.Join(lines, "\n"))
}

// renewTypes has the types of a package that was reloaded take the place of those before.
func (ps *Packages) renewTypes(old, now *types.Package) {
	for _, name := range old.Scope().Names() {
		was, ok := old.Scope().Lookup(name).(*types.TypeName)
		if again, same := now.Scope().Lookup(name).(*types.TypeName); ok && same {
			ps.run.Renewed(was, again)
		}
	}
}

// anew describes the effect of a reload on a package's variables, or is empty if it has none.
func anew(p *local) string {
	for _, e := range p.World.Names {
		if e.Kind == world.Var {
			return ", its variables start anew"
		}
	}
	return ""
}

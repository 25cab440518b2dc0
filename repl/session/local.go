package session

import (
	"errors"
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
)

// loadLocal loads the package in a folder and what it imports, unless they are loaded as they are. It returns
// the package and, in the order in which they must run, the units of those that have not run yet. Above are
// the packages whose imports have led here.
func (s *Session) loadLocal(dir string, above []*local) (*local, []*unit, error) {
	for i, p := range above {
		if p.dir == dir {
			var round []string
			for _, q := range append(above[i:len(above):len(above)], p) {
				round = append(round, q.shown)
			}
			return nil, nil, &badPackage{p.shown, "import cycle not allowed: " + strings.Join(round, " imports ")}
		}
	}
	ls := s.locals
	if !slices.Contains(ls.watched, dir) {
		ls.watched = append(ls.watched, dir)
	}
	p, err := s.readLocal(dir)
	if err != nil {
		return nil, nil, err
	}
	if old := ls.newest[dir]; old != nil && old.sum == p.sum {
		deps, units, err := s.loadDeps(old, above)
		if err != nil {
			return nil, nil, err
		}
		if maps.Equal(deps, old.deps) {
			if !old.ran {
				units = append(units, old.unit)
			}
			return old, units, nil
		}
	}
	name, err := s.parseLocal(p)
	if err != nil {
		return nil, nil, err
	}
	p.path = fmt.Sprintf("%s%s@%d", lower.LocalPrefix, dir, len(ls.byPath)+1)
	var units []*unit
	if p.deps, units, err = s.loadDeps(p, above); err != nil {
		return nil, nil, err
	}
	if p.unit, err = s.checkLocal(p, name); err != nil {
		return nil, nil, err
	}
	ls.byPath[p.path], ls.newest[dir] = p, p
	return p, append(units, p.unit), nil
}

// loadDeps loads what a package imports: the packages by their paths in its files, and the units of those
// that have not run yet.
func (s *Session) loadDeps(p *local, above []*local) (deps map[string]*local, units []*unit, err error) {
	deps = map[string]*local{}
	above = append(above[:len(above):len(above)], p)
	for _, f := range p.files {
		for _, spec := range f.ast.Imports {
			importPath := strings.Trim(spec.Path.Value, "\"`")
			dir, own := s.folder(p.dir, importPath)
			if !own {
				continue
			}
			dep, more, err := s.loadLocal(dir, above)
			if err != nil {
				return nil, nil, s.importError(spec, err)
			}
			deps[importPath] = dep
			for _, u := range more {
				if !slices.Contains(units, u) {
					units = append(units, u)
				}
			}
		}
	}
	return deps, units, nil
}

// importError gives an error about a package as a whole the place of the import that led to it.
func (s *Session) importError(spec *ast.ImportSpec, err error) error {
	var bad *badPackage
	if errors.As(err, &bad) {
		return s.refusal(&lower.Error{Pos: spec.Path.Pos(), Msg: bad.Error()})
	}
	return err
}

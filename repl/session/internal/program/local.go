package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
)

// Load checks the package of the user's or of a module that an import of a cell means, and the packages that
// it imports. It fetches the modules that have them.
func (ps *Packages) Load(ctx context.Context, spec *ast.ImportSpec) (*compile.Package, []*compile.Unit, error) {
	at, own, err := ps.find(ctx, place{dir: ps.home}, strings.Trim(spec.Path.Value, "\"`"))
	if err != nil {
		return nil, nil, ps.importError(spec, err)
	}
	if !own {
		return nil, nil, nil
	}
	p, units, err := ps.loadLocal(ctx, at, nil)
	if err != nil {
		return nil, nil, ps.importError(spec, err)
	}
	return p.Package, units, nil
}

// loadLocal loads the package in a folder and its imports, unless the newest versions are loaded. It
// returns the package, and the units that have not run yet, in the order in which they must run. Above are
// the packages whose imports have led here.
func (ps *Packages) loadLocal(ctx context.Context, at place, above []*local) (*local, []*compile.Unit, error) {
	for i, p := range above {
		if p.Dir == at.dir {
			var round []string
			for _, q := range append(above[i:len(above):len(above)], p) {
				round = append(round, q.shown)
			}
			return nil, nil, &badPackage{p.shown, "import cycle not allowed: " + strings.Join(round, " imports ")}
		}
	}
	old := ps.newest[at.dir]
	if at.path != "" && old != nil && old.ran { // the module cache does not change
		return old, nil, nil
	}
	if at.path == "" && !slices.Contains(ps.watched, at.dir) {
		ps.watched = append(ps.watched, at.dir)
	}
	p, err := ps.read(at)
	if err != nil {
		return nil, nil, err
	}
	if old != nil && old.sum == p.sum {
		deps, units, err := ps.loadDeps(ctx, old, above)
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
	if err := ps.parseLocal(p); err != nil {
		return nil, nil, err
	}
	p.Path = fmt.Sprintf("%s%s@%d", lower.LocalPrefix, cmp.Or(at.path, at.dir), len(ps.byPath)+1)
	var units []*compile.Unit
	if p.deps, units, err = ps.loadDeps(ctx, p, above); err != nil {
		return nil, nil, err
	}
	if p.unit, err = ps.c.Package(p.Package, p.sources(), packagesOf(p.deps)); err != nil {
		return nil, nil, err
	}
	ps.byPath[p.Path], ps.newest[at.dir] = p, p
	return p, append(units, p.unit), nil
}

// loadDeps loads the imports of a package: the packages by their paths in its files, and the units that
// have not run yet.
func (ps *Packages) loadDeps(ctx context.Context, p *local, above []*local) (deps map[string]*local, units []*compile.Unit, err error) {
	deps = map[string]*local{}
	above = append(slices.Clip(above), p)
	for _, f := range p.files {
		for _, spec := range f.ast.Imports {
			importPath := strings.Trim(spec.Path.Value, "\"`")
			if deps[importPath] != nil {
				continue
			}
			at, own, err := ps.find(ctx, p.place, importPath)
			if err != nil {
				return nil, nil, ps.importError(spec, err)
			}
			if !own {
				continue
			}
			dep, more, err := ps.loadLocal(ctx, at, above)
			if err != nil {
				return nil, nil, ps.importError(spec, err)
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

// sources are the files as the compiler takes them.
func (p *local) sources() (list []compile.File) {
	for _, f := range p.files {
		list = append(list, compile.File{N: f.n, Text: f.text, Syntax: f.ast})
	}
	return list
}

// packagesOf are packages as code sees them.
func packagesOf(locals map[string]*local) map[string]*compile.Package {
	list := make(map[string]*compile.Package, len(locals))
	for path, p := range locals {
		list[path] = p.Package
	}
	return list
}

// importError gives an error about a package as a whole the place of the import that led to it.
func (ps *Packages) importError(spec *ast.ImportSpec, err error) error {
	if bad, ok := errors.AsType[*badPackage](err); ok {
		return ps.c.Refusal(&lower.Error{Pos: spec.Path.Pos(), Msg: bad.Error()})
	}
	return err
}

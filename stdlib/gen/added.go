package main

import (
	"fmt"
	"go/format"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// writeAdded writes a package into a folder that adds packages of other modules to those that cells can
// import: their tables, and an archive of their types and documentation. It says what is left out.
func writeAdded(dir string, patterns []string) error {
	p := part{name: filepath.Base(dir), patterns: patterns, fullDocs: true, added: true}
	out, err := build(".", p)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for name, src := range out.sources {
		if err := os.WriteFile(filepath.Join(dir, name), src, 0o666); err != nil {
			return err
		}
	}
	return writeArchive(filepath.Join(dir, addedArchive), out.entries)
}

// addedArchive is the name of the archive beside the tables.
const addedArchive = "types.zip"

// shown are the packages that were asked for, and of those that they import the ones whose types they show:
// code of cells has to know a type by one package only.
func shown(pkgs []*sourcePackage) []*sourcePackage {
	byPath, keep := map[string]*sourcePackage{}, map[string]bool{}
	for _, pkg := range pkgs {
		byPath[pkg.Path] = pkg
	}
	var take func(path string, imports []*types.Package)
	take = func(path string, imports []*types.Package) {
		if keep[path] {
			return
		}
		keep[path] = true
		for _, im := range imports {
			take(im.Path(), im.Imports())
		}
	}
	for _, pkg := range pkgs {
		if !pkg.DepOnly {
			take(pkg.Path, pkg.Types.Imports())
		}
	}
	return slices.DeleteFunc(pkgs, func(pkg *sourcePackage) bool { return !keep[pkg.Path] })
}

// leaveOut drops the packages that have nothing for a table, and says which names have no value in the
// tables of the others.
func leaveOut(pkgs []*sourcePackage) []*sourcePackage {
	return slices.DeleteFunc(pkgs, func(pkg *sourcePackage) bool {
		switch {
		case pkg.empty && len(pkg.generic) > 0:
			fmt.Printf("%s: stays interpreted: all of it is generic\n", pkg.Path)
		case !pkg.empty && len(pkg.generic) > 0:
			fmt.Printf("%s: left out, because they are generic: %s\n", pkg.Path, strings.Join(pkg.generic, ", "))
		}
		return pkg.empty
	})
}

// addition returns the source that adds a part's packages when the program starts.
func addition(p part, pkgs []*sourcePackage) ([]byte, error) {
	versions := map[string]string{}
	for _, pkg := range pkgs {
		switch m := pkg.Module; {
		case m != nil && m.Replace != nil:
			versions[m.Path] = m.Replace.Version // a folder has none
		case m != nil:
			versions[m.Path] = m.Version
		}
	}
	var modules strings.Builder
	for _, path := range slices.Sorted(maps.Keys(versions)) {
		fmt.Fprintf(&modules, "{Path: %q, Version: %q},", path, versions[path])
	}
	return format.Source(fmt.Appendf(nil, `%spackage %s

import (
	_ "embed"

	%q
)

//go:embed %s
var archive string

func init() {
	stdlib.Add(Packages, []stdlib.Module{%s}, archive)
}
`, header, p.name, modulePath+"/stdlib", addedArchive, modules.String()))
}

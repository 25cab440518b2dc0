// Package stdlib has the packages that a cell can import: Go's standard library without the packages in
// leftout.go, the public packages of the engine, and what mcs build has compiled in. For each package there
// are three kinds of generated data: the interpreter's symbol table ([Symbols]), the types ([Importer]) and
// the documentation ([Doc]).
//
// Data is unpacked only on demand: when a cell first uses the package, its table is built and its types
// are read. Run `go generate ./stdlib` after a change of an exported engine name or its comment; a test
// fails when it is due.
package stdlib

import (
	"flag"
	"reflect"
	"slices"
	"sync"

	_ "github.com/mcs-notebook/mcs/engine/plot/typeface" // pictures of cells have letters
	"github.com/mcs-notebook/mcs/stdlib/internal/engine"
	"github.com/mcs-notebook/mcs/stdlib/internal/std"
	"github.com/mcs-notebook/mcs/stdlib/internal/table"
)

//go:generate go run ./gen

// ExitRequest is the panic value of os.Exit and log.Fatal in a cell. The session decides what happens
// then.
type ExitRequest = std.ExitRequest

// ParseFlags is f.Parse(arguments), but panics with an [ExitRequest] where f.Parse would end the process.
func ParseFlags(f *flag.FlagSet, arguments []string) error { return std.ParseFlags(f, arguments) }

// preferred settles which package a bare name means where several have it.
var preferred = map[string]string{
	"rand":     "math/rand/v2",
	"template": "text/template",
	"scanner":  "text/scanner",
}

var symbols = struct {
	sync.Mutex
	tables map[string]map[string]reflect.Value
}{tables: map[string]map[string]reflect.Value{}}

// Symbols returns a package's table for the interpreter: exported name to value, "_T" to the struct that
// carries an interpreted value as the interface T. It reports false for a package that cells cannot import.
// Generic functions and types are not in it; [Importer] knows them. The map is shared: copy it to change it.
func Symbols(path string) (map[string]reflect.Value, bool) {
	symbols.Lock()
	defer symbols.Unlock()
	if t, ok := symbols.tables[path]; ok {
		return t, true
	}
	t, ok := std.Symbols(path)
	for _, packages := range [][]table.Package{engine.Packages, added.packages} {
		if p := find(packages, path); p != nil {
			t, ok = p.Symbols(), true
		}
	}
	if ok {
		symbols.tables[path] = t
	}
	return t, ok
}

// A Package is the table of a package for [Add].
type Package = table.Package

// A Module is a module whose packages were compiled in, in a version, which is empty if it came from a
// folder.
type Module struct{ Path, Version string }

// added is what [Add] has added.
var added struct {
	packages []table.Package
	modules  []Module
	archives []string
}

// Add adds packages of modules, with the archive of their types and documentation. Code that stdlib/gen has
// written calls it from init; later it is too late.
func Add(packages []Package, modules []Module, archive string) {
	added.packages = append(added.packages, packages...)
	added.modules = append(added.modules, modules...)
	added.archives = append(added.archives, archive)
}

// Modules returns the modules whose packages mcs build has compiled in, sorted.
func Modules() []Module { return added.modules }

func find(packages []table.Package, path string) *table.Package {
	for i := range packages {
		if packages[i].Path == path {
			return &packages[i]
		}
	}
	return nil
}

// Paths returns the import paths of all packages, the engine's first and those of [Add] last.
func Paths() []string { return slices.Concat(Engine(), paths(std.Packages), paths(added.packages)) }

// Engine returns the import paths of the engine's public packages.
func Engine() []string { return paths(engine.Packages) }

func paths(packages []table.Package) []string {
	list := make([]string, len(packages))
	for i, p := range packages {
		list[i] = p.Path
	}
	return list
}

// Name returns the name that a package declares: "rand" for math/rand/v2.
func Name(path string) (name string, ok bool) {
	for _, packages := range [][]table.Package{engine.Packages, std.Packages, added.packages} {
		if p := find(packages, path); p != nil {
			return p.Name, true
		}
	}
	return "", false
}

// ImportFor returns the import path for a name in a cell that no import declares. A package of the engine
// comes before one of the standard library; those of [Add] need an import, as in every other mcs.
func ImportFor(name string) (path string, ok bool) {
	for _, p := range engine.Packages {
		if p.Name == name {
			return p.Path, true
		}
	}
	if path, ok := preferred[name]; ok {
		return path, true
	}
	for _, p := range std.Packages {
		if p.Name == name {
			return p.Path, true
		}
	}
	return "", false
}

// Package program loads whole files: programs, as `go run` takes them, and the user's own packages, which
// cells and programs import from folders.
//
// Each package is a world of its own. It is compiled once for each state of its files: package compile
// checks and builds it, and values that an earlier version made keep the types of that version. [Packages]
// finds the folders, reads and numbers the files, and watches them: before each cell it loads changed
// packages again, and cells use the new versions. It runs nothing itself; a [Runner] does.
//
// Reading order: packages.go (the types), find.go (finding and reading, and which files of a module),
// embed.go, local.go (loading, with imports), reload.go, program.go (whole programs), docs.go.
package program

import (
	"crypto/sha256"
	"fmt"
	"go/ast"
	"iter"
	"path"
	"path/filepath"
	"slices"

	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/help"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/modules"
)

// The user's packages come as source: `import "./dir"`, or a path below the module path of the nearest
// go.mod. Each is a world of its own, checked and run like a cell's. Its path is different from that of
// every compiled package and contains its version: values that an earlier version made keep the types of
// that version.

// A package of a module comes in the same way, from Go's module cache; the cache does not change, so such a
// package is read once.

// firstFile is the number of the first file of a package; smaller numbers are cells.
const firstFile = 1 << 30

// A local is one version of a package of the user's.
type local struct {
	*compile.Package
	place
	shown string // how people call it: ./util, gonum.org/v1/gonum/stat
	files []*localFile
	deps  map[string]*local // by the path in the import declaration

	sum [sha256.Size]byte // of its files

	unit *compile.Unit
	ran  bool
	// symbols is made when a symbol's documentation is asked for.
	symbols map[string]help.SymbolText
}

// A localFile is a source file of a package. Its number stands where a cell's would.
type localFile struct {
	n    int
	name string // as messages have it: util/util.go
	text string
	ast  *ast.File
}

// Packages are the user's packages that a session has loaded.
type Packages struct {
	c    *compile.Compiler
	run  Runner
	home string // the folder that the imports of cells start from
	mods *modules.Set

	files   []*localFile
	byPath  map[string]*local
	newest  map[string]*local // by folder: loaded last, perhaps not run yet
	current map[string]*local // by folder: the packages that cells see
	watched []string          // all folders that were loaded from
	stamped string            // the state of their files when they were read last
	kept    map[string]string // by folder: why the files as they are now were not loaded
}

// Move makes another folder the one that the imports of cells start from.
func (ps *Packages) Move(home string) { ps.home = home }

// New makes the packages of an empty session, whose cells import from the folder home, and from modules.
func New(c *compile.Compiler, run Runner, mods *modules.Set, home string) *Packages {
	return &Packages{c: c, run: run, mods: mods, home: home, byPath: map[string]*local{}, newest: map[string]*local{}, current: map[string]*local{}, kept: map[string]string{}}
}

// Any says whether a package was loaded, so that its files may have changed.
func (ps *Packages) Any() bool { return len(ps.watched) > 0 }

// FromModules says whether a package of a module was loaded.
func (ps *Packages) FromModules() bool {
	for _, p := range ps.byPath {
		if p.path != "" {
			return true
		}
	}
	return false
}

// ModuleOf is the package of a module that has the file with a name, and its module, path@version; both are
// empty for other files.
func (ps *Packages) ModuleOf(file string) (pkg, module string) {
	for _, p := range ps.byPath {
		if p.path != "" && slices.ContainsFunc(p.files, func(f *localFile) bool { return f.name == file }) {
			return p.path, p.module
		}
	}
	return "", ""
}

// Text returns the text and the name of the file with a number, or "" if the number is a cell's.
func (ps *Packages) Text(n int) (text, name string) {
	if n < firstFile || n-firstFile >= len(ps.files) {
		return "", ""
	}
	f := ps.files[n-firstFile]
	return f.text, f.name
}

// Files are the files of all packages that were loaded before now, by name: their texts, the newest first.
func (ps *Packages) Files() iter.Seq2[string, string] {
	files := ps.files
	return func(yield func(name, text string) bool) {
		for _, f := range slices.Backward(files) {
			if !yield(f.name, f.text) {
				return
			}
		}
	}
}

// shownPath is how messages call a file or folder: as seen from the session's folder.
func (ps *Packages) shownPath(name string) string {
	rel, err := filepath.Rel(ps.home, name)
	if err != nil {
		return name
	}
	return filepath.ToSlash(rel)
}

// A badPackage is a package of the user's that cannot be loaded, for a reason that has no place in a file.
type badPackage struct{ shown, why string }

func (e *badPackage) Error() string { return fmt.Sprintf("package %s: %s", e.shown, e.why) }

// parseLocal parses the files of a package and gives them numbers.
func (ps *Packages) parseLocal(p *local) (err error) {
	name := ""
	var files []*localFile
	for _, f := range p.files {
		f.n = firstFile + len(ps.files)
		ps.files = append(ps.files, f)
		if f.ast, err = ps.c.ParseFile(f.n, f.text); err != nil {
			return err
		}
		p.embed(f.ast)
		if f.ast.Name.Name == "documentation" || slices.ContainsFunc(f.ast.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == `"C"` }) { // go build takes neither
			continue
		}
		if name == "" {
			name = f.ast.Name.Name
		}
		if got := f.ast.Name.Name; got != name {
			return ps.c.Refusal(&lower.Error{Pos: f.ast.Name.Pos(), Msg: fmt.Sprintf("got package %s, want %s as in %s", got, name, path.Base(files[0].name))})
		}
		files = append(files, f)
	}
	switch p.files = files; {
	case len(files) == 0:
		return &badPackage{p.shown, "no Go files in the folder that go build would take"}
	case name == "main":
		return &badPackage{p.shown, "it is a program (package main), which cannot be imported"}
	}
	return nil
}

func (p *local) symbol(name string) help.SymbolText {
	if p.symbols == nil {
		p.symbols = map[string]help.SymbolText{}
		for _, f := range p.files {
			help.Symbols(f.text, f.ast, p.symbols)
		}
	}
	return p.symbols[name]
}

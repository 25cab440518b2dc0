// Package compile takes the text of cells to programs that can run. It runs nothing, and knows of no
// goroutine, no stop and no stream.
//
// Think of it as a compiler that is never done: a [Compiler] keeps what earlier cells have declared (package
// world) and compiles the next cell against it. A cell becomes a list of [Unit]s, each of which is checked,
// built and run as a whole. Checking a unit gives its meaning: go/types' facts, and the change that it makes
// to the world when it runs. Building lowers its syntax (package lower asks about names through an env) and
// hands the interpreter a file. What depends on something that is declared anew is compiled again with it,
// from its source.
//
// Reading order: compiler.go (what is kept, what is asked of a session), unit.go, prepare.go (a cell into
// units), check.go (parsing, checking, what a name means); what a unit means: statements.go with list.go and
// outs.go, declare.go with sametypes.go and holders.go, whole.go (programs and packages), loop.go; how it is
// built: build.go, assemble.go, instance.go with source.go (generic code), versions.go (functions that are
// declared again), types.go with gonames.go, prelude.go; what is said when something is wrong: diag.go and
// refuse.go.
package compile

import (
	"go/ast"
	"go/token"
	"go/types"
	"iter"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/help"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
	"github.com/mcs-notebook/mcs/stdlib"
)

// A Compiler compiles the cells of one session, or one program.
type Compiler struct {
	Config
	World    *world.World // what cells have declared
	fset     *token.FileSet
	importer types.Importer
	sizes    types.Sizes
	sources  *sources

	packages  map[string]*Package     // of the user's own, by path
	names     map[types.Object]string // the interpreter's, of what those declare
	imported  map[string]bool         // paths that the interpreter has an import of
	known     map[string]bool         // paths whose symbols it has
	aliases   map[string]string       // its name of a package -> path
	typeNames map[*types.TypeName]string
	instances map[types.Object][]*instance
	// dispatchers are the variables with the functions that call interface methods.
	dispatchers map[dispatchKey]string
	lineages    map[string][]*lineage // of functions
	marks       []lower.Mark
	slot        int          // of the newest function
	slots       map[int]bool // those whose variables the interpreter has

	Trace func(*ast.File) // for tests: sees what the interpreter is given
}

// A Config is what a compiler needs from the session that it works for.
type Config struct {
	Interp  *yaegi.Interp
	Types   *Types
	Library Library
	Loader  Loader
	Outs    Outs
	Advice  Advice
	// Text is the text of a cell, or of the file of a package that a number stands for; then the file has a
	// name.
	Text func(n int) (text, file string)
	// Reflect makes the type with a number.
	Reflect func(key int) reflect.Type
	// Params take the place of the literals of variables with their names.
	Params map[string]string
	// Once says that what is compiled is one program: nothing is declared again.
	Once bool
}

// A Library has the compiled packages as code of cells gets them.
type Library interface {
	// Symbols are those of a package, under its name.
	Symbols(path string) (name string, symbols map[string]reflect.Value, err error)
	// Open makes ready what checked code mentions, before it is compiled.
	Open(info *types.Info) error
}

// A Loader finds the packages of the user's own. Package program has the real one.
type Loader interface {
	// Load checks the package that an import of a cell means, with those that it imports, unless they are
	// loaded as they are. Units are to run before it is used, in their order. It is nil if the import does
	// not mean one of the user's.
	Load(spec *ast.ImportSpec) (p *Package, units []*Unit, err error)
}

// Advice finds what may have been meant where something is wrong. Package help has it.
type Advice interface {
	SyntaxAdvice(text string, off int, msg string) string
	Suggest(st *world.Stage, c *help.Facts, pos token.Pos, msg string) (newMsg, hint string)
}

// A Package is one version of a package of the user's, as code that imports it sees it.
type Package struct {
	Path  string // of its types: the folder and the version
	Dir   string
	Types *types.Package
	World *world.World
}

// New makes the compiler of an empty session.
func New(c Config) *Compiler {
	s := &Compiler{Config: c, World: world.New(), fset: c.Interp.FileSet(), sizes: types.SizesFor("gc", runtime.GOARCH)}
	s.packages, s.names = map[string]*Package{}, map[types.Object]string{}
	s.importer = importer{stdlib.Importer(s.fset), s.packages}
	s.imported, s.known, s.aliases = map[string]bool{}, map[string]bool{}, map[string]string{}
	s.typeNames = map[*types.TypeName]string{}
	s.instances = map[types.Object][]*instance{}
	s.dispatchers = map[dispatchKey]string{}
	s.lineages = map[string][]*lineage{}
	s.slots = map[int]bool{}
	s.sources = &sources{s: s, loaded: map[string]*sourcePackage{}}
	return s
}

// An importer gives go/types the packages that cells can import: the compiled ones, and the user's own by the
// paths of their versions.
type importer struct {
	types.Importer
	packages map[string]*Package
}

func (im importer) Import(path string) (*types.Package, error) {
	if p := im.packages[path]; p != nil {
		return p.Types, nil
	}
	return im.Importer.Import(path)
}

// Functions are the declarations of functions that the interpreter knows by a name.
func (s *Compiler) Functions(name string) (list []*world.Decl) {
	worlds := []*world.World{s.World}
	for _, p := range s.packages {
		worlds = append(worlds, p.World)
	}
	generic, _, instance := strings.Cut(name, "__of")
	for _, w := range worlds {
		for _, d := range w.Stage().Decls() {
			if d.Recv != "" && w.IsMethod(d, name) || instance && d.Generic && slices.Contains(d.Names, generic) || d.Recv == "" && len(d.Names) == 1 && w.InternalName(d.Names[0]) == name {
				list = append(list, d)
			}
		}
	}
	return list
}

// Mark is the statement with a number, or nil.
func (s *Compiler) Mark(n int) *lower.Mark {
	if n < 1 || n > len(s.marks) {
		return nil
	}
	return &s.marks[n-1]
}

// Position is the place of a cell or file that code is from.
func (s *Compiler) Position(pos token.Pos) token.Position { return s.fset.Position(pos) }

// Import is the package with a path, compiled or of the user's own.
func (s *Compiler) Import(path string) (*types.Package, error) { return s.importer.Import(path) }

// Slots are those whose marks the interpreter has variables for.
func (s *Compiler) Slots() iter.Seq[int] { return maps.Keys(s.slots) }

// Package compile turns the text of cells into units that can run. It runs nothing, and has no goroutines,
// stops or streams.
//
// A [Compiler] keeps the declarations of earlier cells (package world) and compiles the next cell against
// them. A cell becomes a list of [Unit]s. Each unit is checked, built and run as a whole. Checking finds
// the unit's meaning: the facts of go/types, and the change to the world when the unit runs. Building
// lowers the unit's syntax (package lower asks an env for names) and gives a file to the interpreter. When
// a name is declared again, its dependents are compiled again from their source.
//
// Reading order: compiler.go (the state, and the parts that a session supplies), unit.go, prepare.go (a
// cell into units), check.go (parsing, checking, the meaning of names). The meaning of a unit:
// statements.go with list.go and outs.go, declare.go with sametypes.go and holders.go, whole.go (programs
// and packages), loop.go. Building: build.go, assemble.go, instance.go with source.go (generic code),
// versions.go (functions that are declared again), types.go with gonames.go, prelude.go. Error messages:
// diag.go and refuse.go.
package compile

import (
	"context"
	"errors"
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/repl/notation"
	"github.com/mcs-notebook/mcs/repl/session/internal/help"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
	"github.com/mcs-notebook/mcs/stdlib"
)

// A Compiler compiles the cells of one session, or one program.
type Compiler struct {
	Config
	World    *world.World // the declarations of cells
	fset     *token.FileSet
	importer types.Importer
	sizes    types.Sizes
	sources  *sources

	packages  map[string]*Package     // the user's own packages, by path
	names     map[types.Object]string // the interpreter's names of those packages' objects
	imported  map[string]bool         // paths that the interpreter has imported
	known     map[string]bool         // paths whose symbols the interpreter has
	aliases   map[string]string       // the interpreter's name of a package -> path
	typeNames map[*types.TypeName]string
	instances map[types.Object][]*instance
	// dispatchers are the variables with functions that call interface methods.
	dispatchers map[dispatchKey]string
	lineages    map[string][]*lineage             // versions of functions
	marks       atomic.Pointer[[]lower.Mark]      // statements by number; goroutines of cells before read it
	notGo       map[*token.File]scanner.ErrorList // of files that have indices of several axes
	slot        int                               // of the newest function
	slots       []int                             // slots whose variables the interpreter has, in order

	Trace func(*ast.File) // for tests: gets each file of the interpreter

	before  *Out // the result of the expression before, during a check: see checkGroup
	results int  // how many of these were made
}

// A Config has the parts of a session that its compiler needs.
type Config struct {
	Interp  *yaegi.Interp
	Types   *Types
	Library Library
	Loader  Loader
	Outs    Outs
	Advice  Advice
	// Text returns the text of a cell. If n stands for a file of a package, it returns that file's text
	// and its name.
	Text func(n int) (text, file string)
	// Reflect returns the run-time type for a type's number.
	Reflect func(key int) reflect.Type
	// Params replace the literals of variables with their names.
	Params map[string]string
	// Each shows the value of each expression among a cell's statements, not of the last one alone.
	Each bool
	// Plain says that the interpreter works alone, see [yaegi.New].
	Plain bool
	// Once says that the compiler compiles one program, which declares nothing twice.
	Once bool
	// Confined refuses packages that reach the network or start programs.
	Confined bool
}

// A Library supplies the compiled packages for code of cells.
type Library interface {
	// Symbols returns a package's name and its symbols by name.
	Symbols(path string) (name string, symbols map[string]reflect.Value, err error)
	// Open prepares the packages that checked code mentions, before the code is compiled.
	Open(info *types.Info) error
}

// A Loader finds the user's own packages. Package program implements it.
type Loader interface {
	// Load checks the package that an import of a cell means, and the packages that it imports, unless
	// their newest versions are loaded. The units must run, in order, before the package is used. P is nil
	// if the import does not mean one of the user's packages.
	Load(ctx context.Context, spec *ast.ImportSpec) (p *Package, units []*Unit, err error)
}

// Advice finds suggestions for wrong code. Package help implements it.
type Advice interface {
	SyntaxAdvice(text string, off int, msg string) string
	Suggest(st *world.Stage, c *help.Facts, pos token.Pos, msg string) (newMsg, hint string)
	Answers(st *world.Stage, cell string) []help.Answer
}

// A Package is one version of a package of the user's, for code that imports it.
type Package struct {
	Path  string // path of its types: the folder and the version
	Dir   string
	Types *types.Package
	World *world.World
}

// New makes the compiler of an empty session.
func New(config Config) *Compiler {
	c := &Compiler{Config: config, World: world.New(), fset: config.Interp.FileSet(), sizes: types.SizesFor("gc", runtime.GOARCH)}
	c.packages, c.names = map[string]*Package{}, map[types.Object]string{}
	c.importer = importer{stdlib.Importer(), c.packages, c.Confined}
	c.imported, c.known, c.aliases = map[string]bool{}, map[string]bool{}, map[string]string{notation.Tensor: notation.TensorPath}
	c.typeNames = map[*types.TypeName]string{}
	c.instances = map[types.Object][]*instance{}
	c.dispatchers = map[dispatchKey]string{}
	c.lineages = map[string][]*lineage{}
	c.slots = nil
	c.notGo = map[*token.File]scanner.ErrorList{}
	c.sources = &sources{compiler: c, loaded: map[string]*sourcePackage{}}
	return c
}

// An importer gives go/types the packages that cells can import: the compiled packages, and the user's own
// packages by the paths of their versions.
type importer struct {
	types.Importer
	packages map[string]*Package
	confined bool
}

func (im importer) Import(path string) (*types.Package, error) {
	if p := im.packages[path]; p != nil {
		return p.Types, nil
	}
	if im.confined && beyond(path) {
		return nil, errConfined
	}
	return im.Importer.Import(path)
}

// errConfined is why a package of [beyond] cannot be imported.
var errConfined = errors.New("not available here: it reaches the network or other programs")

// beyond says whether a package reaches the network, starts programs, or undoes what keeps others from it.
func beyond(path string) bool {
	switch path {
	case "net/mail", "net/netip", "net/url":
		return false
	case "crypto/tls", "go/build", "go/importer", "os/exec", "unsafe":
		return true
	}
	return path == "net" || strings.HasPrefix(path, "net/")
}

// Functions returns the declarations of functions that have this name in the interpreter.
func (c *Compiler) Functions(name string) (list []*world.Decl) {
	worlds := []*world.World{c.World}
	for _, p := range c.packages {
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

// Mark returns the statement with a number, or nil.
func (c *Compiler) Mark(n int) *lower.Mark {
	marks := c.marks.Load()
	if marks == nil || n < 1 || n > len(*marks) {
		return nil
	}
	return &(*marks)[n-1]
}

// Position returns the place of code in a cell or file.
func (c *Compiler) Position(pos token.Pos) token.Position { return c.fset.Position(pos) }

// Import returns the package with a path: a compiled one or one of the user's.
func (c *Compiler) Import(path string) (*types.Package, error) { return c.importer.Import(path) }

// Slots returns the slots whose mark variables the interpreter has, in order. Nobody may change the list.
func (c *Compiler) Slots() []int { return c.slots }

// addSlots notes that the interpreter has the variables of slots.
func (c *Compiler) addSlots(slots ...int) {
	c.slots = slices.Concat(c.slots, slots)
	slices.Sort(c.slots)
	c.slots = slices.Compact(c.slots)
}

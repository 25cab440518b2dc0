package session

import (
	"context"
	"errors"
	"go/types"

	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/modules"
)

// A Module is a module in a version.
type Module = modules.Version

// Get fetches a module, PATH@VERSION, and has cells import its packages from now on. It returns the version
// that was chosen, and says what the go command would; without a version it is the newest release.
func (s *Session) Get(ctx context.Context, module string) (Module, error) {
	if s.opts.Confined {
		return Module{}, ErrConfined
	}
	return s.packages.Get(ctx, module)
}

// ErrConfined is the error of what a confined session refuses: see Options.Confined.
var ErrConfined = errors.New("not available here: this session reaches neither the network nor other programs")

// Confined says whether the session was started so.
func (s *Session) Confined() bool { return s.opts.Confined }

// GoMod returns a go.mod and a go.sum for a program with this name, made of the session's cells: what they
// import, in the versions that they import.
func (s *Session) GoMod(ctx context.Context, name string) (mod, sum string, err error) {
	return s.packages.GoMod(ctx, name)
}

// Importer has the types of the packages that cells import, as the session's cells see them.
func (s *Session) Importer() types.Importer { return s.packages.Importer() }

// ImportPath is the path by which Go imports a package of [Session.Importer].
func ImportPath(p *types.Package) string { return lower.ImportPath(p) }

// YieldsErrors says whether a loop over a value of the type gets pairs whose second part is an error.
func YieldsErrors(t types.Type) bool { return compile.YieldsErrors(t) }

// Modules are those that Get has fetched, in order.
func (s *Session) Modules() []Module { return s.modules.Asked() }

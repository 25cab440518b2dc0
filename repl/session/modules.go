package session

import (
	"context"

	"github.com/mcs-notebook/mcs/repl/session/internal/modules"
)

// A Module is a module in a version.
type Module = modules.Version

// Get fetches a module, PATH@VERSION, and has cells import its packages from now on. It returns the version
// that was chosen, and says what the go command would; without a version it is the newest release.
func (s *Session) Get(ctx context.Context, module string) (Module, error) {
	return s.packages.Get(ctx, module)
}

// Modules are those that Get has fetched, in order.
func (s *Session) Modules() []Module { return s.modules.Asked() }

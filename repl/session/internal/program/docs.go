package program

import (
	"go/types"

	"github.com/mcs-notebook/mcs/stdlib"
)

// Doc returns the documentation of a symbol of a compiled package or of the user's, in the form of
// [stdlib.Doc]: the declaration, and after a blank line the comment.
func (ps *Packages) Doc(path, symbol string) string {
	if p := ps.byPath[path]; p != nil {
		return p.symbol(symbol).Doc
	}
	return stdlib.Doc(path, symbol)
}

// Title returns the usual name of the package with this path: ./util for one of the user's.
func (ps *Packages) Title(path string) string {
	if p := ps.byPath[path]; p != nil {
		return p.shown
	}
	return path
}

// Source returns the source of a symbol of one of the user's packages, or "".
func (ps *Packages) Source(path, symbol string) string {
	if p := ps.byPath[path]; p != nil {
		return p.symbol(symbol).Source
	}
	return ""
}

// An importer has the packages of cells and, by the paths of their imports, those of modules.
type importer struct{ ps *Packages }

// Importer has the types of the packages that cells import, by the paths in their import declarations.
func (ps *Packages) Importer() types.Importer { return importer{ps} }

func (im importer) Import(path string) (*types.Package, error) {
	for _, p := range im.ps.current {
		if p.path == path {
			return p.Types, nil
		}
	}
	return im.ps.c.Import(path)
}

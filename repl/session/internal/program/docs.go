package program

import "github.com/mcs-notebook/mcs/stdlib"

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

package program

import "github.com/mcs-notebook/mcs/stdlib"

// Doc is what is known about a symbol of a package, compiled or the user's, as [stdlib.Doc] has it: the
// declaration, and after a blank line the comment.
func (ps *Packages) Doc(path, symbol string) string {
	if p := ps.byPath[path]; p != nil {
		return p.symbol(symbol).Doc
	}
	return stdlib.Doc(path, symbol)
}

// Title is how people call the package with this path: ./util for one of their own.
func (ps *Packages) Title(path string) string {
	if p := ps.byPath[path]; p != nil {
		return p.shown
	}
	return path
}

// Source is the source of a symbol of one of the user's packages, or empty.
func (ps *Packages) Source(path, symbol string) string {
	if p := ps.byPath[path]; p != nil {
		return p.symbol(symbol).Source
	}
	return ""
}

package session

import "github.com/mcs-notebook/mcs/stdlib"

// doc is what is known about a symbol of a package, compiled or the user's, as [stdlib.Doc] has it: the
// declaration, and after a blank line the comment.
func (ls *locals) doc(path, symbol string) string {
	if p := ls.byPath[path]; p != nil {
		return p.symbol(symbol).Doc
	}
	return stdlib.Doc(path, symbol)
}

// title is how people call the package with this path: ./util for one of their own.
func (ls *locals) title(path string) string {
	if p := ls.byPath[path]; p != nil {
		return p.shown
	}
	return path
}

// source is the source of a symbol of one of the user's packages, or empty.
func (ls *locals) source(path, symbol string) string {
	if p := ls.byPath[path]; p != nil {
		return p.symbol(symbol).Source
	}
	return ""
}

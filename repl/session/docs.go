package session

import "github.com/mcs-notebook/mcs/stdlib"

// doc is what is known about a symbol of a package, compiled or the user's, as [stdlib.Doc] has it: the
// declaration, and after a blank line the comment.
func (s *Session) doc(path, symbol string) string {
	if p := s.locals.byPath[path]; p != nil {
		return p.symbol(symbol).Doc
	}
	return stdlib.Doc(path, symbol)
}

// packageTitle is how people call the package with this path: ./util for one of their own.
func (s *Session) packageTitle(path string) string {
	if p := s.locals.byPath[path]; p != nil {
		return p.shown
	}
	return path
}

package session

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/cursor"
)

// A place is a cursor in a cell that is being typed, with what the type checker knows about the code around it. The
// text before the cursor is made whole and checked as if the cell were finished there; nothing of it has to be right.
type place struct {
	*cursor.Place
	s     *Session
	st    *stage // the session as the imports of the cell leave it
	start int    // offset in the cell of the statement or declaration that the cursor is in
	file  *ast.File
	base  int // offset in the file of that statement or declaration
	at    token.Pos
	*checked
	path []ast.Node // from the file down to the cursor's identifier or bracket
}

// maxRepairs is how many lines of a cell may be broken before the cursor's before checking gives up on them.
const maxRepairs = 4

// place checks a cell at a byte. It is nil where there is no Go.
func (s *Session) place(cell string, pos int) *place {
	pl := &place{s: s, st: s.world.stage()}
	var decls, stmts strings.Builder
	pieces := split(cell[:pos])
	if n := len(pieces); n > 0 && pieces[n-1].kind == commandPiece && pieces[n-1].end >= pos {
		return nil
	}
	kind := pl.before(cell, pos, pieces, &decls, &stmts)
	pl.Place = cursor.At(cell[pl.start:pos])
	if kind == importPiece {
		return pl
	}
	text, at := pl.Whole(cell[pl.start:pos])
	after := laterDecls(cell, pos)
	if kind == declPiece {
		vars := pl.variables(decls.String(), stmts.String())
		pl.check("package "+pkgPath+"\n"+decls.String()+"\n", text, "\n"+after, at, vars)
		return pl
	}
	pl.check("package "+pkgPath+"\n"+decls.String()+after+"\nfunc cell__() {\n"+stmts.String(), text, "\n}", at, nil)
	return pl
}

// before sorts what comes before the statement or declaration at the cursor, and says of what kind that is.
func (pl *place) before(cell string, pos int, pieces []piece, decls, stmts *strings.Builder) (kind pieceKind) {
	pl.start = pos
	for i, p := range pieces {
		text := cell[p.off:p.end]
		if i == len(pieces)-1 && p.kind != commandPiece {
			start, open := lastStatement(cell[p.off:pos])
			pl.start = p.off + start
			text = cell[p.off:pl.start]
			if open {
				kind = kindOfText(cell[pl.start:pos])
			}
		}
		switch p.kind {
		case importPiece:
			_, _ = pl.s.checkImport(pl.st, pl.s.Next(), text, piece{kind: importPiece, end: len(text)}) // a wrong one imports nothing
		case declPiece:
			decls.WriteString(text + "\n")
		case stmtPiece:
			stmts.WriteString(text + "\n")
		}
	}
	return kind
}

func kindOfText(src string) pieceKind {
	list, _ := lex(src)
	return kindOf(list, len(src))
}

// lastStatement is where the last statement or declaration of a piece begins, and whether it is still being typed.
func lastStatement(src string) (start int, open bool) {
	list, unclosed := lex(src)
	depth := 0
	begin := true
	for _, t := range list {
		depth += nesting(t.tok)
		if t.tok == token.SEMICOLON && depth <= 0 {
			// The end of the text ends no line.
			begin = t.lit == ";" || t.off < len(src)
			continue
		}
		if begin {
			start, begin = t.off, false
		}
	}
	if begin && !unclosed {
		return len(src), false
	}
	return start, true
}

// laterDecls are the declarations that a cell has after the one that the cursor is in.
func laterDecls(cell string, pos int) string {
	var b strings.Builder
	for _, p := range split(cell) {
		if p.kind == declPiece && p.off >= pos {
			b.WriteString(cell[p.off:p.end] + "\n")
		}
	}
	return b.String()
}

// variables are what the statements before a declaration declare: it sees them.
func (pl *place) variables(decls, stmts string) (list []types.Object) {
	if strings.TrimSpace(stmts) == "" {
		return nil
	}
	fset := token.NewFileSet()
	src := "package " + pkgPath + "\n" + decls + "\nfunc cell__() {\n" + stmts + "\n}"
	file, _ := parser.ParseFile(fset, "", src, parser.SkipObjectResolution|parser.AllErrors)
	if file == nil || len(file.Decls) == 0 {
		return nil
	}
	c := pl.s.checkIn(fset, pl.st, []*ast.File{file})
	f, ok := file.Decls[len(file.Decls)-1].(*ast.FuncDecl)
	if !ok || f.Body == nil {
		return nil
	}
	scope := c.pkg.Scope().Innermost(f.Body.Rbrace)
	if scope == nil {
		return nil
	}
	for _, name := range scope.Names() {
		if o, ok := scope.Lookup(name).(*types.Var); ok {
			list = append(list, types.NewVar(token.NoPos, c.pkg, name, o.Type()))
		}
	}
	return list
}

// check parses and checks the text with the cursor at byte at, between prefix and suffix. Lines that do not parse are
// left out.
func (pl *place) check(prefix, text, suffix string, at int, extra []types.Object) {
	src := []byte(prefix + text + suffix)
	pl.base = len(prefix)
	off := len(prefix) + at
	fset := token.NewFileSet()
	for range maxRepairs {
		file, err := parser.ParseFile(fset, "", src, parser.SkipObjectResolution|parser.AllErrors)
		pl.file = file
		if err == nil || !blankBroken(src, err, off) {
			break
		}
	}
	if pl.file == nil {
		return
	}
	pl.at = pl.file.FileStart + token.Pos(off)
	pl.checked = pl.s.checkIn(fset, pl.st, []*ast.File{pl.file}, extra...)
	pl.path = pathTo(pl.file, pl.at)
}

// blankBroken replaces the first line with a syntax error by blanks, if it is before the cursor and its brackets match.
func blankBroken(src []byte, err error, cursor int) bool {
	list, ok := err.(scanner.ErrorList)
	if !ok {
		return false
	}
	for _, e := range list {
		off := min(e.Pos.Offset, len(src))
		from := strings.LastIndexByte(string(src[:off]), '\n') + 1
		to := len(src)
		if i := strings.IndexByte(string(src[from:]), '\n'); i >= 0 {
			to = from + i
		}
		line := string(src[from:to])
		tokens, open := lex(line)
		depth := 0
		for _, t := range tokens {
			depth += nesting(t.tok)
		}
		if to > cursor || depth != 0 || open || strings.TrimSpace(line) == "" {
			continue
		}
		for i := from; i < to; i++ {
			src[i] = ' '
		}
		return true
	}
	return false
}

// pathTo are the nodes around a position, the innermost last.
func pathTo(file *ast.File, at token.Pos) (path []ast.Node) {
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil || at < n.Pos() || at > n.End() {
			return false
		}
		// Of two neighbours that touch at the position, the later one counts.
		for len(path) > 0 && !encloses(path[len(path)-1], n) {
			path = path[:len(path)-1]
		}
		path = append(path, n)
		return true
	})
	return path
}

func encloses(outer, n ast.Node) bool { return outer.Pos() <= n.Pos() && n.End() <= outer.End() }

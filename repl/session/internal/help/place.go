package help

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/notation"
	"github.com/mcs-notebook/mcs/repl/session/internal/help/cursor"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// A place is a cursor in an unfinished cell, with the type checker's facts about the code around it. The
// text before the cursor is completed and checked as if the cell ended there. Any part of it may be wrong.
type place struct {
	*cursor.Place
	h     *Helper
	st    *world.Stage // the session with the imports of the cell
	start int          // offset in the cell of the statement or declaration around the cursor
	file  *ast.File
	base  int // offset in the file of that statement or declaration
	at    token.Pos
	*Facts
	extra []types.Object // variables of the cell that a declaration sees
	path  []ast.Node     // from the file down to the cursor's identifier or bracket
}

// maxRepairs is the largest number of broken lines before the cursor's line. With more, the cell is not
// checked.
const maxRepairs = 4

// place checks a cell at a byte. It returns nil if the cursor is not in Go.
func (h *Helper) place(src string, pos int) *place {
	pl := &place{h: h, st: h.World().Stage()}
	head := src[:pos]
	tokens := cell.Scan(head)
	if t, ok := cell.Within(head, tokens, pos); ok && t.Tok == token.COMMENT {
		return nil
	}
	var decls, stmts strings.Builder
	pieces := cell.Join(cell.SplitTokens(head, tokens))
	if n := len(pieces); n > 0 && pieces[n-1].Kind == cell.Command && !strings.Contains(head[pieces[n-1].To:], "\n") {
		return nil
	}
	kind := pl.before(head, pieces, &decls, &stmts)
	pl.Place = cursor.At(src[pl.start:pos])
	if kind == cell.Import {
		return pl
	}
	text, at := pl.Whole(src[pl.start:pos])
	after := laterDecls(src, pl.start, pos)
	if kind == cell.Declaration {
		if stmts.Len() > 0 {
			pl.check("package "+world.PkgPath+"\n"+decls.String()+"\nfunc cell__() {\n"+stmts.String(), "", "\n}", 0)
		}
		for _, scope := range pl.scopes() {
			for _, name := range scope.Names() {
				if o, ok := scope.Lookup(name).(*types.Var); ok { // which the declaration sees
					pl.extra = append(pl.extra, types.NewVar(token.NoPos, pl.Pkg, name, o.Type()))
				}
			}
		}
		pl.check("package "+world.PkgPath+"\n"+decls.String()+"\n", text, "\n"+after, at)
		return pl
	}
	open, shut := "package "+world.PkgPath+"\n"+decls.String()+after+"\nfunc cell__() {\n", "\n}"
	pl.check(open+stmts.String(), text, shut, at)
	if pl.Kind == cursor.Code && strings.HasPrefix(pl.Rest, cursor.Name) && !pl.found() && !pl.afterIf() {
		pl.lastLine(src[pl.start:pos], open, shut)
	}
	return pl
}

// before sorts the pieces before the statement or declaration at the cursor into declarations and
// statements, and returns the kind of the one at the cursor.
func (pl *place) before(head string, pieces []cell.Piece, decls, stmts *strings.Builder) (kind cell.Kind) {
	pl.start = len(head)
	for i, p := range pieces {
		text := p.Text(head)
		if i == len(pieces)-1 && p.Kind != cell.Command {
			start, open := lastStatement(head[p.From:])
			pl.start = p.From + start
			text = head[p.From:pl.start]
			if list := cell.Split(head[pl.start:]); open && len(list) > 0 {
				kind = list[0].Kind
			}
		}
		switch p.Kind {
		case cell.Import:
			pl.h.Import(pl.st, text)
		case cell.Declaration:
			decls.WriteString(text + "\n")
		case cell.Statement:
			stmts.WriteString(text + "\n")
		}
	}
	return kind
}

// lastStatement returns the offset of the last statement or declaration of a piece, and whether it is
// unfinished.
func lastStatement(src string) (start int, open bool) {
	begin := true
	for _, t := range cell.Code(cell.ScanGo(src)) {
		if t.Ends() && t.Depth == 0 {
			begin = t.From < len(src) // the end of the text does not end a line
			continue
		}
		if begin {
			start, begin = t.From, false
		}
	}
	if begin {
		return len(src), false
	}
	return start, true
}

// laterDecls returns the declarations of a cell after the statement or declaration that begins at start
// and has the cursor in it.
func laterDecls(src string, start, pos int) string {
	rest := ""
	for _, t := range cell.ScanGo(src[start:]) {
		if t.Ends() && t.Depth == 0 && start+t.From >= pos {
			rest = src[start+t.From:]
			break
		}
	}
	var b strings.Builder
	for _, p := range cell.Split(rest) {
		if p.Kind == cell.Declaration {
			b.WriteString(p.Text(rest) + "\n")
		}
	}
	return b.String()
}

// scopes returns the scopes around the cursor within the text that was checked, the innermost first.
func (pl *place) scopes() (list []*types.Scope) {
	if pl.Facts == nil {
		return nil
	}
	for s := pl.Pkg.Scope().Innermost(pl.at); s != nil && s != types.Universe && s != pl.Pkg.Scope(); s = s.Parent() {
		list = append(list, s)
	}
	return list
}

// check parses and checks the text with the cursor at byte at, between prefix and suffix. It leaves out
// lines that do not parse.
func (pl *place) check(prefix, text, suffix string, at int) {
	src := []byte(prefix + text + suffix)
	pl.base = len(prefix)
	off := len(prefix) + at
	fset := token.NewFileSet()
	for range maxRepairs {
		file, err := notation.ParseFile(fset, "", string(src), parser.SkipObjectResolution|parser.AllErrors)
		pl.file = file
		if err == nil || !blankBroken(src, err, off) {
			break
		}
	}
	if pl.file == nil {
		return
	}
	pl.at = pl.file.FileStart + token.Pos(off)
	var outs []types.Object
	for _, d := range pl.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && (pl.at < f.Pos() || pl.at > f.End()) {
			f.Body = nil // its body is not needed
		}
		if ok && f.Body != nil && f.Name.Name == "cell__" {
			outs = pl.h.Outs(f.Body.List)
			nest(f.Body)
		}
	}
	pl.Facts = pl.h.checkUnfinished(fset, pl.st, pl.file, append(outs, pl.extra...))
	pl.path = pathTo(pl.file, pl.at)
}

// checkUnfinished checks code that may be wrong in any way. The type checker may panic on such code, and a
// panic in completion must not end a session.
func (h *Helper) checkUnfinished(fset *token.FileSet, st *world.Stage, file *ast.File, extra []types.Object) (c *Facts) {
	defer func() {
		if recover() != nil {
			c = nil
		}
	}()
	foreignMethods(file)
	return h.Check(fset, st, file, extra...)
}

// foreignMethods turns methods of types that the file does not declare into functions, with the receiver
// as their first parameter. The type checker wants a method in the package of its type.
func foreignMethods(file *ast.File) {
	declared := map[string]bool{}
	for _, d := range file.Decls {
		for _, name := range world.DeclaredBy(d) {
			declared[name] = true
		}
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || len(f.Recv.List) != 1 || declared[world.Receiver(f)] {
			continue
		}
		for _, id := range world.ReceiverParams(f) {
			if f.Type.TypeParams == nil {
				f.Type.TypeParams = &ast.FieldList{}
			}
			constraint := &ast.Ident{Name: "comparable", NamePos: id.NamePos}
			f.Type.TypeParams.List = append(f.Type.TypeParams.List, &ast.Field{Names: []*ast.Ident{id}, Type: constraint})
		}
		f.Type.Params.List = append([]*ast.Field{f.Recv.List[0]}, f.Type.Params.List...)
		f.Recv, f.Name = nil, &ast.Ident{Name: "_", NamePos: f.Name.NamePos}
	}
}

// blankBroken replaces the first line with a syntax error by blanks, if the line is before the cursor and
// its brackets match.
func blankBroken(src []byte, err error, cursor int) bool {
	var list scanner.ErrorList
	errors.As(err, &list)
	for _, e := range list {
		from := bytes.LastIndexByte(src[:min(e.Pos.Offset, len(src))], '\n') + 1
		before, _, _ := bytes.Cut(src[from:], []byte("\n"))
		line, to := string(before), from+len(before)
		depth, open := 0, false
		for _, t := range cell.ScanGo(line) {
			depth += cell.Nesting(t.Tok)
			open = t.Open && (t.Tok == token.COMMENT || t.Raw(line))
		}
		if to > cursor || depth != 0 || open || strings.TrimSpace(line) == "" {
			continue
		}
		copy(src[from:to], strings.Repeat(" ", to-from))
		return true
	}
	return false
}

// found says whether the cursor's name is still there after parsing.
func (pl *place) found() bool {
	id, ok := append([]ast.Node{nil}, pl.path...)[len(pl.path)].(*ast.Ident)
	return ok && id.Name == cursor.Name
}

// afterIf says whether the cursor is right behind the block of an if.
func (pl *place) afterIf() bool {
	return pl.Prev == token.RBRACE && pl.Inner().First == token.IF && !pl.Begins
}

// lastLine checks the last line alone, because the text before it does not parse.
func (pl *place) lastLine(src, open, shut string) {
	line := strings.LastIndexByte(src, '\n') + 1
	last := cursor.At(src[line:])
	if last.Kind != cursor.Code {
		return
	}
	text, at := last.Whole(src[line:])
	last.From += line
	pl.Place = last
	pl.check(open, text, shut, at)
	pl.base -= line
}

// nest opens a block before each statement that declares a name for the second time: a cell may do so,
// with another type.
func nest(body *ast.BlockStmt) {
	seen := map[string]bool{}
	for i, s := range body.List {
		as, ok := s.(*ast.AssignStmt)
		if !ok || as.Tok != token.DEFINE {
			continue
		}
		again := false
		for _, x := range as.Lhs {
			name := types.ExprString(x)
			again = again || seen[name]
			seen[name] = true
		}
		if again && i > 0 {
			inner := &ast.BlockStmt{Lbrace: s.Pos(), List: body.List[i:], Rbrace: body.Rbrace}
			nest(inner)
			body.List = append(slices.Clip(body.List[:i]), inner)
			return
		}
	}
}

// pathTo returns the nodes around a position, the innermost last.
func pathTo(file *ast.File, at token.Pos) (path []ast.Node) {
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil || at < n.Pos() || at > n.End() {
			return false
		}
		// If two neighbours touch at the position, the later one counts.
		for len(path) > 0 && (n.Pos() < path[len(path)-1].Pos() || n.End() > path[len(path)-1].End()) {
			path = path[:len(path)-1]
		}
		path = append(path, n)
		return true
	})
	return path
}

package session

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
	"github.com/mcs-notebook/mcs/stdlib"
)

func (d *Diag) place() string {
	if d.File != "" {
		return fmt.Sprintf("%s:%d:%d", d.File, d.Line, d.Col)
	}
	if d.Cell <= 0 {
		return fmt.Sprintf("%d:%d", d.Line, d.Col)
	}
	return fmt.Sprintf("In[%d]:%d:%d", d.Cell, d.Line, d.Col)
}

// String is the message with its place, then the line and a caret line.
func (d *Diag) String() string {
	text := d.place() + ": " + d.Message
	if d.Hint != "" {
		text += "; " + d.Hint
	}
	return text + d.pointer()
}

// pointer is the source line and the carets below it.
func (d *Diag) pointer() string {
	if strings.TrimSpace(d.Source) == "" {
		return ""
	}
	src := strings.TrimRight(d.Source, " \t\r")
	col := min(max(d.Col-1, 0), len(src))
	indent := len(src) - len(strings.TrimLeft(src, " \t"))
	indent = min(indent, col)
	n := min(max(d.Len, 1), max(len(src)-col, 1))
	pad := strings.Map(func(r rune) rune {
		if r == '\t' {
			return '\t'
		}
		return ' '
	}, src[indent:col])
	carets := strings.Repeat("^", max(len([]rune(src[col:min(col+n, len(src))])), 1))
	return "\n    " + src[indent:] + "\n    " + pad + carets
}

// Error lists the complaints.
func (e *CheckError) Error() string {
	var lines []string
	for i := range e.Diags {
		lines = append(lines, e.Diags[i].String())
	}
	return strings.Join(lines, "\n")
}

// Unwrap is what the interpreter said of code that only it refuses, or nil.
func (e *CheckError) Unwrap() error { return e.cause }

// A FailedError is an error that a top-level statement returned and left out: it stops the cell.
type FailedError struct {
	Diag Diag
	Err  error
}

func (e *FailedError) Error() string { return e.Diag.String() }

// Unwrap is the error that was returned.
func (e *FailedError) Unwrap() error { return e.Err }

// diag makes a complaint; line and col are those of the cell.
func (s *Session) diag(cell, line, col, length int, msg, hint string) Diag {
	d := Diag{Cell: cell, Line: line, Col: col, Len: length, Message: msg, Hint: hint, Source: lineOf(s.source(cell), line)}
	if f := s.locals.file(cell); f != nil {
		d.Cell, d.File = 0, f.name
	}
	return d
}

// diagAt makes a complaint about a place in the file set.
func (s *Session) diagAt(pos token.Pos, length int, msg, hint string) Diag {
	p := s.fset.Position(pos)
	d := s.diag(yaegi.CellOf(p.Filename), p.Line, p.Column, length, msg, hint)
	if length == 0 {
		d.Len = tokenLength(d.Source, d.Col)
	}
	return d
}

// tokenLength is the length of the token that starts at a column.
func tokenLength(line string, col int) int {
	if col < 1 || col > len(line) {
		return 1
	}
	list, _ := lex(line[col-1:])
	if len(list) == 0 {
		return 1
	}
	if list[0].lit != "" {
		return len(list[0].lit)
	}
	return max(len(list[0].tok.String()), 1)
}

var (
	butDoesHave = regexp.MustCompile(`, but does have (?:field |method )?(\w+)\)`)
	undefined   = regexp.MustCompile(`^undefined: (?:(\w+)\.)?(\w+)$`)
	localPath   = regexp.MustCompile(`"` + lower.LocalPrefix + `[^"]*@\d+"`)
	noImport    = regexp.MustCompile(`^could not import (\S+) \(import "[^"]*": (.*)\)$`)
	outName     = regexp.MustCompile(`__out_(\d+)`)
	sameName    = regexp.MustCompile(`\((?:variable|value) of (?:\w+ )?type ([^)]+)\) as (\S+) value`)
	noMember    = regexp.MustCompile(`^(.*)\.(\w+) undefined \(type (.*) has no field or method (\w+)\)$`)
)

// complaints turns the checker's errors into diagnostics, in the order of their places.
func (s *Session) complaints(st *stage, c *checked) *CheckError {
	e := &CheckError{}
	for _, te := range c.errs {
		if strings.HasPrefix(te.Msg, "\t") { // a continuation of the error before
			continue
		}
		msg, hint := s.explain(st, c, te)
		e.Diags = append(e.Diags, s.diagAt(te.Pos, 0, msg, hint))
		if len(e.Diags) == 10 {
			break
		}
	}
	slices.SortStableFunc(e.Diags, func(a, b Diag) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return e
}

// explain words a message for cells and finds a suggestion.
func (s *Session) explain(st *stage, c *checked, te types.Error) (msg, hint string) {
	msg = localPath.ReplaceAllStringFunc(te.Msg, func(path string) string {
		if p := s.locals.byPath[strings.Trim(path, `"`)]; p != nil {
			return p.pkg.Name()
		}
		return path
	})
	msg = strings.ReplaceAll(msg, pkgPath+".", "")
	msg = strings.ReplaceAll(msg, " (declared at -)", "")
	msg = outName.ReplaceAllString(msg, "Out[$1]")
	if m := noImport.FindStringSubmatch(msg); m != nil {
		return fmt.Sprintf("package %s: %s", m[1], m[2]), ""
	}
	if m := sameName.FindStringSubmatch(msg); m != nil && m[1] == m[2] {
		return msg, "the value has an earlier declaration of the type: make it again"
	}
	if m := butDoesHave.FindStringSubmatch(msg); m != nil {
		return strings.Replace(msg, m[0], ")", 1), "did you mean " + m[1] + "?"
	}
	if m := undefined.FindStringSubmatch(msg); m != nil {
		return msg, s.hintUndefined(st, c, te.Pos, m[1], m[2])
	}
	if m := noMember.FindStringSubmatch(msg); m != nil {
		return msg, s.hintMember(c, te.Pos, m[1], m[4])
	}
	return msg, ""
}

func (s *Session) hintUndefined(st *stage, c *checked, pos token.Pos, pkg, name string) string {
	var candidates []string
	if pkg != "" {
		o, _ := c.pkg.Scope().Lookup(pkg).(*types.PkgName)
		if o == nil {
			return ""
		}
		for _, n := range o.Imported().Scope().Names() {
			if token.IsExported(n) {
				candidates = append(candidates, n)
			}
		}
		return didYouMean(name, candidates)
	}
	if name == "Out" {
		return "no such result was kept"
	}
	if assigned(c.files, pos) {
		return "declare it with :="
	}
	st.all(func(e *entity) { candidates = append(candidates, e.name) })
	candidates = append(candidates, types.Universe.Names()...)
	for _, p := range stdlib.Engine() {
		candidates = append(candidates, p[strings.LastIndexByte(p, '/')+1:])
	}
	for _, f := range c.files {
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && c.info.Defs[id] != nil && id.Name != "cell" {
				candidates = append(candidates, id.Name)
			}
			return true
		})
	}
	return didYouMean(name, candidates)
}

// assigned says whether the identifier at pos stands on the left of a plain assignment.
func assigned(files []*ast.File, pos token.Pos) (found bool) {
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if a, ok := n.(*ast.AssignStmt); ok && a.Tok == token.ASSIGN {
				for _, e := range a.Lhs {
					found = found || e.Pos() == pos
				}
			}
			return !found
		})
	}
	return found
}

func (s *Session) hintMember(c *checked, pos token.Pos, operand, name string) string {
	var t types.Type
	for _, f := range c.files {
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Pos() == pos {
				t = c.info.Types[sel.X].Type
			}
			return t == nil
		})
	}
	if t == nil {
		return ""
	}
	var candidates []string
	for _, m := range members(t) {
		candidates = append(candidates, m.Name())
	}
	if hint := didYouMean(name, candidates); hint != "" {
		return hint
	}
	if path, ok := stdlib.ImportFor(operand); ok {
		return fmt.Sprintf("%s is a variable of yours that hides the package %s", operand, path)
	}
	return ""
}

// didYouMean suggests the candidate that is nearest to a misspelt name.
func didYouMean(name string, candidates []string) string {
	best, least := "", 1
	if len(name) > 4 {
		least = min(1+len(name)/5, 3)
	}
	sort.Strings(candidates)
	for _, c := range candidates {
		if c == name || c == "_" || strings.HasPrefix(c, "__") {
			continue
		}
		d := distance(strings.ToLower(name), strings.ToLower(c))
		if d <= least && (best == "" || d < distance(strings.ToLower(name), strings.ToLower(best))) {
			best = c
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + best + "?"
}

// distance counts the letters to insert, delete, replace or swap with their neighbour to get from a to b.
func distance(a, b string) int {
	if d := len(a) - len(b); d > 3 || d < -3 {
		return 4
	}
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	next := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}

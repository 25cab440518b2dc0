package gofile

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/notation"
)

// A session has one function of each name: closures and functions that are older than a new declaration
// call the new one. In a program each declaration becomes an assignment to a variable, and the function
// calls the function in that variable. If no code could see the difference, the old function only gets
// another name.

// declareAgain settles the functions that are declared several times.
func (p *program) declareAgain() {
	again := map[string][]int{} // the places of the declarations
	for i, u := range p.units {
		if u.name != "" {
			again[u.name] = append(again[u.name], i)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(again)) {
		if places := again[name]; len(places) > 1 && (p.onlyCalled(name, places) || !p.indirect(name, places)) {
			p.renameOld(name, places)
		}
	}
}

// onlyCalled says whether every use of a function before its last declaration is a call that is made there.
func (p *program) onlyCalled(name string, places []int) bool {
	for i, u := range p.units[:places[len(places)-1]] {
		if u.kind == cell.Command || slices.Contains(places, i) {
			continue
		}
		tokens := slices.DeleteFunc(cell.Scan(u.text), func(t cell.Token) bool { return t.Tok == token.COMMENT })
		later := u.kind == cell.Declaration
		for k, t := range tokens {
			switch t.Tok {
			case token.FUNC, token.GO, token.DEFER:
				later = true
			case token.IDENT:
				isMember := k > 0 && tokens[k-1].Tok == token.PERIOD
				isCall := k+1 < len(tokens) && tokens[k+1].Tok == token.LPAREN
				if t.Text(u.text) == name && !isMember && (later || !isCall) {
					return false
				}
			}
		}
	}
	return true
}

// renameOld gives another name to each declaration of a function but the last, for the code that ran
// before the last.
func (p *program) renameOld(name string, places []int) {
	for n, i := range places[:len(places)-1] {
		old := fmt.Sprintf("%s%d", name, i+1)
		for j := i; j < places[n+1]; j++ {
			if j == i || p.units[j].kind == cell.Statement {
				p.units[j].rename(name, old)
			}
		}
		p.units[i].name = old
	}
}

// indirect makes the declarations assignments to a variable that the function calls. It does not if their
// types differ, or if the function is generic.
func (p *program) indirect(name string, places []int) bool {
	list := make([]declared, len(places))
	for k, i := range places {
		d, ok := parseFunc(p.units[i].text)
		if !ok || d.types != list[0].types && k > 0 {
			return false
		}
		list[k] = d
	}
	current := name + "Now"
	for slices.ContainsFunc(p.units, func(u unit) bool { return strings.Contains(u.text, current) }) {
		current += "2"
	}
	p.globals[current] = "func" + list[0].types
	for k, i := range places {
		p.units[i] = unit{kind: cell.Statement, text: list[k].before + current + " = func" + list[k].rest, quiet: true}
	}
	result := ""
	if list[0].results {
		result = "return "
	}
	text := fmt.Sprintf("func %s%s { %s%s(%s) }", name, list[0].named, result, current, list[0].arguments)
	p.units = append(p.units, unit{kind: cell.Declaration, text: text, name: name})
	return true
}

// declared is the declaration of a function in pieces.
type declared struct {
	before    string // comments
	rest      string // from the parameters on
	types     string // "(int, ...string) error"
	named     string // "(a0 int, a1 ...string) error"
	arguments string // "a0, a1..."
	results   bool
}

func parseFunc(text string) (d declared, ok bool) {
	const head = "package p\n"
	fset := token.NewFileSet()
	file, err := notation.ParseFile(fset, "", head+text, parser.SkipObjectResolution)
	if err != nil || len(file.Decls) != 1 {
		return d, false
	}
	f, ok := file.Decls[0].(*ast.FuncDecl)
	if !ok || f.Type.TypeParams != nil || f.Body == nil {
		return d, false
	}
	source := func(from, to token.Pos) string {
		return text[fset.Position(from).Offset-len(head) : fset.Position(to).Offset-len(head)]
	}
	d.before = text[:fset.Position(f.Pos()).Offset-len(head)]
	d.rest = source(f.Type.Params.Pos(), f.End())
	var types, named, arguments []string
	for _, field := range f.Type.Params.List {
		for range max(1, len(field.Names)) {
			name, spread := fmt.Sprint("a", len(types)), ""
			if _, variadic := field.Type.(*ast.Ellipsis); variadic {
				spread = "..."
			}
			typ := source(field.Type.Pos(), field.Type.End())
			types, named, arguments = append(types, typ), append(named, name+" "+typ), append(arguments, name+spread)
		}
	}
	results := ""
	if r := f.Type.Results; r != nil {
		d.results = true
		var list []string
		for _, field := range r.List {
			for range max(1, len(field.Names)) {
				list = append(list, source(field.Type.Pos(), field.Type.End()))
			}
		}
		results = " (" + strings.Join(list, ", ") + ")"
	}
	d.types = "(" + strings.Join(types, ", ") + ")" + results
	d.named = "(" + strings.Join(named, ", ") + ")" + results
	d.arguments = strings.Join(arguments, ", ")
	return d, true
}

// endDeferred makes a function of a cell that defers calls: they run at the end of the cell, not of the
// program. It cannot if the cell declares variables, which other cells may use.
func endDeferred(units []unit) ([]unit, error) {
	deferred := -1
	declares := false
	for i, u := range units {
		tokens := cell.Scan(u.text)
		if u.kind != cell.Statement {
			continue
		}
		tokens = slices.DeleteFunc(tokens, func(t cell.Token) bool { return t.Tok == token.COMMENT })
		if deferred < 0 && defers(u.text) {
			deferred = i
		}
		scopes := []token.Token{token.IF, token.FOR, token.SWITCH, token.SELECT} // of statements that have one of their own
		declares = declares || slices.ContainsFunc(tokens, func(t cell.Token) bool {
			return t.Depth == 0 && (t.Tok == token.DEFINE && !slices.Contains(scopes, tokens[0].Tok) || t.Tok == token.VAR)
		})
	}
	if deferred < 0 {
		return units, nil
	}
	if declares {
		return nil, fmt.Errorf("the session cannot be written as one Go program: a deferred call runs at the end of its cell, which declares variables, at `%s`",
			strings.TrimSpace(units[deferred].text))
	}
	var rest []unit
	body := unit{kind: cell.Statement, quiet: true}
	for _, u := range units {
		if u.kind == cell.Statement {
			body.text += u.text + "\n"
		} else {
			rest = append(rest, u)
		}
	}
	body.text = "func() {\n" + body.text + "}()"
	return append(rest, body), nil
}

// defers says whether statements defer a call, in blocks of theirs, too.
func defers(text string) (found bool) {
	if !strings.Contains(text, "defer") {
		return false
	}
	file, _ := notation.ParseFile(token.NewFileSet(), "", "package p\nfunc _() {\n"+text+"\n}", parser.SkipObjectResolution)
	if file == nil || len(file.Decls) == 0 {
		return false
	}
	ast.Inspect(file.Decls[0], func(n ast.Node) bool {
		_, closure := n.(*ast.FuncLit)
		_, is := n.(*ast.DeferStmt)
		found = found || is
		return !found && !closure
	})
	return found
}

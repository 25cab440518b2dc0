package notation

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
)

// Go's parser takes one index or one range between brackets. An index of several axes is given to it as a
// call: the brackets become parentheses, a range's colons become commas or blanks, and what is left out
// becomes _. The text keeps its length, so that all places stay. A group says what its arguments were.

// A group is a pair of brackets with the parts between them.
type group struct {
	from, to int // bytes of the text, with the brackets
	parts    []part
}

// A part stands between two commas.
type part struct {
	from   int     // its first byte, for what has no argument of its own
	colons int     // 0: one value
	bounds [3]bool // of a range: start, stop and step are given
	rest   bool    // ...
}

// readBrackets rewrites the brackets that are no Go but an index, innermost first.
func readBrackets(src string) (plain string, groups map[int]group) {
	if !strings.Contains(src, "[") {
		return src, nil
	}
	tokens := cell.Code(cell.ScanGo(src))
	text := []byte(src)
	var open []int // tokens
	for i, t := range tokens {
		switch {
		case cell.Nesting(t.Tok) > 0:
			open = append(open, i)
		case cell.Nesting(t.Tok) < 0 && len(open) > 0:
			first := open[len(open)-1]
			open = open[:len(open)-1]
			if t.Tok != token.RBRACK || tokens[first].Tok != token.LBRACK || first == 0 || !endsOperand(tokens[first-1].Tok) {
				continue
			}
			if g, ok := rewrite(text, tokens[first:i+1]); ok {
				if groups == nil {
					groups = map[int]group{}
				}
				groups[g.from] = g
			}
		}
	}
	return string(text), groups
}

// A Span is a stretch of a text: the bytes From…To.
type Span struct{ From, To int }

// Indices returns what stands between the brackets of each index of several axes, in order. Indices within
// indices are a part of the outer ones.
func Indices(src string) (list []Span) {
	_, groups := readBrackets(src)
	for _, from := range slices.Sorted(maps.Keys(groups)) {
		if n := len(list); n == 0 || from > list[n-1].To {
			list = append(list, Span{from + 1, groups[from].to - 1})
		}
	}
	return list
}

// endsOperand says whether a bracket behind a token is an index.
func endsOperand(t token.Token) bool {
	return t == token.IDENT || t == token.RPAREN || t == token.RBRACK
}

// rewrite rewrites one pair of brackets in the text if it is not Go and becomes an index of several axes, or
// of a range with a step.
func rewrite(text []byte, tokens []cell.Token) (g group, ok bool) {
	g = group{from: tokens[0].From, to: tokens[len(tokens)-1].To}
	if isExpr("x" + string(text[g.from:g.to])) {
		return g, false
	}
	was := string(text[g.from:g.to])
	text[g.from], text[g.to-1] = '(', ')'
	depth := tokens[0].Depth
	start, given := 1, false
	for i := 1; i < len(tokens); i++ {
		t := tokens[i]
		end := i == len(tokens)-1
		if !end && (t.Depth != depth || t.Tok != token.COMMA) {
			given = given || t.Tok != cell.LineEnd
			continue
		}
		if !given && end && len(g.parts) > 0 { // a comma at the end
			break
		}
		p, ok := readPart(text, tokens[start:i], depth)
		if !ok {
			break
		}
		g.parts = append(g.parts, p)
		start, given = i+1, false
	}
	if ok = len(g.parts) > 0 && isExpr("x"+string(text[g.from:g.to])); !ok {
		copy(text[g.from:], was)
	}
	return g, ok
}

// readPart reads the tokens between two commas, and writes them as arguments.
func readPart(text []byte, tokens []cell.Token, depth int) (p part, ok bool) {
	if len(tokens) == 0 {
		return p, false
	}
	p.from = tokens[0].From
	if p.rest = len(tokens) == 1 && tokens[0].Tok == token.ELLIPSIS; p.rest {
		copy(text[tokens[0].From:], "_  ")
		return p, true
	}
	var colons []cell.Token
	for _, t := range tokens {
		switch {
		case t.Tok == token.COLON && t.Depth == depth:
			if colons = append(colons, t); len(colons) > 2 {
				return p, false
			}
			text[t.From] = ' '
		case len(colons) < len(p.bounds) && t.Tok != cell.LineEnd:
			p.bounds[len(colons)] = true
		}
	}
	p.colons = len(colons)
	if p.colons == 0 {
		return p, true
	}
	before := false
	for i, given := range p.bounds {
		if given && before {
			text[colons[i-1].From] = ','
		}
		before = before || given
	}
	if !before {
		text[colons[0].From] = '_'
	}
	return p, true
}

// graft makes calls of Index of the groups' calls.
func graft(tf *token.File, file *ast.File, src string, groups map[int]group) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		g, ok := groups[tf.Offset(call.Lparen)]
		if !ok || src[g.from] != '[' {
			return true
		}
		args := call.Args
		call.Fun = &ast.SelectorExpr{X: call.Fun, Sel: id("Index", call.Lparen)}
		call.Args = nil
		for _, p := range g.parts {
			pos := tf.Pos(p.from)
			next := func() (x ast.Expr) {
				if len(args) > 0 {
					x, args = args[0], args[1:]
				}
				return x
			}
			switch {
			case p.rest:
				next()
				call.Args = append(call.Args, inPackage("Rest", pos))
			case p.colons == 0:
				call.Args = append(call.Args, at(next()))
			default:
				var bounds [3]ast.Expr
				for i, given := range p.bounds {
					if given {
						bounds[i] = next()
					}
				}
				if p.bounds == [3]bool{} {
					next()
				}
				call.Args = append(call.Args, span(bounds, pos))
			}
		}
		return true
	})
}

// at is the Part of one index.
func at(x ast.Expr) ast.Expr { return part1("At", x) }

func part1(name string, x ast.Expr) ast.Expr {
	return &ast.CallExpr{Fun: inPackage(name, x.Pos()), Lparen: x.Pos(), Args: []ast.Expr{x}, Rparen: x.End() - 1}
}

// span is the Part of a range; bounds that are left out are nil.
func span(bounds [3]ast.Expr, pos token.Pos) ast.Expr {
	if bounds == [3]ast.Expr{} {
		return inPackage("All", pos)
	}
	name, end := "Span", pos
	args := bounds[:2:2]
	if bounds[2] != nil {
		name, args = "SpanStep", bounds[:]
	}
	for i, b := range args {
		if b == nil {
			args[i] = inPackage("Open", pos)
		} else {
			end = b.End() - 1
		}
	}
	return &ast.CallExpr{Fun: inPackage(name, pos), Lparen: pos, Args: args, Rparen: end}
}

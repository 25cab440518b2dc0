package magics

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/notation"
)

// A listing is where a function is declared: a cell, and its first and last line there.
type listing struct {
	cell, first, last int
	lines             []string // of the cell
}

func runLineProfile(ctx context.Context, c *call) (display.Value, error) {
	name, statement, _ := strings.Cut(strings.TrimSpace(c.rest), " ")
	if strings.TrimSpace(statement) == "" {
		return nil, c.errorf("got no call; usage: %s", c.magic.usage())
	}
	l, ok := c.listing(name)
	if !ok {
		return nil, c.errorf("%s is no function that a cell declares; methods are written T.Method", name)
	}
	w, err := c.ready(strings.TrimSpace(statement))
	if err != nil {
		return nil, err
	}
	p, err := c.profiled(ctx, w, nil, true)
	if err != nil {
		return nil, err
	}
	return l.table(p), nil
}

// listing finds the newest declaration of a function, or of a method that is written T.Method.
func (c *call) listing(name string) (listing, bool) {
	for _, each := range slices.Backward(c.s.History()) {
		if each.N < 1 || each.Err {
			continue
		}
		for _, piece := range cell.Split(each.Source) {
			if piece.Kind != cell.Declaration {
				continue
			}
			fset := token.NewFileSet()
			const before = "package p;"
			f, err := notation.ParseFile(fset, "", before+piece.Text(each.Source), parser.SkipObjectResolution)
			if err != nil {
				continue
			}
			start, _ := cell.LineCol(each.Source, piece.From)
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && declaredName(fn) == name {
					return listing{each.N, start - 1 + fset.Position(fn.Pos()).Line, start - 1 + fset.Position(fn.End()).Line, strings.Split(each.Source, "\n")}, true
				}
			}
		}
	}
	return listing{}, false
}

// declaredName is a function's name, or T.Method.
func declaredName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + fn.Name.Name
	}
	return fn.Name.Name
}

// table has each line of the function with the time that passed while it was under way.
func (l listing) table(p *profiled) display.Value {
	took, doing := map[int]time.Duration{}, map[int]map[string]time.Duration{}
	var inside, all time.Duration
	for _, s := range p.spans {
		all += s.took
		within := false
		for line := l.first; line <= l.last; line++ {
			if slices.Contains(s.lines, fmt.Sprintf("In[%d]:%d", l.cell, line)) {
				took[line] += s.took
				if doing[line] == nil {
					doing[line] = map[string]time.Duration{}
				}
				doing[line][s.in] += s.took
				within = true
			}
		}
		if within {
			inside += s.took
		}
	}
	t := display.NewTable(">line", ">time", ">%", "=in", "~source")
	for line := l.first; line <= min(l.last, len(l.lines)); line++ {
		source := display.Cell{Text: strings.ReplaceAll(strings.TrimRight(l.lines[line-1], " \t"), "\t", "    "), Role: display.Code}
		d, ok := took[line]
		if !ok {
			t.Add(line, nil, nil, nil, source)
			continue
		}
		t.Add(line, display.SecondsCell(d.Seconds()), display.Cell{Text: units.Digits(100 * d.Seconds() / max(inside.Seconds(), 1e-12))}, shares(doing[line], d), source)
	}
	share := "none"
	if all > 0 {
		share = units.Percent(inside.Seconds() / all.Seconds())
	}
	t.Foot = fmt.Sprintf("In[%d] · %s of the time in this function · %s\n%s", l.cell, share, p.summary(), p.machine.Brief())
	return t
}

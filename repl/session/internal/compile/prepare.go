package compile

import (
	"context"
	"errors"
	"go/ast"
	"go/types"
	"os/exec"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
	"github.com/mcs-notebook/mcs/stdlib"
)

// GivenUp is the panic value of a check that was interrupted.
type GivenUp struct{}

// Prepare checks and builds pieces, up to the first command after which the rest may have to be checked
// again.
func (c *Compiler) Prepare(ctx context.Context, n int, src string, pieces []cell.Piece) ([][]*Unit, error) {
	defer func() { c.before = nil }()
	stage := func() *world.Stage {
		c.before = nil
		st := c.World.Stage()
		st.Ctx = ctx
		return st
	}
	st := stage()
	units, err := c.Check(st, n, src, pieces)
	if err != nil {
		// A command before this piece might have declared the missing name.
		i := len(units) - 1
		for i >= 0 && pieces[i].Kind != cell.Command {
			i--
		}
		if i < 0 {
			return nil, err
		}
		st = stage()
		if units, err = c.Check(st, n, src, pieces[:i+1]); err != nil {
			return nil, err
		}
	}
	for _, u := range units {
		for _, part := range u {
			if err := c.Build(st, part); err != nil {
				return nil, err
			}
		}
	}
	return units, nil
}

// Check checks pieces in order; each piece sees the declarations of the pieces before it. On an error it
// returns the units of the pieces before the wrong one, and the wrong one.
func (c *Compiler) Check(st *world.Stage, n int, src string, pieces []cell.Piece) (units [][]*Unit, err error) {
	lastGo := -1
	for i, p := range pieces {
		if p.Kind != cell.Command {
			lastGo = i
		}
	}
	for i, p := range pieces {
		last := i == lastGo && i == len(pieces)-1
		list, err := c.checkPiece(st, n, src, p, last)
		units = append(units, list)
		if wrong := new(CheckError); errors.As(err, &wrong) {
			c.answerAll(n, src, wrong)
		}
		if err != nil {
			return units, err
		}
	}
	return units, nil
}

func (c *Compiler) checkPiece(st *world.Stage, n int, src string, p cell.Piece, last bool) ([]*Unit, error) {
	var u *Unit
	var err error
	switch p.Kind {
	case cell.Command:
		c.before = nil
		return []*Unit{{Piece: p, cell: n, Command: strings.TrimSpace(p.Text(src))}}, nil
	case cell.Import:
		return c.CheckImport(st, n, src, p)
	case cell.Declaration:
		u, err = c.checkDeclarations(st, n, src, p)
	default:
		return c.checkStatements(st, n, src, p, last)
	}
	if err != nil {
		return nil, err
	}
	return []*Unit{u}, nil
}

// isPrinting says whether an expression is a call of one of fmt's print functions, whose results are not
// shown.
func isPrinting(facts *checked, e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	return lower.Prints(facts.Info.Uses[sel.Sel])
}

// Split splits a cell into pieces. Negated are its lines that begin as a command of the shell does and are
// Go.
func (c *Compiler) Split(n int, src string) (pieces []cell.Piece, negated []string, err error) {
	tokens := cell.Scan(src)
	if f, ok := cell.CheckTokens(src, tokens); !ok && f.Missing == "*/" { // a comment belongs to no piece
		line, col := cell.LineCol(src, f.At)
		return nil, nil, &CheckError{Diags: []Diag{c.diag(n, line, col, 2, f.Message, "")}}
	}
	pieces = cell.Captures(src, cell.SplitTokens(src, tokens), c.isCommand)
	negated = cell.Negations(src, pieces, func(name string) bool {
		_, pkg := stdlib.ImportFor(name)
		return pkg || c.World.Names[name] != nil
	})
	return cell.Join(pieces), negated, nil
}

// isCommand says whether a name that code negates is no name of the session, but of a program of the system.
func (c *Compiler) isCommand(name string) bool {
	if c.World.Names[name] != nil || types.Universe.Lookup(name) != nil {
		return false
	}
	_, err := exec.LookPath(name)
	return err == nil
}

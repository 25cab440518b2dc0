package compile

import (
	"go/ast"

	"github.com/mcs-notebook/mcs/repl/cell"
)

// endedByExpressions ends a group behind each expression too, because a group shows the value of its last
// statement only.
func endedByExpressions(groups [][]ast.Stmt) (ended [][]ast.Stmt) {
	for _, list := range groups {
		start := 0
		for i, stmt := range list {
			if _, ok := stmt.(*ast.ExprStmt); ok && i+1 < len(list) {
				ended = append(ended, list[start:i+1])
				start = i + 1
			}
		}
		ended = append(ended, list[start:])
	}
	return ended
}

// shownExpressions has the expressions among statements, and whether each is shown: a typed semicolon hides
// its value. If the scanner counts other statements than the parser, semicolons do not count.
func shownExpressions(src string, list []ast.Stmt) map[ast.Stmt]bool {
	pieces := cell.Split(src)
	shown := map[ast.Stmt]bool{}
	for i, stmt := range list {
		if _, ok := stmt.(*ast.ExprStmt); ok {
			shown[stmt] = len(pieces) != len(list) || !pieces[i].Quiet
		}
	}
	return shown
}

// trailing returns the last of statements, or nil.
func trailing(list []ast.Stmt) ast.Stmt {
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

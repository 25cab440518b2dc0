// Package walk goes through syntax and types, part by part.
package walk

import (
	"go/ast"
	"go/token"
	"go/types"
)

// Own calls f with the nodes of a tree in depth-first order, without those of the function literals in it. A
// tree that is a literal itself is gone through. Below a node for which f returns false it does not look.
func Own(root ast.Node, f func(ast.Node) bool) {
	ast.Inspect(root, func(n ast.Node) bool {
		_, literal := n.(*ast.FuncLit)
		return (!literal || n == root) && (n == nil || f(n))
	})
}

// A search goes through a tree until is holds for one of its nodes.
type search[N ast.Node] struct {
	is    func(N) bool
	root  ast.Node // nil: function literals are gone through
	found bool
}

func (s *search[N]) Visit(n ast.Node) ast.Visitor {
	if _, literal := n.(*ast.FuncLit); s.found || n == nil || literal && s.root != nil && n != s.root {
		return nil
	}
	x, ok := n.(N)
	s.found = ok && s.is(x)
	return s
}

// Any says whether a tree has an N for which is holds.
func Any[N ast.Node](root ast.Node, is func(N) bool) bool {
	s := search[N]{is: is}
	ast.Walk(&s, root)
	return s.found
}

// AnyOwn is Any without the function literals in the tree.
func AnyOwn[N ast.Node](root ast.Node, is func(N) bool) bool {
	s := search[N]{is: is, root: root}
	ast.Walk(&s, root)
	return s.found
}

// Has says whether a tree has an N.
func Has[N ast.Node](root ast.Node) bool { return Any(root, func(N) bool { return true }) }

// Uses says whether code names an object.
func Uses(info *types.Info, root ast.Node, o types.Object) bool {
	return Any(root, func(id *ast.Ident) bool { return info.Uses[id] == o })
}

// Reached calls f with the parts of a tree whose variables other code may get: function literals, what runs
// later, bodies of ranges over functions, operands of & and of slices, and receivers that a method takes by
// their address.
func Reached(info *types.Info, root ast.Node, f func(ast.Node)) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.GoStmt, *ast.DeferStmt:
			f(n)
		case *ast.SliceExpr:
			f(n.X)
		case *ast.RangeStmt:
			if _, function := info.TypeOf(n.X).Underlying().(*types.Signature); function {
				f(n.Body)
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				f(n.X)
			}
		case *ast.SelectorExpr:
			sel := info.Selections[n]
			if sel != nil && sel.Kind() == types.MethodVal && IsPointer(sel.Obj().(*types.Func).Signature().Recv().Type()) && !IsPointer(info.TypeOf(n.X)) {
				f(n.X)
			}
		}
		return true
	})
}

// IsPointer says whether a type is one of pointers; nil is none.
func IsPointer(t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

// Deref returns the type that a pointer points to, or another type as it is.
func Deref(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// Names are the names in a list of parameters, results or type parameters, which may be nil.
func Names(list *ast.FieldList) (names []*ast.Ident) {
	if list != nil {
		for _, f := range list.List {
			names = append(names, f.Names...)
		}
	}
	return names
}

// Types are the types of a tuple's variables.
func Types(tuple *types.Tuple) (list []types.Type) {
	for v := range tuple.Variables() {
		list = append(list, v.Type())
	}
	return list
}

// Parts are the types that a type without a name is made of: elements, keys, fields, parameters and results.
func Parts(t types.Type) (list []types.Type) {
	switch t := t.(type) {
	case *types.Map:
		return []types.Type{t.Key(), t.Elem()}
	case *types.Signature:
		return append(Types(t.Params()), Types(t.Results())...)
	case *types.Struct:
		for v := range t.Fields() {
			list = append(list, v.Type())
		}
	case interface{ Elem() types.Type }:
		return []types.Type{t.Elem()}
	}
	return list
}

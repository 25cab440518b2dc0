package compile

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"

	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// The interpreter gets a unit as a file that declares the unit's variables, types and functions. The
// file's init function registers them with package rt and has the unit's statements run.

// assemble writes the file for the interpreter.
func (v *env) assemble() (*ast.File, error) {
	u := v.u
	l := lower.New(v, u.checked.Info)
	if err := v.declarations(l); err != nil {
		return nil, err
	}
	for _, f := range u.remade {
		for _, in := range v.compiler.instances[f[0]] {
			if f[0].Type().(*types.Signature).TypeParams().Len() != f[1].Type().(*types.Signature).TypeParams().Len() {
				break
			}
			if _, err := v.Instance(f[1], in.args, in.pos); err != nil {
				return nil, err
			}
		}
	}
	if u.Runs {
		lowered := u.loop // what the unit's statements become
		if lowered == nil {
			lowered = func(_ *env, l *lower.Lowerer) ([]ast.Stmt, error) { return l.Cell(u.body, u.Shown) }
		}
		body, err := lowered(v, l)
		if err != nil {
			return nil, err
		}
		v.funcs = append(v.funcs, v.function("cell", nil, body))
	}
	var slots []ast.Decl
	for _, e := range u.slots {
		x, err := l.Type(e.Obj.Type(), e.Obj.Pos())
		if err != nil {
			return nil, err
		}
		slots = append(slots, v.varDecl(e.Internal, v.spelled(x)))
	}
	for _, o := range u.Outs {
		if !o.declared {
			x, err := l.Type(o.Type, u.pos)
			if err != nil {
				return nil, err
			}
			slots = append(slots, v.varDecl(o.Var, v.spelled(x)))
		}
	}
	body, err := v.initBody(l)
	if err != nil {
		return nil, err
	}
	var told []ast.Stmt
	for _, slot := range u.markSlots {
		name := lower.MarkVar(slot)
		slots = append(slots, v.varDecl(name, v.id("int")))
		told = append(told, v.tellVar(name))
	}
	vars, tell := v.declareVersions()
	slots, told = append(slots, vars...), append(told, tell...)
	for _, d := range v.dispatchers {
		slots = append(slots, d.decl)
		told = append(told, v.rtCall("Dispatch", v.str(d.method), &ast.UnaryExpr{OpPos: u.pos, Op: token.AND, X: v.id(d.name)}))
	}
	file := &ast.File{Package: u.pos, Name: v.id(world.PkgPath)}
	for _, list := range [][]ast.Decl{v.types, slots, v.funcs} {
		file.Decls = append(file.Decls, list...)
	}
	if body = append(told, body...); len(body) > 0 {
		file.Decls = append(file.Decls, v.function("init", nil, body))
	}
	return file, nil
}

func (v *env) id(name string) *ast.Ident { return &ast.Ident{Name: name, NamePos: v.u.pos} }

// spelled gives a name to the type of a variable if the type has fields. Otherwise the interpreter takes
// the fields' names for variables, which it wants initialised first.
func (v *env) spelled(x ast.Expr) ast.Expr {
	fields := walk.Any(x, func(s *ast.StructType) bool { return len(s.Fields.List) > 0 })
	if !fields {
		return x
	}
	name := v.id(v.compiler.World.Fresh("__type"))
	v.types = append(v.types, &ast.GenDecl{Tok: token.TYPE, TokPos: v.u.pos, Specs: []ast.Spec{&ast.TypeSpec{Name: name, Assign: v.u.pos, Type: x}}})
	return name
}

func (v *env) varDecl(name string, t ast.Expr) ast.Decl {
	return &ast.GenDecl{Tok: token.VAR, TokPos: v.u.pos, Specs: []ast.Spec{&ast.ValueSpec{Names: []*ast.Ident{v.id(name)}, Type: t}}}
}

// declarations lowers the unit's type and function declarations. Constants are folded at their uses, and
// generic code is made at its instantiations, so neither is declared.
func (v *env) declarations(l *lower.Lowerer) error {
	for _, d := range v.u.decls {
		f, _ := d.node.(*ast.FuncDecl)
		if f != nil && f.Body == nil {
			return &lower.Error{Pos: f.Pos(), Msg: "missing function body"}
		}
		switch {
		case d.method != nil:
			if err := v.newMethod(l, d); err != nil {
				return err
			}
		case d.Generic || d.Recv != "" && v.genericType(d.Recv):
		case d.Tok == token.TYPE:
			if err := v.typeDecl(l, d.ents); err != nil {
				return err
			}
		case d.Tok == token.FUNC:
			name, display := f.Name.Name, f.Name.Name
			if d.Recv == "" && len(d.ents) > 0 {
				name = d.ents[0].Internal
			} else if d.Recv != "" {
				display = d.Display()
			} else {
				if name == "init" {
					return &lower.Error{Pos: f.Name.Pos(), Msg: "func init is not available in cells: write its statements at the top of the cell"}
				}
				continue // func _() {}
			}
			display = v.st.Display(display)
			if err := v.lowerFunc(l, v.u.checked.Info, f, v.key(display), name, display, d.Slot); err != nil {
				return err
			}
		}
	}
	return nil
}

// key identifies a function across all its versions, from its name in panics.
func (v *env) key(display string) string {
	if v.u.Own != nil {
		return v.u.Own.Dir + ": " + display
	}
	return display
}

// lowerFunc lowers a function as a new version of the functions with this key.
func (v *env) lowerFunc(l *lower.Lowerer, info *types.Info, f *ast.FuncDecl, key, name, display string, slot int) error {
	fn := info.Defs[f.Name].(*types.Func)
	if f.Recv != nil {
		name = l.MethodName(fn)
	}
	version, err := v.version(l, key, name, fn)
	if err != nil {
		return err
	}
	out, err := l.Func(f, name, display, slot, version)
	if err != nil {
		return err
	}
	v.funcs = append(v.funcs, out)
	return nil
}

func (v *env) genericType(name string) bool {
	e := v.st.Lookup(name)
	return e != nil && e.Decl != nil && e.Decl.Generic
}

// newMethod lowers a new method of a type that is not declared again. For a generic type it does so for
// all instances.
func (v *env) newMethod(l *lower.Lowerer, d *declared) error {
	t := v.st.Lookup(d.Recv)
	if !t.Decl.Generic {
		display := v.st.Display(d.Display())
		return v.lowerFunc(l, v.u.checked.Info, d.node.(*ast.FuncDecl), v.key(display), t.Internal+"·"+d.Name, display, d.Slot)
	}
	for _, in := range v.compiler.instances[t.Obj] {
		if err := v.methodInstance(in, d.Decl, nil); err != nil {
			return err
		}
	}
	return nil
}

// typeDecl declares a type to the interpreter under the name of its newest version.
func (v *env) typeDecl(l *lower.Lowerer, ents []*world.Entity) error {
	for _, e := range ents {
		o := e.Obj.(*types.TypeName)
		if i, ok := o.Type().Underlying().(*types.Interface); o.IsAlias() || ok && !i.IsMethodSet() {
			continue // nothing at run time, and what only type parameters may use
		}
		d, err := l.TypeDecl(e.Internal, o.Type(), v.u.pos)
		if err != nil {
			return err
		}
		v.types = append(v.types, d)
	}
	return nil
}

// initBody makes the body of the function that runs a unit: it registers the unit's variables and methods
// with package rt, then has the statements run.
func (v *env) initBody(l *lower.Lowerer) (body []ast.Stmt, err error) {
	rtCall := func(name string, args ...ast.Expr) { body = append(body, v.rtCall(name, args...)) }
	for _, e := range v.u.slots {
		body = append(body, v.tellVar(e.Internal))
	}
	for _, o := range v.u.Outs {
		if !o.declared {
			body = append(body, v.tellVar(o.Var))
			o.declared = true
		}
	}
	if err := v.methods(l, rtCall); err != nil {
		return nil, err
	}
	if v.u.Runs {
		rtCall("Run", v.id("cell"))
	}
	return body, nil
}

// methods makes the instances that the unit needs, and registers the methods of its types and instances
// with package rt. Registering a method may need further instances, so the loop ends only when no new
// instance is left.
func (v *env) methods(l *lower.Lowerer, rtCall func(string, ...ast.Expr)) error {
	var list []types.Type
	for _, d := range v.u.decls {
		if t := v.st.Lookup(d.Recv); d.method != nil && !t.Decl.Generic { // values in interfaces have it, too
			key := &ast.BasicLit{Kind: token.INT, Value: strconv.Itoa(v.compiler.Types.Key(t.Obj.Type())), ValuePos: v.u.pos}
			rtCall("Method", key, v.str(types.Id(t.Obj.Pkg(), d.Name)), v.id(t.Internal+"·"+d.Name))
		}
		if d.Tok != token.TYPE || d.Generic {
			continue
		}
		for _, e := range d.ents {
			if t, ok := e.Obj.Type().(*types.Named); ok && !e.Obj.(*types.TypeName).IsAlias() {
				list = append(list, t)
			}
		}
	}
	for told := 0; len(list) > 0 || len(v.todo) > 0 || told < len(v.made); list = nil {
		if err := v.makeInstances(); err != nil {
			return err
		}
		list = append(list, v.made[told:]...)
		told = len(v.made)
		for _, t := range list {
			if err := v.methodsOf(l, t, rtCall); err != nil {
				return err
			}
		}
	}
	return nil
}

// methodsOf registers the methods of a type with package rt.
func (v *env) methodsOf(l *lower.Lowerer, t types.Type, rtCall func(string, ...ast.Expr)) error {
	if types.IsInterface(t) {
		return nil
	}
	set := types.NewMethodSet(types.NewPointer(t))
	for method := range set.Methods() {
		f := method.Obj().(*types.Func)
		if !f.Exported() && !lower.Interpreted(f.Pkg()) {
			continue
		}
		lit, err := l.MethodFunc(t, method, v.u.pos)
		if err != nil {
			return err
		}
		key := &ast.BasicLit{Kind: token.INT, Value: strconv.Itoa(v.compiler.Types.Key(t)), ValuePos: v.u.pos}
		rtCall("Method", key, v.str(f.Id()), lit)
	}
	return nil
}

// tellVar makes the statement that registers a variable with package rt.
func (v *env) tellVar(name string) ast.Stmt {
	return v.rtCall("Var", v.str(name), &ast.UnaryExpr{OpPos: v.u.pos, Op: token.AND, X: v.id(name)})
}

func (v *env) rtCall(name string, args ...ast.Expr) ast.Stmt {
	f := &ast.SelectorExpr{X: v.id(lower.RT), Sel: v.id(name)}
	return &ast.ExprStmt{X: &ast.CallExpr{Fun: f, Lparen: v.u.pos, Args: args, Rparen: v.u.pos}}
}

func (v *env) str(s string) ast.Expr {
	return &ast.BasicLit{Kind: token.STRING, Value: fmt.Sprintf("%q", s), ValuePos: v.u.pos}
}

func (v *env) function(name string, params []*ast.Field, body []ast.Stmt) *ast.FuncDecl {
	pos := v.u.pos
	return &ast.FuncDecl{Name: v.id(name), Type: &ast.FuncType{Func: pos, Params: &ast.FieldList{Opening: pos, List: params, Closing: pos}},
		Body: &ast.BlockStmt{Lbrace: pos, List: body, Rbrace: pos}}
}

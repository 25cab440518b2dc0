package compile

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/generic"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
)

// Generic code is made concrete before it is lowered. For each list of type arguments the source of a
// generic function is checked once more, with its type parameters declared as aliases of the arguments. So
// the checker's facts are about concrete types, and the interpreter never sees a type parameter.

// maxInstances limits the instances of a unit. The checker refuses code that needs endlessly many; the
// limit is for cases that the checker misses.
const maxInstances = 5000

// makeInstances makes the instances that the unit's code uses, and the instances that those use in turn.
func (v *env) makeInstances() error {
	for i := 0; len(v.todo) > 0; i++ {
		if i == maxInstances {
			return fmt.Errorf("%s: more than %d instances: is it endlessly recursive?", v.todo[0].generic.Name(), maxInstances)
		}
		in := v.todo[0]
		v.todo, v.making = v.todo[1:], in
		var err error
		if _, ok := in.generic.(*types.TypeName); ok {
			err = v.typeInstance(in)
		} else {
			err = v.funcInstance(in)
		}
		v.making = nil
		var ce *CheckError
		le := new(lower.Error)
		switch {
		case err == nil:
		case errors.As(err, &le) && !lower.Interpreted(in.generic.Pkg()): // the error is in a package's code, which cells do not show
			return &lower.Error{Pos: in.pos, Msg: fmt.Sprintf("%s.%s: %s", in.generic.Pkg().Name(), in.generic.Name(), le.Msg)}
		case errors.As(err, &ce) || errors.As(err, &le):
			return err
		default:
			return &lower.Error{Pos: in.pos, Msg: err.Error()}
		}
	}
	return nil
}

// stageOf returns the scope of a package's code: that of cells, or of one of the user's packages.
func (v *env) stageOf(pkg *types.Package) *world.Stage {
	if pkg == nil || pkg.Path() == v.st.Path {
		return v.st
	}
	if p := v.compiler.packages[pkg.Path()]; p != nil {
		return p.World.Stage()
	}
	return v.cells
}

// generic returns the source of a generic declaration: of the session, or of a package that comes as
// source.
func (v *env) generic(o types.Object) (*world.Decl, *sourcePackage, error) {
	if o.Pkg() != nil && !lower.Interpreted(o.Pkg()) {
		if why := generic.Without[o.Pkg().Path()+"."+o.Name()]; why != "" {
			return nil, nil, fmt.Errorf("%s.%s is not available in cells: %s", o.Pkg().Name(), o.Name(), why)
		}
		p, err := v.compiler.sources.load(o.Pkg().Path())
		if err != nil {
			return nil, nil, err
		}
		d := p.decls[o.Name()]
		if d == nil {
			return nil, nil, fmt.Errorf("%s.%s is generic and not available in cells", o.Pkg().Name(), o.Name())
		}
		return d, p, nil
	}
	if e := v.stageOf(o.Pkg()).Lookup(o.Name()); e != nil && e.Decl != nil {
		return e.Decl, nil, nil
	}
	return nil, nil, fmt.Errorf("the source of generic %s is gone", o.Name())
}

// source parses a declaration, with positions of the cell that it comes from.
func (v *env) source(d *world.Decl, p *sourcePackage) (ast.Decl, error) {
	if p != nil {
		f, err := parser.ParseFile(v.compiler.fset, yaegi.FileName(0), "package "+world.PkgPath+";"+d.Src+"\n", parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		return f.Decls[0], nil
	}
	f, err := v.compiler.parse(d.Cell, d.Line, d.Col, "package "+world.PkgPath+";", d.Src, "\n")
	if err != nil {
		return nil, err
	}
	return f.Decls[0], nil
}

// bind declares type parameters as aliases.
func bind(params []*ast.Ident, args []types.Type) (objs []types.Object) {
	for i, id := range params {
		if id.Name == "_" || i >= len(args) {
			continue
		}
		name := types.NewTypeName(token.NoPos, nil, id.Name, nil)
		types.NewAlias(name, args[i])
		objs = append(objs, name)
	}
	return objs
}

// imports returns the packages that the file of a declaration imports.
func (v *env) imports(d *world.Decl) (objs []types.Object) {
	for name, path := range d.Imports {
		if p, err := v.compiler.importer.Import(path); err == nil {
			objs = append(objs, types.NewPkgName(token.NoPos, nil, name, p))
		}
	}
	return objs
}

func (v *env) funcInstance(in *instance) error {
	d, p, err := v.generic(in.generic)
	if err != nil {
		return err
	}
	node, err := v.source(d, p)
	if err != nil {
		return err
	}
	f := node.(*ast.FuncDecl)
	objs := bind(walk.Names(f.Type.TypeParams), in.args)
	f.Type.TypeParams = nil
	f.Name.Name = in.name
	st := v.stageOf(in.generic.Pkg())
	return v.lowerInstance(f, p, st, append(objs, v.imports(d)...), in.key(), st.Display(d.Names[0]), d.Slot)
}

// lowerInstance checks and lowers a function whose type parameters are bound. It gets a method as a
// function whose first parameter is the receiver.
func (v *env) lowerInstance(f *ast.FuncDecl, p *sourcePackage, st *world.Stage, objs []types.Object, key, display string, slot int) error {
	file := &ast.File{Package: f.Pos(), Name: &ast.Ident{Name: st.Name, NamePos: f.Pos()}, Decls: []ast.Decl{f}, FileStart: f.Pos(), FileEnd: f.End()}
	within := st
	if p != nil { // its names are those of the source package
		within = world.New().Stage()
		for _, name := range p.pkg.Scope().Names() {
			objs = append(objs, p.pkg.Scope().Lookup(name))
		}
	}
	c := v.compiler.check(within, []*ast.File{file}, objs...)
	// Cases and assertions that can never succeed are valid in code with type parameters.
	c.Errs = slices.DeleteFunc(c.Errs, func(e types.Error) bool {
		return slices.ContainsFunc([]string{"impossible type ", "duplicate case ", "duplicate key ", "\t"}, func(prefix string) bool { return strings.HasPrefix(e.Msg, prefix) })
	})
	if len(c.Errs) > 0 {
		return v.compiler.complaints(st, c)
	}
	if err := v.compiler.Library.Open(c.Info); err != nil {
		return err
	}
	maps.Copy(v.vars, c.names)
	v.vars[c.Info.Defs[f.Name]] = f.Name.Name
	return v.lowerFunc(lower.New(v, c.Info), c.Info, f, key, f.Name.Name, display, slot)
}

func (v *env) typeInstance(in *instance) error {
	origin, ok := in.generic.Type().(*types.Named)
	if !ok {
		return fmt.Errorf("generic alias %s is not available in cells", in.generic.Name())
	}
	t, err := types.Instantiate(nil, origin, in.args, false)
	if err != nil {
		return err
	}
	made := types.Type(t)
	if o := in.generic; !lower.Interpreted(o.Pkg()) {
		_, p, err := v.generic(o)
		if err != nil {
			return err
		}
		if made, err = types.Instantiate(nil, p.pkg.Scope().Lookup(o.Name()).Type(), in.args, false); err != nil {
			return err
		}
	}
	l := lower.New(v, &types.Info{})
	d, err := l.TypeDecl(in.name, made, v.u.pos)
	if err != nil {
		return err
	}
	v.types = append(v.types, d)
	v.made = append(v.made, t)
	methods, p, err := v.genericMethods(in.generic)
	if err != nil {
		return err
	}
	for _, m := range methods {
		if err := v.methodInstance(in, m, p); err != nil {
			return err
		}
	}
	return nil
}

// methodInstance makes a method for an instance of a generic type.
func (v *env) methodInstance(in *instance, m *world.Decl, p *sourcePackage) error {
	node, err := v.source(m, p)
	if err != nil {
		return err
	}
	f := node.(*ast.FuncDecl)
	nameBlanks(f)
	objs := bind(world.ReceiverParams(f), in.args)
	recv := f.Recv.List[0]
	f.Name.Name = in.name + "·" + f.Name.Name
	f.Type.Params.List = append([]*ast.Field{recv}, f.Type.Params.List...)
	f.Recv = nil
	st := v.stageOf(in.generic.Pkg())
	return v.lowerInstance(f, p, st, append(objs, v.imports(m)...), in.key()+"."+m.Name, st.Display(m.Display()), m.Slot)
}

// nameBlanks names the unnamed and blank parameters of a method: the receiver, all parameters, and type
// parameters. The method can then be written as a function whose first parameter is the receiver.
func nameBlanks(f *ast.FuncDecl) {
	for _, list := range [][]*ast.Field{f.Recv.List, f.Type.Params.List} {
		for _, field := range list {
			if len(field.Names) == 0 {
				field.Names = []*ast.Ident{{Name: "_", NamePos: field.Pos()}}
			}
		}
	}
	for i, id := range world.ReceiverParams(f) {
		if id.Name == "_" {
			id.Name = fmt.Sprintf("__T%d", i)
		}
	}
}

func (v *env) genericMethods(o types.Object) (list []*world.Decl, p *sourcePackage, err error) {
	if o.Parent() != nil && o.Parent() != o.Pkg().Scope() {
		return nil, nil, nil // declared inside of a function
	}
	if o.Pkg() != nil && !lower.Interpreted(o.Pkg()) {
		p, err = v.compiler.sources.load(o.Pkg().Path())
		if err != nil {
			return nil, nil, err
		}
		return p.methods[o.Name()], p, nil
	}
	for _, m := range v.stageOf(o.Pkg()).MethodsOf(o.Name()) {
		list = append(list, m)
	}
	return list, nil, nil
}

package lower

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"slices"
	"strconv"

	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
)

func (l *Lowerer) typeOf(e ast.Expr) types.Type {
	if tv, ok := l.info.Types[e]; ok {
		return tv.Type
	}
	if id, ok := e.(*ast.Ident); ok {
		if o := l.object(id); o != nil {
			return o.Type()
		}
	}
	return nil
}

func (l *Lowerer) object(id *ast.Ident) types.Object {
	if o := l.info.Uses[id]; o != nil {
		return o
	}
	return l.info.Defs[id]
}

// typ writes a type out. Aliases disappear, session types get the name of their version, instances of generic
// types the name of the instance.
func (l *Lowerer) typ(t types.Type) ast.Expr {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		return l.basic(t)
	case *types.Named:
		return l.named(t)
	case *types.Pointer:
		return &ast.StarExpr{Star: l.pos, X: l.typ(t.Elem())}
	case *types.Slice:
		return &ast.ArrayType{Lbrack: l.pos, Elt: l.typ(t.Elem())}
	case *types.Array:
		if size := l.sizes.Sizeof(t); size < 0 || size > maxArray {
			l.refuse(l.pos, "an array of type %s is larger than %d GiB, which cells cannot have", l.env.TypeName(t), maxArray>>30)
		}
		return &ast.ArrayType{Lbrack: l.pos, Len: l.int(int(t.Len())), Elt: l.typ(t.Elem())}
	case *types.Map:
		return &ast.MapType{Map: l.pos, Key: l.typ(t.Key()), Value: l.typ(t.Elem())}
	case *types.Chan:
		dir := map[types.ChanDir]ast.ChanDir{types.SendRecv: ast.SEND | ast.RECV, types.SendOnly: ast.SEND, types.RecvOnly: ast.RECV}
		return &ast.ChanType{Begin: l.pos, Dir: dir[t.Dir()], Value: l.typ(t.Elem())}
	case *types.Signature:
		return l.signature(t, nil)
	case *types.Struct:
		return l.structType(t)
	case *types.Interface:
		return l.id("any")
	case *types.TypeParam:
		l.refuse(l.pos, "type parameter %s outside of an instance", t)
	}
	l.refuse(l.pos, "type %s is not available in cells", t)
	return nil
}

// maxArray is the size in bytes of the largest array: the memory of an array is taken before any check can
// run.
const maxArray = 1 << 30

func (l *Lowerer) basic(t *types.Basic) ast.Expr {
	if t.Kind() == types.UnsafePointer {
		return l.sel(l.id(RT), "Pointer")
	}
	if t.Info()&types.IsUntyped != 0 {
		t = types.Default(t).(*types.Basic)
	}
	return l.id(t.Name())
}

func (l *Lowerer) named(t *types.Named) ast.Expr {
	o := t.Obj()
	if sig, ok := t.Underlying().(*types.Signature); ok && t.TypeArgs().Len() > 0 && t.NumMethods() == 0 && !l.own(t.Origin().Obj()) {
		return l.signature(sig, nil) // iter.Seq[T]: the name is of no use
	}
	if o.Pkg() != nil && l.inAny(t) {
		return l.id("any")
	}
	if args := t.TypeArgs(); args.Len() > 0 {
		list := make([]types.Type, args.Len())
		for i := range list {
			list[i] = args.At(i)
		}
		return l.instance(t.Origin().Obj(), list)
	}
	if name := l.locals[o]; name != "" {
		return l.id(name)
	}
	if name := l.env.Name(o); name != "" {
		return l.id(name)
	}
	if o.Pkg() == nil {
		return l.id(o.Name())
	}
	if o.Parent() != nil && o.Parent() != o.Pkg().Scope() {
		return l.id(o.Name()) // declared in a function
	}
	if !o.Exported() {
		l.refuse(l.pos, "type %s has a name that its package does not export, so no variable of a cell can have it", t)
	}
	return l.sel(l.id(l.env.Package(o.Pkg().Path())), o.Name())
}

// selfMade says whether a type's definition mentions the type itself other than in a struct or an
// interface: the interpreter cannot make such types. In is a part of the type.
func selfMade(t, in types.Type, seen map[types.Type]bool) bool {
	in = types.Unalias(in)
	if types.Identical(t, in) {
		return true
	}
	if seen[in] {
		return false
	}
	seen[in] = true
	switch in := in.(type) {
	case *types.Named:
		return selfMade(t, in.Underlying(), seen)
	case *types.Struct:
		return false
	}
	return slices.ContainsFunc(walk.Parts(in), func(part types.Type) bool { return selfMade(t, part, seen) })
}

// onlySelfMade says whether all types of cells in a type are self-made: for these the interpreter has the
// same types as reflection.
func (l *Lowerer) onlySelfMade(t types.Type, seen map[types.Type]bool) bool {
	t = types.Unalias(t)
	if seen[t] {
		return true
	}
	seen[t] = true
	switch u := t.(type) {
	case *types.Named:
		if !l.ownType(u) {
			return true
		}
		return selfMade(t, u.Underlying(), map[types.Type]bool{}) && l.onlySelfMade(u.Underlying(), seen)
	case *types.Struct, *types.Interface:
		return !l.boxed(t)
	}
	return !slices.ContainsFunc(walk.Parts(t), func(part types.Type) bool { return !l.onlySelfMade(part, seen) })
}

func (l *Lowerer) instance(generic types.Object, args []types.Type) ast.Expr {
	name, err := l.env.Instance(generic, args, l.pos)
	if err != nil {
		l.refuse(l.pos, "%v", err)
	}
	return l.id(name)
}

func (l *Lowerer) structType(t *types.Struct) ast.Expr {
	fields := &ast.FieldList{Opening: l.pos, Closing: l.pos}
	for i := range t.NumFields() {
		v := t.Field(i)
		f := &ast.Field{Type: l.typ(v.Type())}
		if !v.Embedded() || types.IsInterface(v.Type()) {
			f.Names = []*ast.Ident{l.id(v.Name())}
			if v.Name() == "_" { // the interpreter would have several fields with one name
				f.Names[0].Name = fmt.Sprintf("blank__%d", i)
			}
		}
		if tag := t.Tag(i); tag != "" {
			f.Tag = &ast.BasicLit{Kind: token.STRING, Value: strconv.Quote(tag), ValuePos: l.pos}
		}
		fields.List = append(fields.List, f)
	}
	return &ast.StructType{Struct: l.pos, Fields: fields}
}

// fieldName returns the interpreter's name of a field. It differs from Go's if the field embeds a type
// that has a version or is an instance.
func (l *Lowerer) fieldName(v *types.Var) string {
	if !v.Embedded() || types.IsInterface(v.Type()) {
		return v.Name()
	}
	x := l.typ(v.Type())
	if s, ok := x.(*ast.StarExpr); ok {
		x = s.X
	}
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return v.Name()
}

// signature writes a function type; names are its parameters', or nil.
func (l *Lowerer) signature(t *types.Signature, names []string) *ast.FuncType {
	ft := &ast.FuncType{Func: l.pos, Params: &ast.FieldList{Opening: l.pos, Closing: l.pos}}
	for i := range t.Params().Len() {
		p := t.Params().At(i)
		f := &ast.Field{}
		if t.Variadic() && i == t.Params().Len()-1 {
			f.Type = &ast.Ellipsis{Ellipsis: l.pos, Elt: l.typ(variadicElem(p.Type()))}
		} else {
			f.Type = l.typ(p.Type())
		}
		if names != nil {
			f.Names = []*ast.Ident{l.id(names[i])}
		}
		ft.Params.List = append(ft.Params.List, f)
	}
	if t.Results().Len() > 0 {
		ft.Results = &ast.FieldList{}
		for v := range t.Results().Variables() {
			ft.Results.List = append(ft.Results.List, &ast.Field{Type: l.typ(v.Type())})
		}
	}
	return ft
}

// variadicElem is the type of one variadic argument; append([]byte, string...) has a string there.
func variadicElem(t types.Type) types.Type {
	if s, ok := t.Underlying().(*types.Slice); ok {
		return s.Elem()
	}
	return types.Typ[types.Byte]
}

// constant writes a constant of type t. The interpreter loses bits of large constants and the types of
// untyped ones, so each constant expression is folded to one literal, with a conversion unless the literal
// has the type already.
func (l *Lowerer) constant(v constant.Value, t types.Type) ast.Expr {
	t = types.Default(t)
	b := t.Underlying().(*types.Basic)
	var x ast.Expr
	plain := types.Unalias(t) == types.Type(b)
	switch info := b.Info(); {
	case info&types.IsBoolean != 0:
		x = l.id(strconv.FormatBool(constant.BoolVal(v)))
	case info&types.IsString != 0:
		x = l.string(constant.StringVal(v))
	case info&types.IsInteger != 0:
		x = l.integer(constant.ToInt(v))
		plain = plain && b.Kind() == types.Int
	case info&types.IsFloat != 0:
		x = l.float(constant.ToFloat(v))
		plain = plain && b.Kind() == types.Float64
	default:
		re, im := constant.Real(v), constant.Imag(v)
		x = l.call(l.id("complex"), l.float(constant.ToFloat(re)), l.float(constant.ToFloat(im)))
		plain = plain && b.Kind() == types.Complex128
	}
	if plain {
		return x
	}
	return l.call(l.typ(t), x)
}

func (l *Lowerer) integer(v constant.Value) ast.Expr {
	text := v.ExactString()
	if text[0] == '-' {
		return &ast.UnaryExpr{OpPos: l.pos, Op: token.SUB, X: &ast.BasicLit{Kind: token.INT, Value: text[1:], ValuePos: l.pos}}
	}
	return &ast.BasicLit{Kind: token.INT, Value: text, ValuePos: l.pos}
}

func (l *Lowerer) float(v constant.Value) ast.Expr {
	f, _ := constant.Float64Val(v)
	text := strconv.FormatFloat(math.Abs(f), 'e', -1, 64)
	var x ast.Expr = &ast.BasicLit{Kind: token.FLOAT, Value: text, ValuePos: l.pos}
	if f < 0 {
		x = &ast.UnaryExpr{OpPos: l.pos, Op: token.SUB, X: x}
	}
	return x
}

// hasMethods says whether t is an interface type with methods.
func hasMethods(t types.Type) bool {
	i, ok := t.Underlying().(*types.Interface)
	return ok && i.NumMethods() > 0
}

// size is the size of a type's values in bytes.
func (l *Lowerer) size(t types.Type) int { return int(l.sizes.Sizeof(t)) }

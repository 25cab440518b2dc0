package help

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/help/cursor"
	"github.com/mcs-notebook/mcs/repl/session/internal/help/python"
	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// A Hint shows what fits at the cursor: the parameters of the call around it, or the fields of the struct.
type Hint struct {
	Signature string // on one line
	From, To  int    // bytes of Signature that name the active parameter; equal if there is none
	Doc       string // first sentence, or empty
}

// Hint describes the innermost call, conversion, instantiation or struct literal around byte pos of a
// cell. The cell may be unfinished or wrong.
func (h *Helper) Hint(cell string, pos int) (Hint, bool) {
	pl := h.place(cell, pos)
	if pl == nil || pl.Facts == nil {
		return Hint{}, false
	}
	for i := len(pl.Levels) - 1; i > 0; i-- {
		l := &pl.Levels[i]
		var h Hint
		var ok bool
		switch l.Inside {
		case cursor.Block, cursor.Cases, cursor.Members:
			return Hint{}, false
		case cursor.Parens:
			if l.Params {
				return Hint{}, false
			}
			h, ok = pl.callHint(l)
		case cursor.Brackets:
			if l.Call {
				h, ok = pl.typeArgHint(l)
			}
		case cursor.Elements:
			h, ok = pl.literalHint(l, i == len(pl.Levels)-1)
		}
		if ok {
			return h, true
		}
	}
	return Hint{}, false
}

// position returns the position of a level's bracket in the checked file.
func (pl *place) position(l *cursor.Level) token.Pos {
	return pl.file.FileStart + token.Pos(pl.base+l.Off)
}

// callAt returns the call whose arguments are in a level, and its signature; nil if there is none.
func (pl *place) callAt(l *cursor.Level) (call *ast.CallExpr, sig *types.Signature) {
	at := pl.position(l)
	for _, n := range pl.path {
		if c, ok := n.(*ast.CallExpr); ok && c.Lparen == at && l.Inside == cursor.Parens && l.Call {
			if t := pl.Info.TypeOf(c.Fun); known(t) {
				sig, _ = t.Underlying().(*types.Signature)
			}
			return c, sig
		}
	}
	return nil, nil
}

// parameter returns the call whose arguments are in a level, and the parameter at the cursor; nil if there is
// none.
func (pl *place) parameter(l *cursor.Level) (*ast.CallExpr, *types.Var) {
	call, sig := pl.callAt(l)
	if sig == nil {
		return nil, nil
	}
	p, _ := parameterAt(sig, l.Commas)
	return call, p
}

// structAt returns the composite literal of a level, if it is that of a struct, with its type.
func (pl *place) structAt(l *cursor.Level) (lit *ast.CompositeLit, t types.Type, u *types.Struct) {
	at := pl.position(l)
	for _, n := range pl.path {
		if c, ok := n.(*ast.CompositeLit); ok && c.Lbrace == at && l.Inside == cursor.Elements {
			if t = pl.Info.TypeOf(c); known(t) { // a pointer in []*T{{…}}
				t = walk.Deref(t)
				u, _ = t.Underlying().(*types.Struct)
			}
			return c, t, u
		}
	}
	return nil, nil, nil
}

func known(t types.Type) bool { return t != nil && t != types.Typ[types.Invalid] }

func (pl *place) callHint(l *cursor.Level) (Hint, bool) {
	call, sig := pl.callAt(l)
	if call == nil {
		return Hint{}, false
	}
	fun := ast.Unparen(call.Fun)
	o := pl.object(fun)
	if b, ok := o.(*types.Builtin); ok {
		word, ok := Language()[b.Name()]
		return marked(word.Form, len(b.Name()), l.Commas, word.Doc), ok
	}
	if tv := pl.Info.Types[call.Fun]; tv.IsType() && known(tv.Type) {
		return conversionHint(tv.Type), true
	}
	if sig == nil {
		return Hint{}, false
	}
	head := pl.name(fun) + typeParams(sig.TypeParams())
	return marked(head+parameters(sig), len(head), l.Commas, pl.docOf(fun, o)), true
}

// marked is a hint of a signature: the list that begins with the bracket at an offset has part n as the
// active one. Of a variadic list the last one goes on.
func marked(signature string, open, n int, doc string) Hint {
	h := Hint{Signature: signature, Doc: doc}
	depth, from := 0, open+1
	for i := open; i < len(signature); i++ {
		switch signature[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		last := depth == 0
		if !last && (depth > 1 || signature[i] != ',') {
			continue
		}
		if n == 0 || last && n > 0 && strings.Contains(signature[from:i], "...") {
			h.From, h.To = from, i
		}
		if last {
			break
		}
		n--
		from = i + len(", ")
	}
	return h
}

// typeParams writes the parameters of a generic function or type.
func typeParams(list *types.TypeParamList) string {
	if list.Len() == 0 {
		return ""
	}
	parts := make([]string, list.Len())
	for i := range parts {
		parts[i] = list.At(i).Obj().Name() + " " + types.TypeString(list.At(i).Constraint(), world.Qualifier)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// parameters writes the parameters and the results of a function.
func parameters(sig *types.Signature) string {
	sig = types.NewSignatureType(nil, nil, nil, sig.Params(), sig.Results(), sig.Variadic())
	return strings.TrimPrefix(types.TypeString(sig, world.Qualifier), "func")
}

// callee returns an expression without brackets and type arguments around it.
func callee(x ast.Expr) ast.Expr {
	for {
		switch y := ast.Unparen(x).(type) {
		case *ast.IndexExpr:
			x = y.X
		case *ast.IndexListExpr:
			x = y.X
		default:
			return y
		}
	}
}

// object returns the object that an expression names, or nil.
func (pl *place) object(x ast.Expr) types.Object {
	switch x := callee(x).(type) {
	case *ast.Ident:
		return pl.Info.Uses[x]
	case *ast.SelectorExpr:
		return pl.Info.Uses[x.Sel]
	}
	return nil
}

// name returns a hint's name for a called expression: pkg.Func, or the name of a method alone.
func (pl *place) name(x ast.Expr) string {
	switch x := callee(x).(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		if id, ok := x.X.(*ast.Ident); ok {
			if _, ok := pl.Info.Uses[id].(*types.PkgName); ok {
				return id.Name + "." + x.Sel.Name
			}
		}
		return x.Sel.Name
	}
	return "func"
}

// docOf returns the first sentence about a called object.
func (pl *place) docOf(x ast.Expr, o types.Object) string {
	if o == nil {
		return ""
	}
	if sel, ok := ast.Unparen(x).(*ast.SelectorExpr); ok {
		if s := pl.Info.Selections[sel]; s != nil {
			return pl.h.memberDoc(pl.st, s.Recv(), s.Obj())
		}
	}
	return pl.h.objectDoc(pl.st, o)
}

// typeArgHint describes the type parameters of a generic function or type at its instantiation.
func (pl *place) typeArgHint(l *cursor.Level) (Hint, bool) {
	at := pl.position(l)
	for _, n := range pl.path {
		var x ast.Expr
		switch n := n.(type) {
		case *ast.IndexExpr:
			if n.Lbrack == at {
				x = n.X
			}
		case *ast.IndexListExpr:
			if n.Lbrack == at {
				x = n.X
			}
		}
		o := pl.object(x)
		list := typeParamsOf(o)
		if list == nil {
			continue
		}
		name, rest := pl.name(x), ""
		if f, ok := o.(*types.Func); ok {
			rest = parameters(f.Signature())
		}
		return marked(name+typeParams(list)+rest, len(name), l.Commas, pl.docOf(x, o)), true
	}
	return Hint{}, false
}

// literalHint describes the fields of the struct whose literal is around the cursor. Inner says that no
// other bracket is between them.
func (pl *place) literalHint(l *cursor.Level, inner bool) (Hint, bool) {
	_, t, u := pl.structAt(l)
	if u == nil {
		return Hint{}, false
	}
	active := -1
	switch {
	case l.Key != "":
		active = fieldIndex(u, l.Key)
	case len(l.Keys) == 0 && (l.Commas > 0 || pl.Prefix == "" && pl.Prev != token.LBRACE || !inner):
		active = l.Commas
	}
	head, doc, at := "struct", "", -1
	if n, ok := types.Unalias(t).(*types.Named); ok {
		head, doc = types.TypeString(n, world.Qualifier), pl.h.objectDoc(pl.st, n.Obj())
	}
	var parts []string
	for i := range u.NumFields() {
		f := u.Field(i)
		if !python.Visible(f) || i != active && l.Key != f.Name() && slices.Contains(l.Keys, f.Name()) {
			continue
		}
		if i == active {
			at = len(parts)
		}
		parts = append(parts, f.Name()+" "+types.TypeString(f.Type(), world.Qualifier))
	}
	if active >= 0 && active < u.NumFields() {
		doc = pl.h.memberDoc(pl.st, t, u.Field(active))
	}
	return marked(head+"{"+strings.Join(parts, ", ")+"}", len(head), at, doc), true
}

func fieldIndex(u *types.Struct, name string) int {
	return slices.IndexFunc(slices.Collect(u.Fields()), func(f *types.Var) bool { return f.Name() == name })
}

func conversionHint(t types.Type) Hint {
	head, from := types.TypeString(t, world.Qualifier), "value"
	u, ok := t.Underlying().(*types.Interface)
	if _, named := types.Unalias(t).(*types.Named); named && (!ok || u.Empty()) {
		from += " " + types.TypeString(t.Underlying(), world.Qualifier)
	}
	return marked(head+"("+from+")", len(head), 0, "conversion")
}

// objectDoc returns the first sentence about an object, from the documentation in mcs, or from the comment
// before its declaration in a cell.
func (h *Helper) objectDoc(st *world.Stage, o types.Object) string {
	if o.Pkg() == nil {
		return Language()[o.Name()].Doc
	}
	if compiled(o) {
		return firstSentence(h.Doc(o.Pkg().Path(), o.Name()))
	}
	if e := st.Lookup(o.Name()); e != nil && e.Decl != nil {
		return sentence(e.Decl.Comment)
	}
	return ""
}

package help

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/help/cursor"
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
			if l.Call {
				h, ok = pl.callHint(l)
			}
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

// callAt returns the call whose arguments are in a level.
func (pl *place) callAt(l *cursor.Level) *ast.CallExpr {
	at := pl.position(l)
	for _, n := range pl.path {
		if c, ok := n.(*ast.CallExpr); ok && c.Lparen == at {
			return c
		}
	}
	return nil
}

// literalAt returns the composite literal of a level, with its type.
func (pl *place) literalAt(l *cursor.Level) (*ast.CompositeLit, types.Type) {
	at := pl.position(l)
	for _, n := range pl.path {
		if c, ok := n.(*ast.CompositeLit); ok && c.Lbrace == at {
			if t := pl.Info.Types[c].Type; known(t) {
				return c, t
			}
			return nil, nil
		}
	}
	return nil, nil
}

func known(t types.Type) bool { return t != nil && t != types.Typ[types.Invalid] }

func (pl *place) callHint(l *cursor.Level) (Hint, bool) {
	call := pl.callAt(l)
	if call == nil {
		return Hint{}, false
	}
	fun := ast.Unparen(call.Fun)
	o := pl.object(fun)
	if b, ok := o.(*types.Builtin); ok {
		return builtinHint(b.Name(), l.Commas)
	}
	tv := pl.Info.Types[call.Fun]
	if !known(tv.Type) {
		return Hint{}, false
	}
	if tv.IsType() {
		return conversionHint(tv.Type), true
	}
	sig, ok := coreSignature(tv.Type)
	if !ok {
		return Hint{}, false
	}
	var w signatureWriter
	w.WriteString(pl.name(fun))
	w.signature(sig, l.Commas)
	return Hint{w.String(), w.from, w.to, pl.docOf(fun, o)}, true
}

// coreSignature returns the signature for calling a value of the type.
func coreSignature(t types.Type) (*types.Signature, bool) {
	if p, ok := types.Unalias(t).(*types.TypeParam); ok {
		t = p.Constraint()
		if u, ok := t.Underlying().(*types.Interface); ok && u.NumEmbeddeds() == 1 {
			t = u.EmbeddedType(0)
		}
	}
	sig, ok := t.Underlying().(*types.Signature)
	return sig, ok
}

// object returns the object that an expression names, or nil.
func (pl *place) object(x ast.Expr) types.Object {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		return pl.Info.Uses[x]
	case *ast.SelectorExpr:
		return pl.Info.Uses[x.Sel]
	case *ast.IndexExpr:
		return pl.object(x.X)
	case *ast.IndexListExpr:
		return pl.object(x.X)
	}
	return nil
}

// name returns a hint's name for a called expression: pkg.Func, or the name of a method alone.
func (pl *place) name(x ast.Expr) string {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		if id, ok := x.X.(*ast.Ident); ok {
			if _, ok := pl.Info.Uses[id].(*types.PkgName); ok {
				return id.Name + "." + x.Sel.Name
			}
		}
		return x.Sel.Name
	case *ast.IndexExpr:
		return pl.name(x.X)
	case *ast.IndexListExpr:
		return pl.name(x.X)
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
		if x == nil {
			continue
		}
		o := pl.object(x)
		var w signatureWriter
		w.WriteString(pl.name(x))
		switch o := o.(type) {
		case *types.Func:
			w.typeParams(o.Signature().TypeParams(), l.Commas)
			w.params(o.Signature(), -1)
		case *types.TypeName:
			if t, ok := o.Type().(interface{ TypeParams() *types.TypeParamList }); ok {
				w.typeParams(t.TypeParams(), l.Commas)
			}
		}
		if w.to == 0 {
			return Hint{}, false
		}
		return Hint{w.String(), w.from, w.to, pl.docOf(x, o)}, true
	}
	return Hint{}, false
}

// literalHint describes the fields of the struct whose literal is around the cursor. Inner says that no
// other bracket is between them.
func (pl *place) literalHint(l *cursor.Level, inner bool) (Hint, bool) {
	_, t := pl.literalAt(l)
	if t == nil {
		return Hint{}, false
	}
	if p, ok := t.Underlying().(*types.Pointer); ok { // in []*T{{…}}
		t = p.Elem()
	}
	u, ok := t.Underlying().(*types.Struct)
	if !ok {
		return Hint{}, false
	}
	active := -1
	switch {
	case l.Key != "":
		active = fieldIndex(u, l.Key)
	case len(l.Keys) == 0 && (l.Commas > 0 || pl.Prefix == "" && pl.Prev != token.LBRACE || !inner):
		active = l.Commas
	}
	var w signatureWriter
	if n, ok := types.Unalias(t).(*types.Named); ok {
		w.WriteString(types.TypeString(n, world.Qualifier))
	} else {
		w.WriteString("struct")
	}
	w.WriteByte('{')
	first := true
	for i := range u.NumFields() {
		f := u.Field(i)
		if !visible(f) || i != active && l.Key != f.Name() && slices.Contains(l.Keys, f.Name()) {
			continue
		}
		if !first {
			w.WriteString(", ")
		}
		first = false
		w.part(i == active, f.Name()+" "+types.TypeString(f.Type(), world.Qualifier))
	}
	w.WriteByte('}')
	doc := ""
	if active >= 0 && active < u.NumFields() {
		doc = pl.h.memberDoc(pl.st, t, u.Field(active))
	} else if n, ok := types.Unalias(t).(*types.Named); ok {
		doc = pl.h.objectDoc(pl.st, n.Obj())
	}
	return Hint{w.String(), w.from, w.to, doc}, true
}

func fieldIndex(u *types.Struct, name string) int {
	for i := range u.NumFields() {
		if u.Field(i).Name() == name {
			return i
		}
	}
	return -1
}

// visible says whether cells can name an object.
func visible(o types.Object) bool {
	return o.Exported() || o.Pkg() != nil && o.Pkg().Path() == world.PkgPath
}

func conversionHint(t types.Type) Hint {
	var w signatureWriter
	w.WriteString(types.TypeString(t, world.Qualifier) + "(")
	from := "value"
	if _, ok := types.Unalias(t).(*types.Named); ok {
		from += " " + types.TypeString(t.Underlying(), world.Qualifier)
	}
	if u, ok := t.Underlying().(*types.Interface); ok && !u.Empty() {
		from = "value"
	}
	w.part(true, from)
	w.WriteByte(')')
	return Hint{w.String(), w.from, w.to, "conversion"}
}

// Builtins has the signatures of the predeclared functions, with parameters separated by commas, and their
// documentation.
var Builtins = map[string]struct{ params, result, Doc string }{
	"append":  {"slice []T, elems ...T", "[]T", "The slice with elems behind its elements; the result may share its memory."},
	"cap":     {"v []T", "int", "How many elements fit without new memory; of a channel, the size of its buffer."},
	"clear":   {"m map[K]V", "", "Removes all entries of a map; sets all elements of a slice to zero."},
	"close":   {"ch chan<- T", "", "Ends a channel: what is in it can still be received, nothing can be sent."},
	"complex": {"re float64, im float64", "complex128", "The complex number re + im·i."},
	"copy":    {"dst []T, src []T", "int", "Copies elements, as many as both have, and gives their number."},
	"delete":  {"m map[K]V, key K", "", "Removes an entry of a map, if there is one."},
	"imag":    {"c complex128", "float64", "The imaginary part."},
	"len":     {"v T", "int", "Elements of a slice, array, map or channel; bytes of a string."},
	"make":    {"T type, size ...int", "T", "A new slice (length, capacity), map (room) or channel (buffer)."},
	"max":     {"x T, y ...T", "T", "The largest of its arguments; NaN if one is."},
	"min":     {"x T, y ...T", "T", "The smallest of its arguments; NaN if one is."},
	"new":     {"T type", "*T", "A pointer to a new variable: zero, or the value given."},
	"panic":   {"v any", "", "Stops the function and its callers with v; deferred calls run."},
	"print":   {"args ...T", "", "Writes to the standard error, for debugging."},
	"println": {"args ...T", "", "Writes a line to the standard error, for debugging."},
	"real":    {"c complex128", "float64", "The real part."},
	"recover": {"", "any", "In a deferred function: the value of the panic, which ends; nil if there is none."},
}

func builtinHint(name string, arg int) (Hint, bool) {
	b, ok := Builtins[name]
	if !ok {
		return Hint{}, false
	}
	var w signatureWriter
	w.WriteString(name + "(")
	params := strings.Split(b.params, ", ")
	if strings.Contains(params[len(params)-1], "...") {
		arg = min(arg, len(params)-1)
	}
	for i, p := range params {
		if i > 0 {
			w.WriteString(", ")
		}
		w.part(i == arg && p != "", p)
	}
	w.WriteString(")")
	if b.result != "" {
		w.WriteString(" " + b.result)
	}
	return Hint{w.String(), w.from, w.to, b.Doc}, true
}

// A signatureWriter writes a signature and notes the place of its active parameter.
type signatureWriter struct {
	strings.Builder
	from, to int
}

func (w *signatureWriter) part(active bool, text string) {
	if active {
		w.from, w.to = w.Len(), w.Len()+len(text)
	}
	w.WriteString(text)
}

// signature writes type parameters, parameters and results; arg is the active argument.
func (w *signatureWriter) signature(sig *types.Signature, arg int) {
	w.typeParams(sig.TypeParams(), -1)
	w.params(sig, arg)
}

func (w *signatureWriter) typeParams(list *types.TypeParamList, active int) {
	if list.Len() == 0 {
		return
	}
	w.WriteByte('[')
	for i := range list.Len() {
		if i > 0 {
			w.WriteString(", ")
		}
		p := list.At(i)
		w.part(i == active, fmt.Sprintf("%s %s", p.Obj().Name(), types.TypeString(p.Constraint(), world.Qualifier)))
	}
	w.WriteByte(']')
}

func (w *signatureWriter) params(sig *types.Signature, arg int) {
	w.WriteByte('(')
	n := sig.Params().Len()
	if sig.Variadic() {
		arg = min(arg, n-1)
	}
	for i := range n {
		if i > 0 {
			w.WriteString(", ")
		}
		p := sig.Params().At(i)
		text := types.TypeString(p.Type(), world.Qualifier)
		if s, ok := p.Type().(*types.Slice); ok && sig.Variadic() && i == n-1 {
			text = "..." + types.TypeString(s.Elem(), world.Qualifier)
		}
		if p.Name() != "" {
			text = p.Name() + " " + text
		}
		w.part(i == arg, text)
	}
	w.WriteByte(')')
	switch r := sig.Results(); {
	case r.Len() == 1 && r.At(0).Name() == "":
		w.WriteString(" " + types.TypeString(r.At(0).Type(), world.Qualifier))
	case r.Len() > 0:
		w.WriteString(" " + types.TypeString(r, world.Qualifier))
	}
}

// objectDoc returns the first sentence about an object, from the documentation in mcs, or from the comment
// before its declaration in a cell.
func (h *Helper) objectDoc(st *world.Stage, o types.Object) string {
	if o.Pkg() == nil {
		return Builtins[o.Name()].Doc
	}
	if o.Pkg().Path() != world.PkgPath {
		return firstSentence(h.Doc(o.Pkg().Path(), o.Name()))
	}
	if e := st.Lookup(o.Name()); e != nil && e.Decl != nil {
		return sentence(e.Decl.Comment)
	}
	return ""
}

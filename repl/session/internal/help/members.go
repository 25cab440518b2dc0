package help

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

func kindOfObject(o types.Object) string {
	switch o := o.(type) {
	case *types.Func:
		if o.Signature().Recv() != nil {
			return "method"
		}
		return "func"
	case *types.Builtin:
		return "func"
	case *types.TypeName:
		return "type"
	case *types.Const:
		return "const"
	case *types.Var:
		if o.IsField() {
			return "field"
		}
	}
	return "var"
}

// detail returns an object's signature or type.
func detail(o types.Object) string {
	switch o := o.(type) {
	case *types.Func:
		return strings.TrimPrefix(types.TypeString(o.Type(), world.Qualifier), "func")
	case *types.TypeName:
		switch o.Type().Underlying().(type) {
		case *types.Struct:
			return "struct"
		case *types.Interface:
			return "interface"
		}
		return types.TypeString(o.Type().Underlying(), world.Qualifier)
	case *types.Const:
		return world.TypeString(o.Type()) + " = " + o.Val().String()
	case *types.Builtin:
		return strings.TrimPrefix(Language()[o.Name()].Form, o.Name())
	case *types.Nil:
		return ""
	}
	return types.TypeString(o.Type(), world.Qualifier)
}

// memberDoc returns the first sentence about a method or field.
func (h *Helper) memberDoc(st *world.Stage, t types.Type, o types.Object) string {
	owner := ownerName(t, o)
	if compiled(o) {
		return firstSentence(h.Doc(o.Pkg().Path(), owner+"."+o.Name()))
	}
	if d := st.MethodsOf(owner)[o.Name()]; d != nil {
		return sentence(d.Comment)
	}
	return h.fieldComments(st, t)[o.Name()]
}

// fieldComments returns the comments of the fields of a struct type that a cell has declared, by name.
func (h *Helper) fieldComments(st *world.Stage, t types.Type) map[string]string {
	n := named(t)
	if n == nil || compiled(n) {
		return nil
	}
	e := st.Lookup(n.Name())
	if e == nil || e.Decl == nil {
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+e.Decl.Src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	docs := map[string]string{}
	for n := range ast.Preorder(file) {
		if f, ok := n.(*ast.Field); ok {
			for _, name := range f.Names {
				docs[name.Name] = sentence(cmp.Or(f.Doc.Text(), f.Comment.Text()))
			}
		}
	}
	return docs
}

// named returns the name of a type, or of what a pointer points to, or nil.
func named(t types.Type) *types.TypeName {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return n.Obj()
	}
	return nil
}

// ownerName returns the name of the type that a member belongs to.
func ownerName(t types.Type, o types.Object) string {
	if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil {
		t = f.Signature().Recv().Type()
	}
	if n := named(t); n != nil {
		return n.Name()
	}
	return ""
}

// firstSentence returns the first sentence of a documentation text, after the declaration.
func firstSentence(doc string) string {
	if _, comment, ok := strings.Cut(doc, "\n\n"); ok {
		doc = comment
	}
	return sentence(doc)
}

// sentence returns the first sentence of a text, on one line.
func sentence(doc string) string {
	doc, _, _ = strings.Cut(doc, "\n\n")
	for from := 0; ; { // the end is found first: texts are long, and a list has hundreds of them
		i := strings.IndexByte(doc[from:], '.')
		if i < 0 {
			break
		}
		if from += i + 1; from < len(doc) && strings.IndexByte(" \n\t\r", doc[from]) >= 0 {
			doc = doc[:from]
			break
		}
	}
	return strings.Join(strings.Fields(doc), " ")
}

// methodOf says that what was taken for a function of a package is a method of one of its types, and of which
// variable, if the session has one.
func (a *advisor) methodOf(pkg *types.Package, name string) (owner string) {
	for _, n := range pkg.Scope().Names() {
		o, ok := pkg.Scope().Lookup(n).(*types.TypeName)
		if !ok || !o.Exported() {
			continue
		}
		member, _, _ := types.LookupFieldOrMethod(o.Type(), true, pkg, name)
		if _, ok := member.(*types.Func); !ok {
			continue
		}
		f := &foreign{h: a.h, st: a.st}
		if variable := f.newest(func(e *world.Entity) bool { return named(e.Obj.Type()) == o }); variable != "" {
			return fmt.Sprintf("it is a method: %s.%s(…)", variable, name)
		}
		owner = cmp.Or(owner, "it is a method of "+pkg.Name()+"."+n)
	}
	return owner
}

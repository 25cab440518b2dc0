package compile

import (
	"fmt"
	"go/types"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// GoName writes a type as Go's own messages and %T do: struct { A int; B interface {} }.
func GoName(t types.Type) string {
	var b strings.Builder
	writeName(&b, t, func(p *types.Package) string {
		if p.Path() == world.PkgPath {
			return "main"
		}
		return p.Name()
	})
	return b.String()
}

// ProgramPath returns the path of a package as reflection reports it. It also qualifies the arguments of
// generic types.
func ProgramPath(p *types.Package) string {
	if p.Path() == world.PkgPath {
		return "main"
	}
	return lower.ImportPath(p)
}

func writeName(b *strings.Builder, t types.Type, qualifier types.Qualifier) {
	write := func(t types.Type) { writeName(b, t, qualifier) }
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		b.WriteString(types.Typ[t.Kind()].String()) // the type byte is written uint8
	case *types.Named:
		writeNamed(b, t, qualifier)
	case *types.Pointer:
		b.WriteString("*")
		write(t.Elem())
	case *types.Slice:
		b.WriteString("[]")
		write(t.Elem())
	case *types.Array:
		fmt.Fprintf(b, "[%d]", t.Len())
		write(t.Elem())
	case *types.Map:
		b.WriteString("map[")
		write(t.Key())
		b.WriteString("]")
		write(t.Elem())
	case *types.Chan:
		writeChan(b, t, qualifier)
	case *types.Signature:
		b.WriteString("func")
		writeSignature(b, t, qualifier)
	case *types.Struct:
		writeStruct(b, t, qualifier)
	case *types.Interface:
		writeInterface(b, t, qualifier)
	default:
		b.WriteString(types.TypeString(t, qualifier))
	}
}

func writeNamed(b *strings.Builder, t *types.Named, qualifier types.Qualifier) {
	if p := t.Obj().Pkg(); p != nil {
		b.WriteString(qualifier(p) + ".")
	}
	b.WriteString(t.Obj().Name())
	for i := range t.TypeArgs().Len() {
		b.WriteString(map[bool]string{true: "[", false: ","}[i == 0])
		writeName(b, t.TypeArgs().At(i), ProgramPath)
	}
	if t.TypeArgs().Len() > 0 {
		b.WriteString("]")
	}
}

func writeChan(b *strings.Builder, t *types.Chan, qualifier types.Qualifier) {
	b.WriteString(map[types.ChanDir]string{types.SendRecv: "chan ", types.SendOnly: "chan<- ", types.RecvOnly: "<-chan "}[t.Dir()])
	if e, ok := types.Unalias(t.Elem()).(*types.Chan); ok && e.Dir() == types.RecvOnly && t.Dir() != types.RecvOnly {
		b.WriteString("(")
		defer b.WriteString(")")
	}
	writeName(b, t.Elem(), qualifier)
}

func writeSignature(b *strings.Builder, t *types.Signature, qualifier types.Qualifier) {
	b.WriteString("(")
	for i := range t.Params().Len() {
		if i > 0 {
			b.WriteString(", ")
		}
		p := t.Params().At(i).Type()
		if s, ok := p.(*types.Slice); ok && t.Variadic() && i == t.Params().Len()-1 {
			b.WriteString("...")
			p = s.Elem()
		}
		writeName(b, p, qualifier)
	}
	b.WriteString(")")
	n := t.Results().Len()
	if n > 0 {
		b.WriteString(" ")
	}
	if n > 1 {
		b.WriteString("(")
	}
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		writeName(b, t.Results().At(i).Type(), qualifier)
	}
	if n > 1 {
		b.WriteString(")")
	}
}

func writeStruct(b *strings.Builder, t *types.Struct, qualifier types.Qualifier) {
	b.WriteString("struct {")
	for i := range t.NumFields() {
		f := t.Field(i)
		b.WriteString(map[bool]string{true: " ", false: "; "}[i == 0])
		if !f.Embedded() {
			b.WriteString(f.Name() + " ")
		}
		writeName(b, f.Type(), qualifier)
		if tag := t.Tag(i); tag != "" {
			b.WriteString(" " + strconv.Quote(tag))
		}
	}
	if t.NumFields() > 0 {
		b.WriteString(" ")
	}
	b.WriteString("}")
}

func writeInterface(b *strings.Builder, t *types.Interface, qualifier types.Qualifier) {
	b.WriteString("interface {")
	for i := range t.NumMethods() {
		b.WriteString(map[bool]string{true: " ", false: "; "}[i == 0])
		m := t.Method(i)
		if !m.Exported() {
			b.WriteString(qualifier(m.Pkg()) + ".")
		}
		b.WriteString(m.Name())
		writeSignature(b, m.Signature(), qualifier)
	}
	if t.NumMethods() > 0 {
		b.WriteString(" ")
	}
	b.WriteString("}")
}

package session

import (
	"fmt"
	"go/types"
	"io"
	"reflect"

	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
)

// A printable is a value of a type that was declared in a cell, on its way into one of fmt's functions: it prints itself
// as fmt would if the type were compiled. Reflection knows neither its name nor its methods.
type printable struct {
	s *Session
	t types.Type
	v reflect.Value
}

// printable wraps an argument of one of fmt's functions.
func (s *Session) printable(key int, v any) any {
	return printable{s, s.keyTypes[key-1], rt.Inner(reflect.ValueOf(v))}
}

// Format prints the value.
func (p printable) Format(f fmt.State, verb rune) {
	if verb == 'T' {
		io.WriteString(f, types.TypeString(p.t, mainQualifier))
		return
	}
	p.print(f, verb, p.v, p.t, 0)
}

// mainQualifier writes types as a program's own messages do.
func mainQualifier(p *types.Package) string {
	if p.Path() == pkgPath {
		return "main"
	}
	return p.Name()
}

func (p printable) print(f fmt.State, verb rune, v reflect.Value, t types.Type, depth int) {
	if types.IsInterface(t) {
		if v.Kind() == reflect.Interface && v.IsNil() {
			io.WriteString(f, "<nil>")
			return
		}
		p.leaf(f, verb, rt.Unwrap(v))
		return
	}
	if !v.IsValid() {
		io.WriteString(f, "<nil>")
		return
	}
	if p.text(f, verb, v, t) {
		return
	}
	sharp := f.Flag('#') && verb == 'v'
	switch u := t.Underlying().(type) {
	case *types.Struct:
		if v.Kind() == reflect.Struct && v.NumField() == u.NumFields() {
			p.structure(f, verb, v, t, u, depth)
			return
		}
	case *types.Pointer:
		if _, ok := u.Elem().Underlying().(*types.Struct); ok && depth == 0 && !v.IsNil() && verb != 'p' {
			io.WriteString(f, "&")
			p.print(f, verb, v.Elem(), u.Elem(), depth+1)
			return
		}
	case *types.Slice:
		if v.Kind() == reflect.Slice && !isBytes(u) && !(sharp && v.IsNil()) {
			p.list(f, verb, v, t, u.Elem(), depth)
			return
		}
	case *types.Array:
		if v.Kind() == reflect.Array {
			p.list(f, verb, v, t, u.Elem(), depth)
			return
		}
	case *types.Map:
		if v.Kind() == reflect.Map {
			p.mapping(f, verb, v, t, u, depth)
			return
		}
	}
	if sharp {
		p.sharpLeaf(f, v, t)
		return
	}
	p.leaf(f, verb, v)
}

func isBytes(t *types.Slice) bool {
	b, ok := t.Elem().Underlying().(*types.Basic)
	return ok && b.Kind() == types.Byte
}

// text prints a value that has an Error or String method, where fmt would call it.
func (p printable) text(f fmt.State, verb rune, v reflect.Value, t types.Type) bool {
	switch verb {
	case 'v', 's', 'q', 'x', 'X':
	default:
		return false
	}
	if f.Flag('#') && verb == 'v' {
		return false
	}
	for _, name := range []string{"Error", "String"} {
		if text, ok := p.s.callMethod(v, t, name); ok {
			fmt.Fprintf(f, fmt.FormatString(f, verb), text)
			return true
		}
	}
	return false
}

func (p printable) leaf(f fmt.State, verb rune, v reflect.Value) {
	if !v.IsValid() || !v.CanInterface() {
		fmt.Fprint(f, "<nil>")
		return
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), v.Interface())
}

// sharpLeaf prints a simple value with %#v, which names its type if that is no basic one.
func (p printable) sharpLeaf(f fmt.State, v reflect.Value, t types.Type) {
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Pointer && v.IsNil() {
		fmt.Fprintf(f, "%s(nil)", types.TypeString(t, mainQualifier))
		return
	}
	p.leaf(f, 'v', v)
}

func (p printable) open(f fmt.State, verb rune, t types.Type, plain string) string {
	if f.Flag('#') && verb == 'v' {
		io.WriteString(f, types.TypeString(t, mainQualifier)+"{")
		return "}"
	}
	io.WriteString(f, plain)
	switch plain {
	case "map[", "[":
		return "]"
	}
	return "}"
}

func (p printable) structure(f fmt.State, verb rune, v reflect.Value, t types.Type, u *types.Struct, depth int) {
	end := p.open(f, verb, t, "{")
	for i := range u.NumFields() {
		if i > 0 {
			p.separate(f, verb)
		}
		if verb == 'v' && (f.Flag('+') || f.Flag('#')) {
			io.WriteString(f, u.Field(i).Name()+":")
		}
		p.print(f, verb, exported(v, i), u.Field(i).Type(), depth+1)
	}
	io.WriteString(f, end)
}

func (p printable) separate(f fmt.State, verb rune) {
	if f.Flag('#') && verb == 'v' {
		io.WriteString(f, ", ")
		return
	}
	io.WriteString(f, " ")
}

// exported is a field that can be read although reflection has it unexported.
func exported(v reflect.Value, i int) reflect.Value {
	f := v.Field(i)
	if f.CanInterface() {
		return f
	}
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return reflect.NewAt(f.Type(), c.Field(i).Addr().UnsafePointer()).Elem()
}

func (p printable) list(f fmt.State, verb rune, v reflect.Value, t, elem types.Type, depth int) {
	end := p.open(f, verb, t, "[")
	for i := range v.Len() {
		if i > 0 {
			p.separate(f, verb)
		}
		p.print(f, verb, v.Index(i), elem, depth+1)
	}
	io.WriteString(f, end)
}

func (p printable) mapping(f fmt.State, verb rune, v reflect.Value, t types.Type, u *types.Map, depth int) {
	end := p.open(f, verb, t, "map[")
	keys := sortedKeys(v)
	for i, k := range keys {
		if i > 0 {
			p.separate(f, verb)
		}
		p.print(f, verb, k, u.Key(), depth+1)
		io.WriteString(f, ":")
		p.print(f, verb, v.MapIndex(k), u.Elem(), depth+1)
	}
	io.WriteString(f, end)
}

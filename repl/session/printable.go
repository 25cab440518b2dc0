package session

import (
	"fmt"
	"go/types"
	"io"
	"reflect"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
)

// A printable prints a value of a type that was declared in a cell as package fmt would if the type were compiled.
// Reflection knows neither its name nor its methods.
type printable struct {
	s   *Session
	raw bool // within a field that is not exported: fmt calls no methods there
}

// formatBoxed prints a value of the type with this number.
func (s *Session) formatBoxed(f fmt.State, verb rune, key int, v reflect.Value) {
	printable{s: s}.print(f, verb, v, s.typeOfKey(key), 0)
}

// typeVerbs puts the names of types in the place of printable arguments that a format prints with %T, which fmt does
// not ask a Formatter about. Formats with explicit indexes are left alone.
func typeVerbs(format string, args []any) (string, []any) {
	if !strings.Contains(format, "T") {
		return format, args
	}
	plain := args
	b := []byte(format)
	args = append([]any(nil), args...)
	next := 0
	for i := 0; i < len(b); i++ {
		if b[i] != '%' {
			continue
		}
		for i++; i < len(b) && strings.IndexByte("+-# 0123456789.*", b[i]) >= 0; i++ {
			if b[i] == '*' {
				next++
			}
		}
		if i >= len(b) || b[i] == '%' {
			continue
		}
		if b[i] == '[' {
			return format, plain
		}
		if b[i] == 'T' && next < len(args) {
			if name, ok := rt.TypeName(args[next]); ok {
				b[i] = 's'
				args[next] = name
			}
		}
		next++
	}
	return string(b), args
}

func (p printable) print(f fmt.State, verb rune, v reflect.Value, t types.Type, depth int) {
	if t == nil || types.IsInterface(t) {
		in, dynamic := p.s.rt.Dynamic(v)
		if dynamic == nil {
			p.unknown(f, verb, in, depth)
			return
		}
		v, t = in, p.s.typeOfKey(dynamic.Key())
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

// unknown prints a value of a compiled type, or of one that is built in: its elements may be of others.
func (p printable) unknown(f fmt.State, verb rune, v reflect.Value, depth int) {
	if !v.IsValid() || f.Flag('#') || v.NumMethod() > 0 {
		p.leaf(f, verb, v)
		return
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Interface {
			p.list(f, verb, v, nil, nil, depth)
			return
		}
	case reflect.Map:
		if v.Type().Elem().Kind() == reflect.Interface {
			p.mapping(f, verb, v, nil, types.NewMap(types.Typ[types.Int], anyType), depth)
			return
		}
	}
	p.leaf(f, verb, v)
}

var anyType = types.Universe.Lookup("any").Type()

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
	if f.Flag('#') && verb == 'v' || p.raw {
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
	if p.raw { // what comes out of a field that is not exported has no methods for fmt
		v = reflect.ValueOf(struct{ v any }{v.Interface()}).Field(0).Elem()
		fmt.Fprintf(f, fmt.FormatString(f, verb), v)
		return
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), v.Interface())
}

// sharpLeaf prints a simple value with %#v, which names its type if that is no basic one.
func (p printable) sharpLeaf(f fmt.State, v reflect.Value, t types.Type) {
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Pointer && v.IsNil() {
		fmt.Fprintf(f, map[bool]string{false: "%s(nil)", true: "(%s)(nil)"}[v.Kind() == reflect.Pointer], goName(t))
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Chan:
		fmt.Fprintf(f, "(%s)(%#x)", goName(t), v.Pointer())
		return
	}
	p.leaf(f, 'v', v)
}

func (p printable) open(f fmt.State, verb rune, t types.Type, plain string) string {
	if f.Flag('#') && verb == 'v' {
		io.WriteString(f, goName(t)+"{")
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
		inner := p
		inner.raw = p.raw || !u.Field(i).Exported()
		inner.print(f, verb, exported(v, i), u.Field(i).Type(), depth+1)
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

// keyType is the type of a map's keys, or nil where only reflection knows it.
func keyType(u *types.Map, k reflect.Value) types.Type {
	if b, ok := u.Key().(*types.Basic); ok && b.Name() != k.Type().Name() {
		return nil
	}
	return u.Key()
}

func (p printable) mapping(f fmt.State, verb rune, v reflect.Value, t types.Type, u *types.Map, depth int) {
	end := p.open(f, verb, t, "map[")
	keys := sortedKeys(v)
	for i, k := range keys {
		if i > 0 {
			p.separate(f, verb)
		}
		p.print(f, verb, k, keyType(u, k), depth+1)
		io.WriteString(f, ":")
		p.print(f, verb, v.MapIndex(k), u.Elem(), depth+1)
	}
	io.WriteString(f, end)
}

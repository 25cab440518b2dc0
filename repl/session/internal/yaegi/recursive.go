package yaegi

import (
	"go/ast"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/mcs-notebook/mcs/repl/session/internal/gotype"
)

// For structs that refer to each other the interpreter makes reflection types with the fields' types
// exchanged. For a struct that refers to itself through a map of functions it leaves placeholders. So types
// are compiled before the code that uses them, and package gotype makes the structs: first each has only the
// layout of its fields, and the interpreter knows it; then the interpreter says what the fields' types are.

// typesFirst compiles the type declarations of a file that has structs, and returns the file without them.
func (in *Interp) typesFirst(file *ast.File) (*ast.File, error) {
	if !slices.ContainsFunc(file.Decls, declaresTypes) {
		return file, nil
	}
	types := &ast.File{Package: file.Package, Name: file.Name}
	rest := &ast.File{Package: file.Package, Name: file.Name}
	var names []string
	for _, d := range file.Decls {
		if !declaresTypes(d) {
			rest.Decls = append(rest.Decls, d)
			continue
		}
		types.Decls = append(types.Decls, d)
		for _, s := range d.(*ast.GenDecl).Specs {
			if s := s.(*ast.TypeSpec); tagged(s) {
				names = append(names, s.Name.Name)
			}
		}
	}
	if len(names) == 0 {
		return file, nil
	}
	if _, err := in.i.CompileAST(types); err != nil {
		return nil, err
	}
	m := structMaker{}
	for _, name := range names {
		if t := in.typeNamed(file.Name.Name, name); t.v.IsValid() {
			t.reflectType() // completes it
			m[name] = &structType{itype: in.typeNamed(file.Name.Name, name), made: gotype.Declare(gotype.Head{Kind: reflect.Struct, Text: name})}
		}
	}
	m.make()
	return rest, nil
}

func declaresTypes(d ast.Decl) bool {
	g, ok := d.(*ast.GenDecl)
	return ok && g.Tok == token.TYPE
}

// tagged says whether a type is a struct with the tag that package lower gives it.
func tagged(s *ast.TypeSpec) bool {
	t, ok := s.Type.(*ast.StructType)
	return ok && len(t.Fields.List) > 0 && t.Fields.List[0].Tag != nil && strings.Contains(t.Fields.List[0].Tag.Value, "mcs:")
}

// typeNamed returns the interpreter's description of a type, or the zero itype.
func (in *Interp) typeNamed(pkg, name string) itype {
	scope := in.scopes.MapIndex(reflect.ValueOf(pkg))
	if !scope.IsValid() {
		return itype{}
	}
	symbol := settable(scope.Elem().FieldByName("sym")).MapIndex(reflect.ValueOf(name))
	if !symbol.IsValid() || symbol.IsNil() {
		return itype{}
	}
	typ := settable(symbol.Elem().FieldByName("typ"))
	if typ.IsNil() {
		return itype{}
	}
	return itype{typ.Elem()}
}

// The interpreter's categories of types, as v0.16.1 numbers them.
const (
	nilCat      = 0
	arrayCat    = 1
	chanCat     = 6
	chanSendCat = 7
	chanRecvCat = 8
	funcCat     = 16
	linkedCat   = 24
	mapCat      = 25
	ptrCat      = 26
	sliceCat    = 27
	structCat   = 30
	variadicCat = 38
)

// An itype is a type as the interpreter describes it: a struct of its own.
type itype struct{ v reflect.Value }

func (t itype) cat() int { return int(t.v.FieldByName("cat").Uint()) }

func (t itype) key() itype { return itype{settable(t.v.FieldByName("key")).Elem()} }

func (t itype) val() itype { return itype{settable(t.v.FieldByName("val")).Elem()} }

func (t itype) len() int { return int(t.v.FieldByName("length").Int()) }

// list is a field that holds types.
func (t itype) list(name string) (ts []itype) {
	v := settable(t.v.FieldByName(name))
	for i := range v.Len() {
		ts = append(ts, itype{v.Index(i).Elem()})
	}
	return ts
}

// A field is one of a struct.
type field struct {
	name, tag string
	embedded  bool
	t         itype
}

func (t itype) fields() (list []field) {
	v := settable(t.v.FieldByName("field"))
	for i := range v.Len() {
		f := v.Index(i)
		list = append(list, field{f.FieldByName("name").String(), f.FieldByName("tag").String(), f.FieldByName("embed").Bool(), itype{settable(f.FieldByName("typ")).Elem()}})
	}
	return list
}

// name is the name of a struct that package lower has tagged.
func (t itype) name() string {
	if t.cat() != structCat {
		return ""
	}
	if fields := t.fields(); len(fields) > 0 {
		return reflect.StructTag(fields[0].tag).Get("mcs")
	}
	return ""
}

// reflectType is the interpreter's own answer.
func (t itype) reflectType() reflect.Type {
	out := t.v.Addr().MethodByName("TypeOf").Call(nil)
	return out[0].Interface().(reflect.Type)
}

// parts are the types that a type is written with.
func (t itype) parts() (list []itype) {
	switch t.cat() {
	case arrayCat, chanCat, chanSendCat, chanRecvCat, linkedCat, ptrCat, sliceCat, variadicCat:
		list = append(list, t.val())
	case mapCat:
		list = append(list, t.key(), t.val())
	case funcCat:
		list = append(t.list("arg"), t.list("ret")...)
	case structCat:
		for _, f := range t.fields() {
			list = append(list, f.t)
		}
	}
	return list
}

// A structMaker makes the reflection types of the structs of a file.
type structMaker map[string]*structType

// A structType is a struct whose type is made.
type structType struct {
	itype
	made    *gotype.Type
	defined bool
}

// of is the struct that a type is, of those that are made; nil for all else.
func (m structMaker) of(t itype) *structType {
	if t.v.FieldByName("incomplete").Bool() || t.cat() == nilCat {
		return m[t.v.FieldByName("name").String()]
	}
	return m[t.name()]
}

func (m structMaker) make() {
	seen := map[unsafe.Pointer]bool{}
	for _, s := range m {
		m.tell(s.itype, seen)
	}
	for _, s := range m {
		m.define(s)
	}
	for _, s := range m {
		for i, f := range s.fields() {
			s.made.SetField(i, f.t.reflectType())
		}
	}
}

// tell gives the interpreter the structs' types, and has it forget those that it has made of its own ones.
func (m structMaker) tell(t itype, seen map[unsafe.Pointer]bool) {
	p, s := t.v.Addr().UnsafePointer(), m.of(t)
	if seen[p] || s == nil && t.name() != "" { // a struct of an earlier file
		return
	}
	seen[p] = true
	parts := t.parts()
	switch rtype := settable(t.v.FieldByName("rtype")); {
	case s != nil:
		rtype.Set(reflect.ValueOf(s.made.Reflect()))
	case len(parts) > 0:
		rtype.SetZero()
	}
	for _, part := range parts {
		m.tell(part, seen)
	}
	if p := settable(t.v.FieldByName("ptr")); !p.IsNil() {
		m.tell(itype{p.Elem()}, seen)
	}
}

// define gives a struct the layout of its fields. Fields are exported, and not embedded beside others, as the
// interpreter's own are.
func (m structMaker) define(s *structType) {
	if s.defined {
		return
	}
	s.defined = true
	var fields []gotype.Field
	of := s.fields()
	for _, f := range of {
		fields = append(fields, gotype.Field{Name: exported(f.name), Tag: f.tag, Type: m.shape(f.t), Embedded: f.embedded && len(of) == 1})
	}
	s.made.DefineStruct("", fields)
}

func exported(name string) string {
	if token.IsExported(name) {
		return name
	}
	return "X" + name
}

// shape is a type with the layout and comparison of another one, and of none but those structs that are
// inside of its values.
func (m structMaker) shape(t itype) reflect.Type {
	if s := m.of(t); s != nil {
		m.define(s)
		return s.made.Reflect()
	}
	switch t.cat() {
	case arrayCat:
		return reflect.ArrayOf(t.len(), m.shape(t.val()))
	case chanCat, chanSendCat, chanRecvCat:
		return reflect.TypeFor[chan int]()
	case funcCat:
		return reflect.TypeFor[func()]()
	case linkedCat:
		return m.shape(t.val())
	case mapCat:
		return reflect.TypeFor[map[int]int]()
	case ptrCat:
		return reflect.TypeFor[*byte]()
	case sliceCat:
		return reflect.TypeFor[[]byte]()
	case structCat:
		if t.name() != "" { // of an earlier file
			break
		}
		var fields []reflect.StructField
		for _, f := range t.fields() {
			fields = append(fields, reflect.StructField{Name: exported(f.name), Type: m.shape(f.t)})
		}
		return reflect.StructOf(fields)
	}
	return t.reflectType()
}

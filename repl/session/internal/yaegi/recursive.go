package yaegi

import (
	"go/ast"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// For structs that refer to each other the interpreter makes reflection types with the fields' types
// exchanged. For a struct that refers to itself through a map of functions it leaves placeholders. So
// recursive types are compiled before the code that uses them, and get types that are made here: first
// structs with placeholders for missing types, then, when all are made, the right types of the fields. A
// placeholder has the layout of the missing type, because a struct refers to an incomplete struct only
// behind a pointer, slice, map, channel or function.

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
	g := &typeGraph{known: map[string]itype{}, made: map[string]reflect.Type{}, making: map[string]bool{}}
	for _, name := range names {
		if t := in.typeNamed(file.Name.Name, name); t.v.IsValid() {
			t.reflectType() // completes it
			g.known[name] = in.typeNamed(file.Name.Name, name)
		}
	}
	g.repair()
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
	if p := settable(t.v.FieldByName("ptr")); !p.IsNil() {
		list = append(list, itype{p.Elem()})
	}
	return list
}

// A typeGraph makes the reflection types of recursive structs, and of those that refer to such.
type typeGraph struct {
	known  map[string]itype
	refers map[string]map[string]bool // which structs a struct is written with, also by way of others
	made   map[string]reflect.Type
	making map[string]bool
}

// nameOf is the name of a struct of the graph; empty for all else.
func (g *typeGraph) nameOf(t itype) string {
	name := t.name()
	if t.v.FieldByName("incomplete").Bool() {
		name = t.v.FieldByName("name").String()
	}
	if _, ok := g.known[name]; ok {
		return name
	}
	return ""
}

// references are the structs of the graph that a type is written with.
func (g *typeGraph) references(t itype, into map[string]bool, seen map[unsafe.Pointer]bool) {
	for _, p := range t.parts() {
		if seen[p.v.Addr().UnsafePointer()] {
			continue
		}
		seen[p.v.Addr().UnsafePointer()] = true
		if name := g.nameOf(p); name != "" {
			into[name] = true
			continue
		}
		g.references(p, into, seen)
	}
}

// repair makes the types of structs that refer to themselves, directly or through others, or to such a
// struct.
func (g *typeGraph) repair() {
	g.refers = map[string]map[string]bool{}
	for name, t := range g.known {
		g.refers[name] = map[string]bool{}
		g.references(t, g.refers[name], map[unsafe.Pointer]bool{})
	}
	for via := range g.known {
		for from := range g.known {
			if g.refers[from][via] {
				maps.Copy(g.refers[from], g.refers[via])
			}
		}
	}
	for name := range g.known {
		if !g.circular(name) {
			delete(g.known, name)
		}
	}
	for name := range g.known {
		g.make(name)
	}
	for name, t := range g.known {
		for i, f := range t.fields() {
			setFieldType(g.made[name], i, g.reflectType(f.t, true))
		}
	}
	seen := map[unsafe.Pointer]bool{}
	for _, t := range g.known {
		g.set(t, seen)
	}
}

// circular says whether a struct refers to itself, or to a struct that does.
func (g *typeGraph) circular(name string) bool {
	for other := range g.refers[name] {
		if g.refers[other][other] {
			return true
		}
	}
	return false
}

// make makes the type of a struct, with placeholders for types that are not made yet.
func (g *typeGraph) make(name string) {
	g.making[name] = true
	var fields []reflect.StructField
	for _, f := range g.known[name].fields() {
		fields = append(fields, g.field(f, len(g.known[name].fields()), true))
	}
	g.made[name] = reflect.StructOf(fields)
}

// field is a field as the interpreter makes it.
func (g *typeGraph) field(f field, n int, whole bool) reflect.StructField {
	name := f.name
	if !token.IsExported(name) {
		name = "X" + name
	}
	return reflect.StructField{Name: name, Type: g.reflectType(f.t, whole), Tag: reflect.StructTag(f.tag), Anonymous: f.embedded && n == 1}
}

// reflectType returns the reflection type of a type. Whole says that the layout of another type depends on
// it.
func (g *typeGraph) reflectType(t itype, whole bool) reflect.Type {
	if name := g.nameOf(t); name != "" {
		if g.made[name] == nil && whole && !g.making[name] {
			g.make(name)
		}
		if r := g.made[name]; r != nil {
			return r
		}
		return reflect.TypeFor[placeholder]()
	}
	if into := map[string]bool{}; true {
		if g.references(t, into, map[unsafe.Pointer]bool{}); len(into) == 0 {
			return t.reflectType()
		}
	}
	switch t.cat() {
	case ptrCat:
		return reflect.PointerTo(g.reflectType(t.val(), false))
	case sliceCat, variadicCat:
		return reflect.SliceOf(g.reflectType(t.val(), false))
	case arrayCat:
		return reflect.ArrayOf(t.len(), g.reflectType(t.val(), whole))
	case mapCat:
		return reflect.MapOf(g.reflectType(t.key(), true), g.reflectType(t.val(), false))
	case chanCat:
		return reflect.ChanOf(reflect.BothDir, g.reflectType(t.val(), false))
	case chanSendCat:
		return reflect.ChanOf(reflect.SendDir, g.reflectType(t.val(), false))
	case chanRecvCat:
		return reflect.ChanOf(reflect.RecvDir, g.reflectType(t.val(), false))
	case linkedCat:
		return g.reflectType(t.val(), whole)
	case funcCat:
		args, variadic := t.list("arg"), false
		if n := len(args); n > 0 {
			variadic = args[n-1].cat() == variadicCat
		}
		return reflect.FuncOf(g.reflectTypes(args), g.reflectTypes(t.list("ret")), variadic)
	case structCat:
		var fields []reflect.StructField
		for _, f := range t.fields() {
			fields = append(fields, g.field(f, len(t.fields()), whole))
		}
		return reflect.StructOf(fields)
	}
	return t.reflectType()
}

func (g *typeGraph) reflectTypes(list []itype) (out []reflect.Type) {
	for _, t := range list {
		out = append(out, g.reflectType(t, false))
	}
	return out
}

// set gives the interpreter the types of all parts of the structs.
func (g *typeGraph) set(t itype, seen map[unsafe.Pointer]bool) {
	if p := t.v.Addr().UnsafePointer(); seen[p] {
		return
	} else {
		seen[p] = true
	}
	into := map[string]bool{}
	if g.references(t, into, map[unsafe.Pointer]bool{}); g.nameOf(t) != "" || len(into) > 0 {
		settable(t.v.FieldByName("rtype")).Set(reflect.ValueOf(g.reflectType(t, true)))
	}
	for _, p := range t.parts() {
		g.set(p, seen)
	}
}

// placeholder stands for a struct that is not there yet.
type placeholder struct{}

// setFieldType sets the type of a field of a struct that reflect has made. The new type must have the
// layout of the old one.
func setFieldType(s reflect.Type, i int, t reflect.Type) {
	(*runtimeStruct)(typePointer(s)).fields[i].typ = typePointer(t)
}

// typePointer is the runtime's description of a type.
func typePointer(t reflect.Type) unsafe.Pointer { return (*[2]unsafe.Pointer)(unsafe.Pointer(&t))[1] }

// runtimeStruct is internal/abi.StructType, the runtime's description of a struct type.
type runtimeStruct struct {
	_      [2]uintptr        // size, bytes with pointers
	_      [4]byte           // hash
	_      [4]byte           // flags, alignments, kind
	_      [2]unsafe.Pointer // equality, pointer mask
	_      [2]int32          // name, pointer to this
	_      *byte             // package path
	fields []struct {
		_      *byte
		typ    unsafe.Pointer
		offset uintptr
	}
}

// Package gotype makes Go types at run time as the compiler makes them: types with a name and a package,
// structs with unexported fields, tags and embedded fields, and types with methods. Package reflect cannot
// make these.
//
// A made type is a description in memory with the layout of internal/abi, like the descriptions that the
// compiler writes into a program: reflection, type assertions, interface tables, printing and encoders see
// no difference. The runtime finds the names, types and code of a description by offsets. For memory made
// at run time the runtime assigns the offsets itself (reflect.addReflectOff), and keeps that memory alive.
// So a made type is never freed, like a type that package reflect makes.
//
// Making a type has several steps, because types refer to each other: [Declare] makes a description, to
// which other types may refer by pointers, slices, channels and functions; [Type.Define] sets its
// underlying type, and [Type.SetMethods] the code of its methods.
//
// The layout is that of Go 1.26, and of Go 1.27 where it differs. The tests compare made types with the
// compiler's.
package gotype

import (
	"encoding/binary"
	"fmt"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// A Type is a type under construction, with the type of pointers to it.
type Type struct {
	t, pointer *block
}

// A block is a description and the data behind it in memory.
type block struct {
	*rtype
	uncommon *uncommonType
	in, out  []unsafe.Pointer // of a function: the types of parameters and results
	methods  []methodType
}

// A Head has the properties of a type that are known before it is defined.
type Head struct {
	Kind reflect.Kind
	// Text is how the type is written: main.Point, or struct { x int }. Defined says that it has a name,
	// which is the end of Text, and Path is the path of the package that has declared it.
	Text    string
	Defined bool
	Path    string
	// Methods and PointerMethods are how many methods it and pointers to it have.
	Methods, PointerMethods int
	In, Out                 int // of a function: how many parameters and results
}

// Declare begins a type.
func Declare(h Head) *Type {
	t := &Type{t: newBlock(h, h.Methods)}
	t.t.flags |= flagUncommon
	if h.Defined {
		t.t.flags |= flagNamed
	}
	h.Text = "*" + h.Text
	h.Kind, h.In, h.Out = reflect.Pointer, 0, 0
	t.pointer = newBlock(h, h.PointerMethods)
	if h.PointerMethods > 0 {
		t.pointer.flags |= flagUncommon
	}
	like := describe(reflect.TypeFor[*byte]())
	t.pointer.copyLayout(like)
	(*elemType)(unsafe.Pointer(t.pointer.rtype)).elem = t.t.rtype
	t.t.pointerToThis = addReflectOff(unsafe.Pointer(t.pointer.rtype))
	return t
}

func newBlock(h Head, methods int) *block {
	field := func(name string, t reflect.Type) reflect.StructField { return reflect.StructField{Name: name, Type: t} }
	v := reflect.New(reflect.StructOf([]reflect.StructField{
		field("Head", head(h.Kind)), field("Uncommon", reflect.TypeFor[uncommonType]()),
		field("Types", reflect.ArrayOf(h.In+h.Out, reflect.TypeFor[unsafe.Pointer]())),
		field("Methods", reflect.ArrayOf(methods, reflect.TypeFor[methodType]())),
	})).Elem()
	at := func(i int) unsafe.Pointer { return v.Field(i).Addr().UnsafePointer() }
	b := &block{rtype: (*rtype)(at(0)), uncommon: (*uncommonType)(at(1))}
	types := v.Field(2).Slice(0, h.In+h.Out).Interface().([]unsafe.Pointer)
	b.in, b.out = types[:h.In], types[h.In:]
	b.methods = v.Field(3).Slice(0, methods).Interface().([]methodType)
	b.hash = uint32(-addReflectOff(unsafe.Pointer(b.rtype))) * 2654435761 // keeps it alive, too
	b.kind = uint8(h.Kind)
	b.str = addReflectOff(unsafe.Pointer(encode(h.Text, "", token.IsExported(h.Text), false)))
	if h.Path != "" {
		b.uncommon.pkgPath = addReflectOff(unsafe.Pointer(encode(h.Path, "", false, false)))
	}
	b.uncommon.offset = uint32(uintptr(at(3)) - uintptr(at(1)))
	return b
}

// copyLayout takes over how values of another type lie in memory and are compared.
func (b *block) copyLayout(like *rtype) {
	b.size, b.pointers, b.align, b.fieldAlign = like.size, like.pointers, like.align, like.fieldAlign
	b.equal, b.gcData = like.equal, like.gcData
	b.flags |= like.flags &^ (flagUncommon | flagExtraStar | flagNamed)
}

// Reflect returns the type for package reflect.
func (t *Type) Reflect() reflect.Type { return reflected(t.t.rtype) }

// A Field is a field of a struct.
type Field struct {
	Name, Tag string
	Type      reflect.Type
	Embedded  bool
}

// Define gives the type the layout and the elements of another type, which has the same kind. It may be
// called first with a type that only has the right layout in memory, and then with the right type.
func (t *Type) Define(under reflect.Type) {
	from := unsafe.Pointer(describe(under))
	to := unsafe.Pointer(t.t.rtype)
	t.t.copyLayout((*rtype)(from))
	switch under.Kind() {
	case reflect.Array:
		to, from := (*arrayType)(to), (*arrayType)(from)
		to.elem, to.slice, to.len = from.elem, from.slice, from.len
	case reflect.Chan:
		to, from := (*chanType)(to), (*chanType)(from)
		to.elem, to.dir = from.elem, from.dir
	case reflect.Func:
		to, from := (*funcType)(to), (*funcType)(from)
		if under.NumIn() != len(t.t.in) || under.NumOut() != len(t.t.out) {
			break // so far it only says how its values lie
		}
		to.in, to.out = from.in, from.out
		for i := range t.t.in {
			t.t.in[i] = unsafe.Pointer(describe(under.In(i)))
		}
		for i := range t.t.out {
			t.t.out[i] = unsafe.Pointer(describe(under.Out(i)))
		}
	case reflect.Interface:
		to, from := (*interfaceType)(to), (*interfaceType)(from)
		to.pkgPath, to.methods = from.pkgPath, from.methods
	case reflect.Map:
		to, from := (*mapType)(to), (*mapType)(from)
		head := to.rtype
		*to = *from
		to.rtype = head
	case reflect.Pointer, reflect.Slice:
		(*elemType)(to).elem = (*elemType)(from).elem
	case reflect.Struct:
		panic("gotype: a struct is defined by its fields")
	}
}

// DefineStruct gives the type the fields of a struct; path is the package of the fields.
func (t *Type) DefineStruct(path string, fields []Field) {
	plain := make([]reflect.StructField, len(fields))
	blank := false
	for i, f := range fields {
		plain[i] = reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: f.Type}
		blank = blank || f.Name == "_"
	}
	under := reflect.StructOf(plain)
	t.t.copyLayout(describe(under))
	s := (*structType)(unsafe.Pointer(t.t.rtype))
	s.pkgPath = encode(path, "", false, false)
	s.fields = make([]structField, len(fields))
	for i, f := range fields {
		s.fields[i] = structField{encode(f.Name, f.Tag, token.IsExported(f.Name), f.Embedded), describe(f.Type), under.Field(i).Offset}
	}
	if blank && s.equal != nil {
		s.equal = func(p, q unsafe.Pointer) bool {
			return !slices.ContainsFunc(s.fields, func(f structField) bool {
				return !isBlank(f.name) && !f.typ.equal(unsafe.Add(p, f.offset), unsafe.Add(q, f.offset))
			})
		}
	}
}

// SetField gives a field of a struct another type, with the same layout and the same comparison as the
// type that it was defined with.
func (t *Type) SetField(i int, typ reflect.Type) {
	(*structType)(unsafe.Pointer(t.t.rtype)).fields[i].typ = describe(typ)
}

// A Method is an exported method. Type is its type without the receiver. Call is its code: the receiver is
// a value of the type, or a pointer to it for a pointer method.
type Method struct {
	Name string
	Type reflect.Type
	Call func(recv reflect.Value, args []reflect.Value) []reflect.Value
}

// SetMethods sets the methods of the type and of pointers to it, of the numbers that were declared. It
// fails when the program has no more entries for the code of methods.
func (t *Type) SetMethods(values, pointers []Method) error {
	this := t.Reflect()
	code, err := t.pointer.setMethods(reflect.PointerTo(this), pointers, nil)
	if err == nil {
		_, err = t.t.setMethods(this, values, code)
	}
	return err
}

// setMethods returns the code of each method by its name. The data word of an interface that holds a value is
// a pointer to that, unless the value is a pointer itself: then the code is that of the method of pointers,
// which is given.
func (b *block) setMethods(recv reflect.Type, list []Method, pointers map[string]unsafe.Pointer) (map[string]unsafe.Pointer, error) {
	if len(list) != len(b.methods) {
		panic(fmt.Sprintf("gotype: %s: got %d methods, want %d", recv, len(list), len(b.methods)))
	}
	slices.SortFunc(list, func(a, b Method) int { return strings.Compare(a.Name, b.Name) })
	all := map[string]unsafe.Pointer{}
	for i, m := range list {
		plain, err := enter(m.function(recv))
		if err != nil {
			return nil, err
		}
		iface := plain
		if b.flags&flagDirect == 0 {
			if iface = pointers[m.Name]; iface == nil {
				panic(fmt.Sprintf("gotype: %s has the method %s, and its pointers have not", recv, m.Name))
			}
		}
		all[m.Name] = plain
		b.methods[i] = methodType{
			name: addReflectOff(unsafe.Pointer(encode(m.Name, "", true, false))), typ: addReflectOff(unsafe.Pointer(describe(m.Type))),
			iface: addReflectOff(iface), plain: addReflectOff(plain),
		}
	}
	b.uncommon.count, b.uncommon.visible = uint16(len(list)), uint16(len(list))
	return all, nil
}

// function is a function of the method with its receiver as the first parameter.
func (m Method) function(recv reflect.Type) reflect.Value {
	in := slices.AppendSeq([]reflect.Type{recv}, m.Type.Ins())
	t := reflect.FuncOf(in, slices.Collect(m.Type.Outs()), m.Type.IsVariadic())
	return reflect.MakeFunc(t, func(args []reflect.Value) []reflect.Value { return m.Call(args[0], args[1:]) })
}

// Retype returns x with the type t, which must have the same layout in memory as the type of x.
func Retype(x any, t reflect.Type) any {
	(*eface)(unsafe.Pointer(&x)).typ = describe(t)
	return x
}

// SameLayout says whether values of one type can be used as values of the other, as far as sizes and
// pointers tell.
func SameLayout(t, u reflect.Type) bool {
	a, b := describe(t), describe(u)
	return a.kind == b.kind && a.size == b.size && a.pointers == b.pointers && a.flags&flagDirect == b.flags&flagDirect
}

// encode writes a name as descriptions have it.
func encode(name, tag string, exported, embedded bool) *byte {
	flag := func(set bool, bit byte) byte {
		if set {
			return bit
		}
		return 0
	}
	b := []byte{flag(exported, 1) | flag(tag != "", 2) | flag(embedded, 8)}
	b = append(binary.AppendUvarint(b, uint64(len(name))), name...)
	if tag != "" {
		b = append(binary.AppendUvarint(b, uint64(len(tag))), tag...)
	}
	return &b[0]
}

// isBlank says whether an encoded name is "_".
func isBlank(name *byte) bool {
	b := unsafe.Slice(name, 3)
	return b[1] == 1 && b[2] == '_'
}

package gotype

import (
	"cmp"
	"reflect"
	"unsafe"
)

// The descriptions of types as internal/abi lays them out.

type rtype struct {
	size, pointers uintptr
	hash           uint32
	flags          uint8
	align          uint8
	fieldAlign     uint8
	kind           uint8
	equal          func(p, q unsafe.Pointer) bool
	gcData         *byte
	str            int32
	pointerToThis  int32
}

// Flags of an rtype.
const (
	flagUncommon  = 1 << 0
	flagExtraStar = 1 << 1
	flagNamed     = 1 << 2
	flagDirect    = 1 << 5 // the value itself is the data word of an interface
)

type (
	arrayType struct {
		rtype
		elem, slice *rtype
		len         uintptr
	}
	chanType struct {
		rtype
		elem *rtype
		dir  int
	}
	funcType struct {
		rtype
		in, out uint16
	}
	interfaceType struct {
		rtype
		pkgPath *byte
		methods []struct{ name, typ int32 }
	}
	mapType struct {
		rtype
		key, elem, group *rtype
		hasher           func(unsafe.Pointer, uintptr) uintptr
		groups           mapGroups
		flags            uint32
	}
	elemType struct { // pointers and slices
		rtype
		elem *rtype
	}
	structType struct {
		rtype
		pkgPath *byte
		fields  []structField
	}
	structField struct {
		name   *byte
		typ    *rtype
		offset uintptr
	}
)

// uncommonType follows the description of a type that has a name or methods.
type uncommonType struct {
	pkgPath        int32
	count, visible uint16 // methods, and those that are exported
	offset         uint32 // from here to the methods
	_              uint32
}

type methodType struct {
	name, typ int32
	// iface is the code that is called with the data word of an interface as its receiver, plain that with
	// the value.
	iface, plain int32
}

var heads = map[reflect.Kind]reflect.Type{
	reflect.Array: reflect.TypeFor[arrayType](), reflect.Chan: reflect.TypeFor[chanType](), reflect.Func: reflect.TypeFor[funcType](),
	reflect.Interface: reflect.TypeFor[interfaceType](), reflect.Map: reflect.TypeFor[mapType](), reflect.Struct: reflect.TypeFor[structType](),
	reflect.Pointer: reflect.TypeFor[elemType](), reflect.Slice: reflect.TypeFor[elemType](),
}

// head is the part of a description that comes before its uncommonType.
func head(k reflect.Kind) reflect.Type { return cmp.Or(heads[k], reflect.TypeFor[rtype]()) }

// eface is an interface without methods.
type eface struct {
	typ  *rtype
	data unsafe.Pointer
}

// describe is the description behind a reflect.Type.
func describe(t reflect.Type) *rtype {
	return (*rtype)((*[2]unsafe.Pointer)(unsafe.Pointer(&t))[1])
}

// reflected is the reflect.Type of a description.
func reflected(t *rtype) reflect.Type {
	var none any
	(*eface)(unsafe.Pointer(&none)).typ = t
	return reflect.TypeOf(none)
}

//go:linkname addReflectOff reflect.addReflectOff
func addReflectOff(unsafe.Pointer) int32

package gotype

import (
	"errors"
	"reflect"
	"sync"
	"unsafe"
)

// Known says why types cannot be made: this Go describes types in another way than this package knows.
var Known = sync.OnceValue(func() error {
	if !known() {
		return errors.New("gotype: this Go describes types in another way than Go 1.26 and Go 1.27")
	}
	return nil
})

// sample is a type whose description is looked at.
type sample struct {
	small int8
	text  string
}

// Method makes it a type with methods.
func (s sample) Method() string { return s.text[:s.small] }

// known reads the compiler's descriptions of some types with the layout that this package writes.
func known() bool {
	text := describe(reflect.TypeFor[string]())
	s := (*structType)(at[sample]())
	word := unsafe.Sizeof(uintptr(0))
	if s.size != unsafe.Sizeof(sample{}) || s.pointers != 2*word || s.align != uint8(word) || s.kind != uint8(reflect.Struct) ||
		s.flags&(flagUncommon|flagNamed) != flagUncommon|flagNamed || len(s.fields) != 2 || s.fields[1].typ != text || s.fields[1].offset != word {
		return false
	}
	u := (*uncommonType)(unsafe.Add(at[sample](), unsafe.Sizeof(structType{})))
	if u.count != 1 || u.visible != 1 || u.offset < uint32(unsafe.Sizeof(uncommonType{})) {
		return false
	}
	array, f, m := (*arrayType)(at[[3]string]()), (*funcType)(at[func(string) (int, error)]()), (*mapType)(at[map[string]bool]())
	return (*elemType)(at[[]string]()).elem == text && (*elemType)(at[*string]()).elem == text &&
		(*chanType)(at[chan string]()).elem == text && (*chanType)(at[chan string]()).dir == int(reflect.BothDir) &&
		array.elem == text && array.len == 3 && array.slice == describe(reflect.TypeFor[[]string]()) && f.in == 1 && f.out == 2 &&
		m.key == text && m.elem == describe(reflect.TypeFor[bool]()) && m.group != nil && m.groups.size == m.group.size
}

// at is where the description of a type is.
func at[T any]() unsafe.Pointer { return unsafe.Pointer(describe(reflect.TypeFor[T]())) }

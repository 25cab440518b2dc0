package session

import (
	"go/types"
	"reflect"
	"slices"
	"unsafe"
)

// A search looks through values for one in an interface whose type, declared in a cell, is wanted.
type search struct {
	s      *Session
	wanted func(types.Type) bool
	maps   bool // maps are searched: no goroutine of cells runs, which may write to them
	seen   map[unsafe.Pointer]bool
	left   int // how many values are still looked at
}

// inInterfaces says whether an interface that a variable is or leads to has a value of a wanted type. It does
// not look into values of compiled types, nor at more than a million values.
func (s *Session) inInterfaces(v reflect.Value, wanted func(types.Type) bool) bool {
	f := &search{s, wanted, len(s.rt.Goroutines()) == 0, map[unsafe.Pointer]bool{}, 1_000_000}
	return v.IsValid() && f.in(v)
}

func (f *search) in(v reflect.Value) bool {
	if f.left--; f.left < 0 || !leadsToInterfaces(v.Type(), nil) {
		return false
	}
	switch v.Kind() {
	case reflect.Interface:
		inner, _ := f.s.rt.Dynamic(v)
		t := f.s.typeIn(v)
		return t != nil && f.wanted(t) || inner.IsValid() && f.in(inner)
	case reflect.Pointer:
		if v.IsNil() || f.seen[v.UnsafePointer()] {
			return false
		}
		f.seen[v.UnsafePointer()] = true
		return f.in(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if f.in(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		if !f.maps || f.seen[v.UnsafePointer()] {
			return false
		}
		f.seen[v.UnsafePointer()] = true
		for e := v.MapRange(); e.Next(); {
			if f.in(e.Key()) || f.in(e.Value()) {
				return true
			}
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if f.in(field) {
				return true
			}
		}
	}
	return false
}

// leadsToInterfaces says whether values of a type may be or lead to interfaces. Compiled types with a name do
// not.
func leadsToInterfaces(t reflect.Type, within []reflect.Type) bool {
	if slices.Contains(within, t) {
		return false
	}
	within = append(within, t)
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return leadsToInterfaces(t.Elem(), within)
	case reflect.Map:
		return leadsToInterfaces(t.Key(), within) || leadsToInterfaces(t.Elem(), within)
	case reflect.Struct:
		if t.PkgPath() != "" {
			return false
		}
		for f := range t.Fields() {
			if leadsToInterfaces(f.Type, within) {
				return true
			}
		}
	}
	return false
}

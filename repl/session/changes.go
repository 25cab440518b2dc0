package session

import (
	"hash/maphash"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"
	"weak"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// Changes looks at the session's variables and at what they lead to: elements, fields, the targets of
// pointers, what closures know, the lengths of channels, which value a tensor has. It returns a function that
// names the variables for which that has changed since. Of compiled types only what they show is looked at;
// maps are left out while goroutines of cells run, which may write to them. Complete says whether all was
// looked at: a variable may lead to so much that this would take too long.
func (s *Session) Changes() (since func() (changed []string, complete bool)) {
	seed := maphash.MakeSeed()
	before, had, whole := s.prints(seed)
	return func() (changed []string, complete bool) {
		now, _, all := s.prints(seed)
		runtime.KeepAlive(had)
		for _, name := range slices.Sorted(maps.Keys(before)) {
			if sum, known := now[name]; known && sum != before[name] {
				changed = append(changed, name)
			}
		}
		return changed, whole && all
	}
}

// prints are what the values of the variables come to, as long as the values of tensors that they had are
// kept.
func (s *Session) prints(seed maphash.Seed) (list map[string]uint64, had []weak.Pointer[byte], complete bool) {
	list = map[string]uint64{}
	p := &printer{s: s, seed: seed, maps: s.rt.Going(0) == 0, left: mostPrinted}
	for _, name := range slices.Sorted(maps.Keys(s.compiler.World.Names)) {
		e := s.compiler.World.Names[name]
		if e.Kind != world.Var || e.Cell < 1 {
			continue
		}
		if v := s.rt.Variable(e.Internal); v.IsValid() {
			p.seen = map[unsafe.Pointer]bool{}
			if sum := p.of(v); p.left > 0 {
				list[name] = sum
			}
		}
	}
	return list, p.had, p.left > 0
}

// mostPrinted is how many values are looked at. Numbers that lie side by side are one.
const mostPrinted = 1_000_000

// A printer makes a number of a value and what it leads to. Two values that come to the same number are taken
// for the same.
type printer struct {
	s    *Session
	seed maphash.Seed
	maps bool
	seen map[unsafe.Pointer]bool
	left int
	had  []weak.Pointer[byte] // values of tensors: another one may get the address of one that is gone
}

func (p *printer) of(v reflect.Value) uint64 {
	if p.left--; p.left <= 0 || !v.IsValid() {
		return 0
	}
	t := v.Type()
	if t == reflect.TypeFor[tensor.Tensor]() { // a pointer to a box, whose first word says which value it has
		if box := onlyPointer(v); box != nil {
			w := weak.Make((*byte)(atomic.LoadPointer((*unsafe.Pointer)(box))))
			p.had = append(p.had, w)
			return p.number(uint64(*(*uintptr)(unsafe.Pointer(&w)))) // where the collector knows it, as long as w is kept
		}
		return 0
	}
	switch v.Kind() {
	case reflect.String:
		return maphash.String(p.seed, v.String())
	case reflect.Interface:
		inner, _ := p.s.rt.Dynamic(readable(v))
		return p.of(inner)
	case reflect.Pointer:
		if at := v.UnsafePointer(); at == nil || p.seen[at] {
			return p.number(uint64(uintptr(at)))
		}
		p.seen[v.UnsafePointer()] = true
		return p.number(uint64(v.Pointer()), p.of(v.Elem()))
	case reflect.Slice, reflect.Array:
		return p.elements(v)
	case reflect.Map:
		sum := p.number(uint64(v.Len()))
		if at := v.UnsafePointer(); at == nil || p.seen[at] || !p.maps {
			return sum
		}
		p.seen[v.UnsafePointer()] = true
		for e := v.MapRange(); e.Next() && p.left > 0; {
			sum += p.number(p.of(e.Key()), p.of(e.Value())) // in any order
		}
		return sum
	case reflect.Struct:
		sum := uint64(0)
		for i := range v.NumField() {
			if f := t.Field(i); f.IsExported() || !strings.HasPrefix(f.PkgPath, enginePath) {
				sum = p.number(sum, p.of(v.Field(i)))
			}
		}
		return sum
	case reflect.Chan:
		return p.number(uint64(v.Pointer()), uint64(v.Len()))
	case reflect.Func:
		sum := p.number(uint64(v.Pointer()))
		if at := v.UnsafePointer(); at != nil && !p.seen[at] {
			p.seen[at] = true
			for _, known := range p.s.interp.Captured(v) {
				sum = p.number(sum, p.of(known))
			}
		}
		return sum
	}
	return p.memory(v)
}

// enginePath begins the paths of packages whose values keep what they have computed in fields of their own:
// that is no change.
const enginePath = "github.com/mcs-notebook/mcs/engine/"

// elements is of for a slice or an array.
func (p *printer) elements(v reflect.Value) uint64 {
	sum := p.number(uint64(v.Len()))
	if v.Len() == 0 {
		return sum
	}
	if k := v.Type().Elem().Kind(); k >= reflect.Bool && k <= reflect.Complex128 && v.Index(0).CanAddr() {
		bytes := unsafe.Slice((*byte)(v.Index(0).Addr().UnsafePointer()), v.Len()*int(v.Type().Elem().Size()))
		return p.number(sum, maphash.Bytes(p.seed, bytes))
	}
	for i := 0; i < v.Len() && p.left > 0; i++ {
		sum = p.number(sum, p.of(v.Index(i)))
	}
	return sum
}

// memory is of for a number or a bool.
func (p *printer) memory(v reflect.Value) uint64 {
	switch {
	case v.CanInt():
		return p.number(uint64(v.Int()))
	case v.CanUint():
		return p.number(v.Uint())
	case v.CanFloat() || v.CanComplex() || v.Kind() == reflect.Bool:
		return maphash.Comparable(p.seed, readable(v).Interface())
	}
	return 0
}

// number mixes numbers, whose order counts.
func (p *printer) number(list ...uint64) (sum uint64) {
	for _, n := range list {
		sum = sum*0x9e3779b97f4a7c15 + n
		sum ^= sum >> 29
	}
	return sum
}

// readable is a value that may be read though its field is not exported.
func readable(v reflect.Value) reflect.Value {
	if v.CanInterface() {
		return v
	}
	if v.CanAddr() {
		return reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem()
	}
	return reflect.Zero(v.Type())
}

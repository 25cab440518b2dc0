package yaegi

import (
	"math"
	"reflect"
	"runtime"
	"unsafe"
)

// Go passes parameters and results in registers, word by word: integers and pointers in those of one kind,
// floating-point numbers in those of another (abi-internal.md in Go's source). A function does not look at
// registers that it has no parameters for, so one type of function stands for all that need no more than it
// has; it also has room in memory for as many words, which functions use for their registers. Results are
// distinguished by which of them are pointers, for the collector.

// inRegisters says whether the processor's registers are as they are taken for here.
const inRegisters = runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64"

const maxInts, maxFloats, maxResults = 9, 2, 3

// A word is a part of a value that has a register of its own.
type word struct {
	offset, size uintptr
	kind         rune // p: a pointer, n: a number, f: one of floating point
	register     int  // its number among those of its kind
}

// registers are those of one call.
type registers struct {
	ints     [maxInts]uintptr
	floats   [maxFloats]float64
	held     [maxInts]unsafe.Pointer // the pointers among ints, for the collector
	pointers [maxResults]unsafe.Pointer
}

// load fills registers with a value in memory.
func (r *registers) load(words []word, from unsafe.Pointer) {
	for _, w := range words {
		at, x := unsafe.Add(from, w.offset), uint64(0)
		switch w.size {
		case 1:
			x = uint64(*(*uint8)(at))
		case 2:
			x = uint64(*(*uint16)(at))
		case 4:
			x = uint64(*(*uint32)(at))
		default:
			x = *(*uint64)(at)
		}
		switch w.kind {
		case 'f':
			r.floats[w.register] = math.Float64frombits(x)
		case 'p':
			r.held[w.register] = *(*unsafe.Pointer)(at)
			fallthrough
		default:
			r.ints[w.register] = uintptr(x)
		}
	}
}

// store moves a result from registers to memory.
func (r *registers) store(words []word, to unsafe.Pointer) {
	for _, w := range words {
		at, x := unsafe.Add(to, w.offset), uint64(r.ints[w.register])
		if w.kind == 'f' {
			x = math.Float64bits(r.floats[w.register])
		}
		switch {
		case w.kind == 'p':
			*(*unsafe.Pointer)(at) = r.pointers[w.register]
		case w.size == 1:
			*(*uint8)(at) = uint8(x)
		case w.size == 2:
			*(*uint16)(at) = uint16(x)
		case w.size == 4:
			*(*uint32)(at) = uint32(x)
		default:
			*(*uint64)(at) = x
		}
	}
}

// call calls a function. Pointers has the bits of the results that are pointers.
func (r *registers) call(fn unsafe.Pointer, pointers int) {
	i, p := &r.ints, &r.pointers
	switch pointers {
	case 0b000:
		jump(fn, r, &i[0], &i[1], &i[2])
	case 0b001:
		jump(fn, r, &p[0], &i[1], &i[2])
	case 0b010:
		jump(fn, r, &i[0], &p[1], &i[2])
	case 0b011:
		jump(fn, r, &p[0], &p[1], &i[2])
	case 0b100:
		jump(fn, r, &i[0], &i[1], &p[2])
	case 0b101:
		jump(fn, r, &p[0], &i[1], &p[2])
	case 0b110:
		jump(fn, r, &i[0], &p[1], &p[2])
	case 0b111:
		jump(fn, r, &p[0], &p[1], &p[2])
	}
}

func jump[A, B, C uintptr | unsafe.Pointer](fn unsafe.Pointer, r *registers, a *A, b *B, c *C) {
	f := *(*func(a, b, c, d, e, f, g, h, i uintptr, x, y float64) (A, B, C, float64))(unsafe.Pointer(&fn))
	i := &r.ints
	*a, *b, *c, r.floats[0] = f(i[0], i[1], i[2], i[3], i[4], i[5], i[6], i[7], i[8], r.floats[0], r.floats[1])
	runtime.KeepAlive(r)
}

// registersFit says whether a function finds its parameters, and leaves its results, where they are here.
func registersFit() bool {
	type params struct {
		a int8
		b float32
		c string
		d float64
	}
	type results struct {
		n int
		x float32
	}
	f := func(a int8, b float32, c string, d float64) (int, float32) { return len(c) + int(a), b + float32(d) }
	given, got := params{-1, 2, "three", 4}, results{}
	var r registers
	to, _ := new(count).words(reflect.TypeOf(given))
	back, _ := new(count).words(reflect.TypeOf(got))
	r.load(to, unsafe.Pointer(&given))
	r.call(*(*unsafe.Pointer)(unsafe.Pointer(&f)), 0)
	r.store(back, unsafe.Pointer(&got))
	return got == results{4, 6}
}

// A count is of the registers that values need.
type count struct {
	ints, floats int
	pointers     int // which of the first are pointers, in bits
}

// words finds the words of a type and the next registers for them. Ok is false if it has parts that Go does
// not pass in registers, or padding, for which functions use more memory, or is the interpreter's own.
func (c *count) words(t reflect.Type) (list []word, ok bool) {
	ok = appendWords(&list, t, 0) && t.Size() <= 8*uintptr(len(list))
	for i := range list {
		kind, next := list[i].kind, &c.ints
		if kind == 'f' {
			next = &c.floats
		} else if kind == 'p' {
			c.pointers |= 1 << c.ints
		}
		list[i].register = *next
		*next++
	}
	return list, ok
}

func appendWords(list *[]word, t reflect.Type, at uintptr) bool {
	kinds := "n"
	switch t.Kind() {
	case reflect.Struct:
		for f := range t.Fields() {
			if !appendWords(list, f.Type, at+f.Offset) {
				return false
			}
		}
		return t.PkgPath() != "github.com/traefik/yaegi/interp"
	case reflect.Array:
		return t.Len() == 0 || t.Len() == 1 && appendWords(list, t.Elem(), at)
	case reflect.String:
		kinds = "pn"
	case reflect.Slice:
		kinds = "pnn"
	case reflect.Interface:
		kinds = "pp"
	case reflect.Pointer, reflect.Map, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		kinds = "p"
	case reflect.Float32, reflect.Float64:
		kinds = "f"
	case reflect.Complex64, reflect.Complex128:
		kinds = "ff"
	}
	size := t.Size() / uintptr(len(kinds))
	for i, k := range kinds {
		*list = append(*list, word{offset: at + uintptr(i)*size, size: size, kind: k})
	}
	return true
}

package display

import (
	"fmt"
	"go/types"
	"reflect"
	"runtime"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/internal/units"
)

// elements writes a slice or array: elements in brackets, without their type.
func (w *writer) elements(v reflect.Value, t types.Type, depth int) doc {
	elem := elemType(t)
	if v.Kind() == reflect.Slice {
		if v.IsNil() {
			return atom("nil")
		}
		if v.Type().Elem().Kind() == reflect.Uint8 && v.Len() > 0 {
			return w.bytes(v, t, depth)
		}
		at := seenPointer{v.Pointer(), v.Type()}
		if v.Len() > 0 {
			if w.seen[at] {
				return atom("(cycle)")
			}
			w.seen[at] = true
			defer delete(w.seen, at)
		}
	}
	d := doc{open: "[", close: "]"}
	if depth > w.limit.depth && v.Len() > 0 {
		w.note = seeAll
		d.items = []doc{atom(elision)}
		return d
	}
	for _, i := range w.shownIndices(v.Len()) {
		if i < 0 {
			d.items = append(d.items, more(-i))
			continue
		}
		item := w.value(v.Index(i), elem, depth+1)
		if elem != nil && item.typed && !types.IsInterface(elem) || elem == nil && v.Type().Elem().Kind() != reflect.Interface {
			item = untyped(item) // as in a composite literal, the slice's type says it
		}
		d.items = append(d.items, item)
	}
	return d
}

// elemType is the type of the elements of a slice, array, map, pointer or channel type; nil if that is not
// known.
func elemType(t types.Type) types.Type {
	if t != nil {
		if u, ok := t.Underlying().(interface{ Elem() types.Type }); ok {
			return u.Elem()
		}
	}
	return nil
}

// untyped drops the type's name in front of a brace.
func untyped(d doc) doc {
	if i := strings.IndexByte(d.open, '{'); i > 0 && !strings.HasPrefix(d.open, "struct{") && !strings.HasPrefix(d.open, "&") {
		d.open = d.open[i:]
	}
	return d
}

// shownIndices gives the indices of n elements that are shown, and for the gap the number of those that are
// not, negative.
func (w *writer) shownIndices(n int) []int {
	var list []int
	for i := 0; i < n; i++ {
		if n > w.limit.elements && i == w.limit.headTail {
			list = append(list, -(n - 2*w.limit.headTail))
			i = n - w.limit.headTail
			w.note = units.Int(int64(n)) + " elements, " + seeAll
		}
		list = append(list, i)
	}
	return list
}

// entries writes a map, its keys in order.
func (w *writer) entries(v reflect.Value, t types.Type, depth int) doc {
	if v.IsNil() {
		return atom("nil")
	}
	var key, elem types.Type
	if t != nil {
		if m, ok := t.Underlying().(*types.Map); ok {
			key, elem = m.Key(), m.Elem()
		}
	}
	d := doc{open: w.f.typeName(v, t) + "{", close: "}", comma: true, typed: true}
	at := seenPointer{v.Pointer(), v.Type()}
	if w.seen[at] {
		return atom("(cycle)")
	}
	w.seen[at] = true
	defer delete(w.seen, at)
	if depth > w.limit.depth && v.Len() > 0 {
		w.note = seeAll
		d.items = []doc{atom(elision)}
		return d
	}
	entries := w.firstEntries(v)
	for _, e := range entries {
		item := untyped(w.value(e.value, elem, depth+1))
		item.label = w.value(e.key, key, depth+1).flat() + ": "
		d.items = append(d.items, item)
	}
	d.fills = len(d.items) > fillFrom
	if left := v.Len() - len(entries); left > 0 {
		w.note = units.Int(int64(v.Len())) + " entries, " + seeAll
		d.items = append(d.items, atom(elision+" "+units.Int(int64(left))+" more"))
	}
	return d
}

// An entry of a map. A key that is NaN cannot be looked up, so the value is kept beside it.
type entry struct{ key, value reflect.Value }

// firstEntries returns the entries of a map in the order of their keys: all of them if they are few,
// otherwise the first ones. For a very large map it returns none.
func (w *writer) firstEntries(v reflect.Value) []entry {
	if v.Len() > maxKeys && !w.f.Whole {
		return nil
	}
	n := v.Len()
	if n > w.limit.elements {
		n = 2 * w.limit.headTail
	}
	list := make([]entry, 0, n+1)
	for it := v.MapRange(); it.Next(); {
		e := entry{it.Key(), it.Value()}
		if len(list) == n && !w.before(e, list[n-1]) {
			continue
		}
		i := sort.Search(len(list), func(i int) bool { return w.before(e, list[i]) })
		list = slices.Insert(list, i, e)
		list = list[:min(len(list), n)]
	}
	return list
}

// before orders entries by their keys, and by their values where the keys look alike.
func (w *writer) before(a, b entry) bool {
	if w.less(a.key, b.key) {
		return true
	}
	return !w.less(b.key, a.key) && w.keyText(a.value) < w.keyText(b.value)
}

// less orders map keys: those of one kind by value, everything else by its text.
func (w *writer) less(a, b reflect.Value) bool {
	a, b = w.f.unwrap(a), w.f.unwrap(b)
	if !a.IsValid() || !b.IsValid() {
		return !a.IsValid() && b.IsValid()
	}
	if a.Kind() != b.Kind() {
		return a.Kind() < b.Kind()
	}
	switch {
	case a.CanInt():
		return a.Int() < b.Int()
	case a.CanUint():
		return a.Uint() < b.Uint()
	case a.CanFloat():
		return a.Float() < b.Float() || a.Float() != a.Float() && b.Float() == b.Float()
	case a.Kind() == reflect.String:
		return a.String() < b.String()
	case a.Kind() == reflect.Bool:
		return !a.Bool() && b.Bool()
	}
	return w.keyText(a) < w.keyText(b)
}

// keyText returns the text of a key whose type has no order.
func (w *writer) keyText(v reflect.Value) string {
	inner := w.f.writer()
	return inner.value(v, nil, 1).flat()
}

// fields writes a struct.
func (w *writer) fields(v reflect.Value, t types.Type, depth int) doc {
	var st *types.Struct
	if t != nil {
		st, _ = t.Underlying().(*types.Struct)
	}
	name := ""
	switch {
	case t != nil && types.Unalias(t) != types.Type(st):
		name = w.f.typeName(v, t)
	case v.Type().PkgPath() != "":
		name = w.f.typeName(v, nil)
	case depth == 0:
		name = "struct"
	}
	d := doc{open: name + "{", close: "}", comma: true, typed: true}
	if depth > w.limit.depth && v.NumField() > 0 {
		w.note = seeAll
		d.items = []doc{atom(elision)}
		return d
	}
	for i := range v.NumField() {
		if internal(v.Type().Field(i)) {
			continue
		}
		label, ft := fieldName(v.Type(), i), types.Type(nil)
		if st != nil && i < st.NumFields() {
			label, ft = st.Field(i).Name(), st.Field(i).Type()
		}
		item := w.value(v.Field(i), ft, depth+1)
		item.label = label + ": "
		d.items = append(d.items, item)
	}
	if len(d.items) < v.NumField() {
		d.items = append(d.items, atom(elision))
	}
	return d
}

// internal says whether a field is left out: what a compiled package keeps in a field that no cell can read,
// unless it is plain.
func internal(f reflect.StructField) bool {
	switch f.Type.Kind() {
	case reflect.Struct, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Array, reflect.Map, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return !f.IsExported() && !f.Anonymous
	}
	return false
}

// fieldName is the name of a field as the source has it: yaegi stores x as Xx, because reflect cannot set x.
func fieldName(t reflect.Type, i int) string {
	name := t.Field(i).Name
	if t.PkgPath() == "" && len(name) > 1 && name[0] == 'X' {
		if r, _ := utf8.DecodeRuneInString(name[1:]); unicode.IsLower(r) || r == '_' {
			return name[1:]
		}
	}
	return name
}

// pointer writes the target of a pointer, behind an ampersand.
func (w *writer) pointer(v reflect.Value, t types.Type, depth int) doc {
	if v.IsNil() {
		return atom("nil")
	}
	at := seenPointer{v.Pointer(), v.Type()}
	if w.seen[at] {
		return atom("(cycle)")
	}
	if depth > w.limit.depth {
		w.note = seeAll
		return atom("&" + elision)
	}
	w.seen[at] = true
	defer delete(w.seen, at)
	inner := depth
	if v.Elem().Kind() == reflect.Pointer {
		inner++ // pointers to pointers are no way around the limit
	}
	d := w.value(v.Elem(), elemType(t), inner)
	if d.open == "" {
		d.text = "&" + d.text
	} else {
		d.open = "&" + d.open
	}
	return d
}

// function writes a function's signature, and the name of a compiled function.
func (w *writer) function(v reflect.Value, s *types.Signature, t types.Type) doc {
	if isNil(v) {
		return atom("nil")
	}
	if _, named := t.(*types.Named); named || s == nil {
		return doc{text: w.f.typeName(v, t), typed: true}
	}
	return doc{text: types.TypeString(s, w.f.qualifier()), typed: true}
}

// compiledName returns the name of a compiled function, and "" for closures and interpreted functions.
func compiledName(v reflect.Value) string {
	f := runtime.FuncForPC(v.Pointer())
	if f == nil {
		return ""
	}
	name := f.Name()[strings.LastIndexByte(f.Name(), '/')+1:]
	if strings.Contains(name, ".func") || strings.HasPrefix(name, "reflect.") || strings.HasPrefix(name, "interp.") || strings.HasSuffix(name, "-fm") {
		return ""
	}
	return name
}

// bytes writes a byte slice: as text if it is, else in hexadecimal.
func (w *writer) bytes(v reflect.Value, t types.Type, depth int) doc {
	b := v.Bytes()
	name := w.f.typeName(v, t)
	if isText(string(b), "\n\t\r") {
		return doc{text: name + "(" + w.text(string(b), max(depth, 1)).text + ")", typed: true}
	}
	line := 16
	if depth > 0 || len(b) <= line {
		if len(b) > line && !w.f.Whole {
			w.note = units.Int(int64(len(b))) + " bytes, " + seeAll
			return doc{text: fmt.Sprintf("%s(hex % x %s %s more)", name, b[:line], elision, units.Int(int64(len(b)-line))), typed: true}
		}
		return doc{text: fmt.Sprintf("%s(hex % x)", name, b), typed: true}
	}
	return doc{text: fmt.Sprintf("%s, %s bytes\n%s", name, units.Int(int64(len(b))), w.dump(b, line)), typed: true}
}

// dump writes lines of an offset, bytes in hexadecimal, and the characters that are printable.
func (w *writer) dump(b []byte, line int) string {
	const first, last = 8, 2 // lines that are shown of many
	var lines []string
	total := (len(b) + line - 1) / line
	for i := 0; i < total; i++ {
		if i == first && total > first+last+1 && !w.f.Whole {
			skipped := total - last - first
			lines = append(lines, elision+" "+units.Int(int64(skipped*line))+" more bytes "+elision)
			w.note = seeAll
			i = total - last
		}
		part := b[i*line : min((i+1)*line, len(b))]
		text := make([]byte, len(part))
		for k, c := range part {
			text[k] = '.'
			if c >= ' ' && c <= '~' {
				text[k] = c
			}
		}
		lines = append(lines, fmt.Sprintf("%08x  %-*s  %s", i*line, 3*line-1, fmt.Sprintf("% x", part), text))
	}
	return strings.Join(lines, "\n")
}

// isText says whether all of s are letters that look like themselves, or some of space.
func isText(s, space string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) && !strings.ContainsRune(space, r) })
}

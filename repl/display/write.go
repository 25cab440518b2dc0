package display

import (
	"fmt"
	"go/types"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// How much of a large value is shown. A person who wants more prints it; the note says so.
const (
	maxElements = 100  // of a slice, array or map that is shown whole
	headTail    = 20   // elements shown at each end of a longer one
	maxString   = 2000 // bytes of a string that is shown whole
	maxDepth    = 5    // of nested values
	maxNested   = 200  // bytes of a string inside another value
	elision     = "…"  // stands for what is left out
	seeAll      = "fmt.Println shows all"
)

// A writer makes the doc of one value.
type writer struct {
	f    *Formatter
	seen map[seenPointer]bool // pointers on the way down: a cycle ends there
	note string               // what was left out and how to see it
}

type seenPointer struct {
	at  uintptr
	typ reflect.Type
}

func (w *writer) value(v reflect.Value, t types.Type, depth int) doc {
	static := v
	v = w.f.unwrap(v)
	if !v.IsValid() {
		return atom("nil")
	}
	if t != nil && types.IsInterface(t) && w.f.Dynamic != nil {
		if dynamic := w.f.Dynamic(static); dynamic != nil {
			t = dynamic
		}
	}
	if d, ok := w.speaks(static, v, t, depth); ok {
		return d
	}
	if t != nil && types.IsInterface(t) {
		t = nil // says nothing about the value inside
	}
	if t != nil {
		if s, ok := t.Underlying().(*types.Signature); ok {
			return w.function(v, s, t)
		}
	}
	switch v.Kind() {
	case reflect.Bool:
		return atom(strconv.FormatBool(v.Bool()))
	case reflect.String:
		return w.text(v.String(), depth)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return atom(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return atom(strconv.FormatUint(v.Uint(), 10))
	case reflect.Float32:
		return atom(formatFloat(v.Float(), 32))
	case reflect.Float64:
		return atom(formatFloat(v.Float(), 64))
	case reflect.Complex64:
		return atom(strconv.FormatComplex(v.Complex(), 'g', -1, 64))
	case reflect.Complex128:
		return atom(strconv.FormatComplex(v.Complex(), 'g', -1, 128))
	case reflect.Slice, reflect.Array:
		return w.elements(v, t, depth)
	case reflect.Map:
		return w.entries(v, t, depth)
	case reflect.Struct:
		return w.fields(v, t, depth)
	case reflect.Pointer:
		return w.pointer(v, t, depth)
	case reflect.Func:
		return w.function(v, nil, t)
	case reflect.Chan:
		if v.IsNil() {
			return atom("nil")
		}
		return doc{text: fmt.Sprintf("%s (%d of %d)", w.f.typeName(v, t), v.Len(), v.Cap()), typed: true}
	}
	return atom(fmt.Sprint(v))
}

// speaks lets errors, times and Stringers say what they are.
func (w *writer) speaks(static, v reflect.Value, t types.Type, depth int) (doc, bool) {
	if isNil(v) {
		return doc{}, false
	}
	// A value in an interface may be a wrapper that gives an interpreted value its methods: ask it first.
	for _, x := range []reflect.Value{static, v} {
		if !x.IsValid() || !x.CanInterface() || isNil(x) {
			continue
		}
		switch x := x.Interface().(type) {
		case time.Time:
			return atom(x.Format("2006-01-02 15:04:05.999999999 -0700 MST")), true
		case Briefer:
			return atom(x.Brief()), true
		case Value:
			line, _, more := strings.Cut(x.Text(0), "\n")
			if more {
				line += " " + elision
			}
			return atom(line), true
		case error:
			return w.spoken(x.Error(), depth), true
		case fmt.Stringer:
			return w.spoken(x.String(), depth), true
		}
	}
	if w.f.Method == nil {
		return doc{}, false
	}
	for _, name := range []string{"Error", "String"} {
		if s, ok := w.f.Method(v, t, name); ok {
			return w.spoken(s, depth), true
		}
	}
	return doc{}, false
}

// spoken is what a String or Error method said. Inside another value it stays on one line.
func (w *writer) spoken(s string, depth int) doc {
	if depth > 0 && (strings.Contains(s, "\n") || len(s) > maxNested) {
		return w.text(s, depth)
	}
	return atom(s)
}

// text quotes a string; one of several lines is shown as it would look, in back quotes.
func (w *writer) text(s string, depth int) doc {
	limit := maxString
	if depth > 0 {
		limit = maxNested
	}
	cut := ""
	if len(s) > limit {
		cut = elision
		w.note = Int(int64(len(s))) + " bytes, fmt.Print shows all"
		if depth > 0 {
			w.note = seeAll
		}
		s = s[:limit]
		for len(s) > 0 && !utf8.FullRuneInString(s[len(s)-min(len(s), utf8.UTFMax):]) {
			s = s[:len(s)-1]
		}
	}
	if depth == 0 && strings.Contains(strings.TrimSuffix(s, "\n"), "\n") && isPlainText(s) {
		return atom("`" + s + cut + "`")
	}
	return atom(strings.TrimSuffix(strconv.Quote(s), `"`) + cut + `"`)
}

// isPlainText says whether s can be shown between back quotes.
func isPlainText(s string) bool {
	if !utf8.ValidString(s) || strings.ContainsAny(s, "`\r") {
		return false
	}
	for _, r := range s {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

func (w *writer) elements(v reflect.Value, t types.Type, depth int) doc {
	var elem types.Type
	if t != nil {
		if u, ok := t.Underlying().(interface{ Elem() types.Type }); ok {
			elem = u.Elem()
		}
	}
	if v.Kind() == reflect.Slice {
		if v.IsNil() {
			return atom("nil")
		}
		if v.Type().Elem().Kind() == reflect.Uint8 && v.Len() > 0 {
			if b := v.Bytes(); utf8.Valid(b) && isPrintable(b) {
				d := w.text(string(b), max(depth, 1))
				return doc{text: w.f.typeName(v, t) + "(" + d.text + ")", typed: true}
			}
		}
	}
	d := doc{open: "[", close: "]"}
	if depth > maxDepth && v.Len() > 0 {
		d.items = []doc{atom(elision)}
		return d
	}
	for _, i := range w.shownIndices(v.Len()) {
		if i < 0 {
			d.items = append(d.items, atom(elision))
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

// isPrintable says whether b looks like text rather than like numbers.
func isPrintable(b []byte) bool {
	for _, r := range string(b) {
		if !unicode.IsPrint(r) && r != '\n' && r != '\t' && r != '\r' {
			return false
		}
	}
	return true
}

// untyped drops the type's name in front of a brace.
func untyped(d doc) doc {
	if i := strings.IndexByte(d.open, '{'); i > 0 && !strings.HasPrefix(d.open, "struct{") && !strings.HasPrefix(d.open, "&") {
		d.open = d.open[i:]
	}
	return d
}

// shownIndices gives the indices of n elements that are shown, with -1 for the gap.
func (w *writer) shownIndices(n int) []int {
	var list []int
	for i := 0; i < n; i++ {
		if n > maxElements && i == headTail {
			list = append(list, -1)
			i = n - headTail
			w.note = Int(int64(n)) + " elements, " + seeAll
		}
		list = append(list, i)
	}
	return list
}

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
	if depth > maxDepth && v.Len() > 0 {
		d.items = []doc{atom(elision)}
		return d
	}
	keys := v.MapKeys()
	sort.Slice(keys, func(i, j int) bool { return less(w.f.unwrap(keys[i]), w.f.unwrap(keys[j])) })
	for _, i := range w.shownIndices(len(keys)) {
		if i < 0 {
			d.items = append(d.items, atom(elision))
			continue
		}
		item := untyped(w.value(v.MapIndex(keys[i]), elem, depth+1))
		item.label = w.value(keys[i], key, depth+1).flat() + ": "
		d.items = append(d.items, item)
	}
	return d
}

// less orders map keys: numbers by value, everything else by its text.
func less(a, b reflect.Value) bool {
	if a.IsValid() && b.IsValid() && a.Kind() == b.Kind() {
		switch {
		case a.CanInt():
			return a.Int() < b.Int()
		case a.CanUint():
			return a.Uint() < b.Uint()
		case a.CanFloat():
			return a.Float() < b.Float()
		}
	}
	return fmt.Sprint(a) < fmt.Sprint(b)
}

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
		name = v.Type().String()
	case depth == 0:
		name = "struct"
	}
	d := doc{open: name + "{", close: "}", comma: true, typed: true}
	if depth > maxDepth && v.NumField() > 0 {
		d.items = []doc{atom(elision)}
		return d
	}
	for i := range v.NumField() {
		label, ft := fieldName(v.Type(), i), types.Type(nil)
		if st != nil && i < st.NumFields() {
			label, ft = st.Field(i).Name(), st.Field(i).Type()
		}
		item := w.value(v.Field(i), ft, depth+1)
		item.label = label + ": "
		d.items = append(d.items, item)
	}
	return d
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

func (w *writer) pointer(v reflect.Value, t types.Type, depth int) doc {
	if v.IsNil() {
		return atom("nil")
	}
	var elem types.Type
	if t != nil {
		if p, ok := t.Underlying().(*types.Pointer); ok {
			elem = p.Elem()
		}
	}
	at := seenPointer{v.Pointer(), v.Type()}
	if w.seen[at] {
		return atom("(cycle)")
	}
	if kind := v.Elem().Kind(); depth > 2 || kind != reflect.Struct && kind != reflect.Slice && kind != reflect.Map && kind != reflect.Array {
		if depth == 0 {
			return atom("&" + w.value(v.Elem(), elem, depth+1).flat())
		}
		return atom(fmt.Sprintf("%#x", v.Pointer()))
	}
	w.seen[at] = true
	defer delete(w.seen, at)
	d := w.value(v.Elem(), elem, depth)
	if d.open == "" {
		d.text = "&" + d.text
	} else {
		d.open = "&" + d.open
	}
	return d
}

func (w *writer) function(v reflect.Value, s *types.Signature, t types.Type) doc {
	if isNil(v) {
		return atom("nil")
	}
	if _, named := t.(*types.Named); named || s == nil {
		return doc{text: w.f.typeName(v, t), typed: true}
	}
	return doc{text: types.TypeString(s, w.f.qualifier()), typed: true}
}

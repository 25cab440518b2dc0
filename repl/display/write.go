package display

import (
	"fmt"
	"go/types"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
)

// How much of a large value is shown.
const (
	maxElements = 100     // of a slice, array or map that is shown whole
	headTail    = 20      // elements shown at each end of a longer one
	maxString   = 2000    // bytes of a string that is shown whole
	maxDepth    = 5       // of nested values
	maxNested   = 200     // bytes of a string inside another value
	maxParts    = 5000    // values in all: a tree of slices may be wide at every depth
	maxKeys     = 1 << 20 // keys of a map that are looked at to find those that come first
	elision     = "…"     // in place of left-out parts
)

// seeAll tells the person how to see the left-out parts.
const seeAll = "%show shows all"

// Limits of shown parts; the whole ones are for a person who asked for everything.
type limits struct{ elements, headTail, text, nested, depth, parts int }

var (
	brief = limits{maxElements, headTail, maxString, maxNested, maxDepth, maxParts}
	whole = limits{1 << 20, 1 << 19, 1 << 26, 1 << 20, 100, 1 << 22}
)

// A writer makes the doc of one value.
type writer struct {
	f     *Formatter
	limit limits
	parts int                  // values so far
	seen  map[seenPointer]bool // pointers on the way down: a cycle ends there
	note  string               // what was left out and how to see it
}

func (f *Formatter) writer() *writer {
	w := &writer{f: f, limit: brief, seen: map[seenPointer]bool{}}
	if f.Whole {
		w.limit = whole
	}
	return w
}

type seenPointer struct {
	at  uintptr
	typ reflect.Type
}

// more writes the note for n elements that are left out.
func more(n int) doc { return atom(elision + " " + units.Int(int64(n)) + " more " + elision) }

func (w *writer) value(v reflect.Value, t types.Type, depth int) doc {
	static := v
	v = w.f.unwrap(v)
	if !v.IsValid() {
		return atom("nil")
	}
	if w.parts++; w.parts > w.limit.parts {
		w.note = seeAll
		return atom(elision)
	}
	if t == nil || types.IsInterface(t) {
		if dynamic := w.f.dynamic(static, t); dynamic != nil {
			static, t = v, dynamic
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
		return atom(units.FormatFloat(v.Float(), 32))
	case reflect.Float64:
		return atom(units.FormatFloat(v.Float(), 64))
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
	case reflect.UnsafePointer:
		if v.IsNil() {
			return atom("nil")
		}
		return doc{text: "unsafe.Pointer", typed: true}
	}
	return atom(fmt.Sprint(v))
}

// speaks writes the text of errors, times and Stringers by their own methods. If a method panics, the text
// says so.
func (w *writer) speaks(static, v reflect.Value, t types.Type, depth int) (d doc, ok bool) {
	if isNil(v) {
		return doc{}, false
	}
	method := "a method"
	defer func() {
		if r := recover(); r != nil {
			d, ok = atom(fmt.Sprintf("<%s panics: %s>", method, w.clean(w.f.recovered(r), 1))), true
		}
	}()
	// A value in an interface may be a wrapper that gives an interpreted value its methods: ask it first.
	for _, x := range []reflect.Value{static, v} {
		if !x.IsValid() || !x.CanInterface() || isNil(x) {
			continue
		}
		switch x := x.Interface().(type) {
		case time.Time:
			return atom(x.Format("2006-01-02 15:04:05.999999999 -0700 MST")), true
		case reflect.Value, reflect.Type:
			return atom(fmt.Sprint(x)), true
		case *big.Int:
			return atom(w.clean(fmt.Sprint(x), depth)), true
		case OneLiner:
			method = "OneLine"
			return atom(w.clean(x.OneLine(), 1)), true
		case Briefer:
			method = "Brief"
			return atom(w.clean(x.Brief(), 1)), true
		case Value:
			method = "Text"
			line, _, more := strings.Cut(x.Text(0), "\n")
			if more {
				line += " " + elision
			}
			return atom(line), true
		case error:
			method = "Error"
			return atom(w.clean(x.Error(), depth)), true
		case fmt.Stringer:
			method = "String"
			return atom(w.clean(x.String(), depth)), true
		case fmt.Formatter:
			method = "Format"
			return atom(w.clean(fmt.Sprintf("%v", x), depth)), true
		}
	}
	if w.f.Method == nil {
		return doc{}, false
	}
	for _, name := range []string{"Error", "String"} {
		method = name
		if s, ok := w.f.Method(v, t, name); ok {
			return atom(w.clean(s, depth)), true
		}
	}
	return doc{}, false
}

// clean makes the text of a method fit for a terminal: it escapes control characters and limits the
// length. Inside of another value it puts two lines on one, and shows the first of more.
func (w *writer) clean(s string, depth int) string {
	limit := w.limit.text
	if strings.Contains(s, "\n") {
		limit *= 4
	}
	if depth > 0 {
		limit = w.limit.nested
	}
	if head, left, tail := middle(s, limit); left != "" {
		w.note = seeAll
		s = head + left + tail
	}
	s = visible.Text(s)
	if depth > 0 {
		if first, rest, _ := strings.Cut(s, "\n"); strings.Contains(rest, "\n") {
			s = first + " " + elision
		}
		s = strings.ReplaceAll(s, "\n", "⏎")
	}
	return s
}

// middle cuts the middle out of a text of more than limit bytes; left is what stands in its place, "" if
// there is room for all of it.
func middle(s string, limit int) (head, left, tail string) {
	if len(s) <= limit {
		return s, "", ""
	}
	from, to := limit*3/4, len(s)-limit/4
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to++
	}
	return s[:from], elision + " " + units.Int(int64(to-from)) + " more bytes " + elision, s[to:]
}

// text quotes a string; one of several lines is shown as it would look, in back quotes. The middle of a long
// one is left out.
func (w *writer) text(s string, depth int) doc {
	limit := w.limit.text
	if depth > 0 {
		limit = w.limit.nested
	}
	head, left, tail := middle(s, limit)
	if left == "" {
		return atom(quote(s, depth))
	}
	w.note = units.Int(int64(len(s))) + " bytes, " + seeAll
	return atom(quote(head, depth) + " " + left + " " + quote(tail, depth))
}

func quote(s string, depth int) string {
	if depth == 0 && strings.Contains(strings.TrimSuffix(s, "\n"), "\n") && !strings.Contains(s, "`") && isText(s, "\n\t") {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

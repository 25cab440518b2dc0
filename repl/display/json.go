package display

import (
	"encoding/json"
	"fmt"
	"go/types"
	"html"
	"math"
	"reflect"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/mcs-notebook/mcs/internal/units"
)

// JSON returns the value as data: structs and maps are objects, and numbers that JSON cannot write are
// strings. A part that is too deep or too long ends in "…".
func (d *formatted) JSON() (data []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			data, err = nil, fmt.Errorf("%s: cannot be shown: %v", d.f.typeName(d.v, d.t), r)
		}
	}()
	return json.Marshal(d.f.writer().json(d.v, d.t, 0))
}

// HTML is a table as one, and everything else as preformatted text.
func (d *formatted) HTML() string {
	w := d.f.writer()
	if t := w.table(d.v, d.t, 200); t != nil {
		return t.HTML()
	}
	return "<pre>" + html.EscapeString(d.Text(100)) + "</pre>"
}

// SVG draws the text.
func (d *formatted) SVG() string { return textSVG(d.Text(100)) }

// json returns a value of types that encoding/json can write.
func (w *writer) json(v reflect.Value, t types.Type, depth int) any {
	static := v
	v = w.f.unwrap(v)
	if !v.IsValid() {
		return nil
	}
	if d := w.f.dynamic(static, t); d != nil && d != t {
		static, t = v, d
	}
	if w.parts++; w.parts > w.limit.parts || depth > w.limit.depth {
		return elision
	}
	if d, ok := w.speaks(static, v, t, 1); ok {
		return d.text
	}
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool()
	case reflect.String:
		return v.String()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return v.Uint()
	case reflect.Float32, reflect.Float64:
		if x := v.Float(); math.IsNaN(x) || math.IsInf(x, 0) {
			return units.Float(x)
		}
		return v.Float()
	case reflect.Pointer:
		at := seenPointer{v.Pointer(), v.Type()}
		if v.IsNil() || w.seen[at] {
			return nil
		}
		w.seen[at] = true
		defer delete(w.seen, at)
		return w.json(v.Elem(), elemType(t), depth+1)
	case reflect.Slice, reflect.Array:
		list := []any{}
		for i := 0; i < v.Len() && w.parts <= w.limit.parts; i++ {
			list = append(list, w.json(v.Index(i), elemType(t), depth+1))
		}
		return list
	case reflect.Map:
		object := map[string]any{}
		for _, e := range w.firstEntries(v) {
			name := w.keyText(e.key)
			if inner := w.f.unwrap(e.key); inner.IsValid() && inner.Kind() == reflect.String {
				name = inner.String()
			}
			object[name] = w.json(e.value, elemType(t), depth+1)
		}
		return object
	case reflect.Struct:
		return w.jsonFields(v, t, depth)
	}
	return w.value(static, t, depth+1).flat()
}

func (w *writer) jsonFields(v reflect.Value, t types.Type, depth int) any {
	object := map[string]any{}
	s := w.f.structOf(v.Type(), t)
	if s == nil {
		return object
	}
	for i, name := range s.names {
		object[name] = w.json(v.Field(s.fields[i]), s.types[i], depth+1)
	}
	return object
}

// textSVG is a document of lines of text in a font of equal widths.
func textSVG(text string) string {
	const char, line = 7.8, 17
	lines := strings.Split(text, "\n")
	widest := 0
	for _, l := range lines {
		widest = max(widest, runewidth.StringWidth(l))
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" font-family="monospace" font-size="13">`, char*float64(widest+2), line*len(lines)+10)
	for i, l := range lines {
		fmt.Fprintf(&b, "\n"+`<text x="%.0f" y="%d" xml:space="preserve">%s</text>`, char, line*(i+1), html.EscapeString(l))
	}
	return b.String() + "\n</svg>"
}

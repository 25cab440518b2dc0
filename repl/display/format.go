package display

import (
	"errors"
	"fmt"
	"go/types"
	"math/big"
	"reflect"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/mcs-notebook/mcs/internal/lines"
	"github.com/mcs-notebook/mcs/internal/visible"
)

// A Formatter turns Go values into Values. It takes the static type with the value, because reflect does
// not know the names that cells declare: it has no name for an interpreted type, and yaegi stores a field
// x as Xx. The zero Formatter formats compiled values.
type Formatter struct {
	// Unwrap removes the interpreter's wrapping from a value. nil: values are not wrapped.
	Unwrap func(reflect.Value) reflect.Value
	// Method calls a method `func() string` (String, Error) of a value whose type a cell has declared,
	// because reflect does not see such methods. nil or false: the value has no such method.
	Method func(v reflect.Value, t types.Type, name string) (string, bool)
	// Dynamic tells the type of the value in an interface if that was declared in interpreted code; nil: it
	// was not.
	Dynamic func(v reflect.Value) types.Type
	// Recovered returns the text for a method that has panicked with p. If the panic ends the showing and
	// is not the value's fault, it panics again. nil: p as package fmt writes it.
	Recovered func(p any) string
	// Qualifier names packages in types. nil: the package's name.
	Qualifier types.Qualifier
	// Whole leaves nothing out of large values.
	Whole bool
}

// Format shows v, whose static type is t (nil: the type that reflect reports). A value that can show
// itself (it has a method Text(width int) string, or a drawing) does so. Any other value is written
// as Go would write it, with its type behind it where the text does not show the type.
func (f *Formatter) Format(v reflect.Value, t types.Type) Value {
	if d := f.dynamic(v, t); d != nil {
		t = d
	}
	v = f.unwrap(v)
	if v.IsValid() && v.CanInterface() {
		if own, ok := Own(v.Interface()); ok && !isNil(v) {
			return own
		}
	}
	return &formatted{f: f, v: v, t: t}
}

// recovered returns the text of a panic.
func (f *Formatter) recovered(p any) string {
	if f.Recovered == nil {
		return fmt.Sprint(p)
	}
	return f.Recovered(p)
}

// Own returns the Value of a value that can show itself: v itself if it is a Value, its drawing if it has
// one.
func Own(v any) (Value, bool) {
	switch v := v.(type) {
	case *big.Int: // the argument of its Text is a base
		return nil, false
	case Value:
		return v, true
	case Drawable:
		return Own(v.Drawing())
	}
	return nil, false
}

func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan, reflect.Interface, reflect.UnsafePointer:
		return v.IsNil()
	}
	return false
}

// unwrap follows interfaces and the interpreter's wrappers to the value itself.
func (f *Formatter) unwrap(v reflect.Value) reflect.Value {
	for {
		for v.IsValid() && v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		if f.Unwrap == nil || !v.IsValid() {
			return v
		}
		inner := f.Unwrap(v)
		if inner.IsValid() && inner.Kind() == reflect.Interface {
			v = inner
			continue
		}
		return inner
	}
}

// formatted is a Go value waiting to hear how wide the screen is.
type formatted struct {
	f *Formatter
	v reflect.Value
	t types.Type
}

// Text writes the value and its type.
func (d *formatted) Text(width int) string { return d.StyledText(width, nil) }

// StyledText is Text with the type dimmed.
func (d *formatted) StyledText(width int, style Style) (text string) {
	width = lines.Columns(width)
	// A value may be in the middle of being changed by another goroutine, or have a broken String method.
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprintf("%s: cannot be shown: %s", d.f.typeName(d.v, d.t), d.f.recovered(r))
		}
	}()
	w := d.f.writer()
	if t := w.table(d.v, d.t, width); t != nil {
		return t.StyledText(width, style)
	}
	body := w.value(d.v, d.t, 0)
	text = body.layout(width, 0)
	name := "" // of a compiled function
	if d.v.IsValid() && d.v.Kind() == reflect.Func && !d.v.IsNil() {
		name = compiledName(d.v)
	}
	for _, note := range []string{d.suffix(body), name, w.note} {
		if note == "" {
			continue
		}
		last := text[strings.LastIndexByte(text, '\n')+1:]
		if runewidth.StringWidth(last)+1+runewidth.StringWidth(note) <= width || !strings.Contains(text, "\n") {
			text += " " + style.Paint(Dim, note)
		} else {
			text += "\n" + style.Paint(Dim, note)
		}
	}
	return text
}

// suffix is the type to name after the text, or empty if the text says it.
func (d *formatted) suffix(body doc) string {
	if !d.v.IsValid() || body.typed {
		return ""
	}
	if d.v.CanInterface() && !isNil(d.v) {
		if err, ok := reflect.TypeAssert[error](d.v); ok {
			return errorTypes(err)
		}
	}
	name := d.f.typeName(d.v, d.t)
	switch name {
	case "int", "string", "bool", "error", "untyped nil":
		return ""
	case "[]int", "[]string", "[]bool":
		if d.v.Len() > 0 {
			return ""
		}
	}
	return name
}

// typeName is the type as Go source has it. An interface type tells less than the value in it.
func (f *Formatter) typeName(v reflect.Value, t types.Type) string {
	if t != nil && !types.IsInterface(t) {
		return types.TypeString(types.Default(t), f.qualifier())
	}
	if !v.IsValid() {
		return "nil"
	}
	if v.Type().PkgPath() == "" && v.Kind() == reflect.Struct {
		return "struct" // an interpreted type whose name is lost, or a struct type without a name
	}
	return reflectNames.Replace(v.Type().String())
}

// reflectNames writes types as people do.
var reflectNames = strings.NewReplacer("interface {}", "any", "[]uint8", "[]byte", "main.", "")

// errorTypes names the types of an error and of the errors that it wraps, except types that only carry
// text.
func errorTypes(err error) string {
	var names []string
	for depth := 0; err != nil && depth < 8; depth++ {
		if reflect.TypeOf(err).Kind() == reflect.Pointer && reflect.ValueOf(err).IsNil() {
			break
		}
		name := reflectNames.Replace(reflect.TypeOf(err).String())
		switch name {
		case "*errors.errorString", "*fmt.wrapError", "*fmt.wrapErrors", "*errors.joinError":
		default:
			if !strings.Contains(name, "struct{") { // an interpreted type, whose name reflection does not know
				names = append(names, name)
			}
		}
		err = errors.Unwrap(err)
	}
	return strings.Join(names, " → ")
}

func (f *Formatter) qualifier() types.Qualifier {
	if f.Qualifier != nil {
		return f.Qualifier
	}
	return func(p *types.Package) string { return p.Name() }
}

// Tuple shows several values of one expression: side by side if each fits on a line, otherwise below each
// other.
func Tuple(values []Value) Value {
	if len(values) == 1 {
		return values[0]
	}
	return tuple(values)
}

type tuple []Value

func (t tuple) Text(width int) string { return t.StyledText(width, nil) }

func (t tuple) StyledText(width int, style Style) string {
	width = lines.Columns(width)
	texts := make([]string, len(t))
	separator, total := ", ", 0
	for i, v := range t {
		plain := v.Text(width)
		texts[i] = Styled(v, width, style)
		total += runewidth.StringWidth(plain) + 2
		if strings.Contains(plain, "\n") || total > width {
			separator = "\n"
		}
	}
	return strings.Join(texts, separator)
}

// Styled returns v's styled text if it has one, otherwise its text. Every front end that writes text shows
// values through it. Text in a value may come from a file (a name, a source): it is escaped, so it cannot
// move the cursor or send other sequences.
func Styled(v Value, width int, style Style) string {
	switch s := v.(type) {
	case Styler:
		if style != nil {
			return visible.Styled(s.StyledText(width, style))
		}
	case Drawer:
		if style != nil {
			return visible.Styled(s.Draw(width, style.Spans))
		}
	}
	return visible.Text(v.Text(width))
}

// Render returns v as a finished text, written by [Styled] for this width and style: showing it later
// computes and calls nothing of v.
func Render(v Value, width int, style Style) Value { return rendering(Styled(v, width, style)) }

type rendering string

// Written returns the text of a value that [Render] has made; ok is false for other values.
func Written(v Value) (text string, ok bool) {
	r, ok := v.(rendering)
	return string(r), ok
}

func (r rendering) Text(int) string              { return string(r) }
func (r rendering) StyledText(int, Style) string { return string(r) }

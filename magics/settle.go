package magics

import (
	"fmt"
	"go/ast"
	"reflect"
	"strings"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/notation"
)

// tensorsIn lists the tensors that can be reached from v through exported fields, elements and pointers.
func tensorsIn(v any) []tensor.Tensor {
	var s settler
	s.value(reflect.ValueOf(v), 0)
	return s.found
}

// resultsIn lists the tensors in v, or v itself if it has none and all of it can be compared: a number, a
// text, a slice of them.
func resultsIn(v any) (list []any) {
	for _, t := range tensorsIn(v) {
		list = append(list, t)
	}
	if list == nil && v != nil && plainData(reflect.TypeOf(v)) {
		list = []any{v}
	}
	return list
}

func plainData(t reflect.Type) bool {
	switch kind := t.Kind(); kind {
	case reflect.Slice, reflect.Array:
		return plainData(t.Elem())
	case reflect.Map:
		return plainData(t.Key()) && plainData(t.Elem())
	default:
		return kind == reflect.String || kind >= reflect.Bool && kind <= reflect.Complex128 && kind != reflect.Uintptr
	}
}

type settler struct {
	found   []tensor.Tensor
	private bool // look into fields that are not exported, too, as far as they can be addressed
	seen    map[seenPointer]bool
}

type seenPointer struct {
	at  uintptr
	typ reflect.Type
}

var tensorType = reflect.TypeFor[tensor.Tensor]()

// enginesOwn is in the paths of packages whose structs hold no tensors. Goroutines of a device change what is
// in them at any time.
const enginesOwn = "/engine/internal/"

// maxDepth is how far below a value tensors are looked for: a model's blocks are at most this deep.
const maxDepth = 12

func (s *settler) value(v reflect.Value, depth int) {
	if !v.IsValid() || depth > maxDepth || !mayHoldTensor(v.Type()) {
		return
	}
	if v.Type() == tensorType {
		if t := v.Interface().(tensor.Tensor); !t.IsNone() && !t.Freed() {
			s.found = append(s.found, t)
		}
		return
	}
	switch v.Kind() {
	case reflect.Interface:
		s.value(v.Elem(), depth)
	case reflect.Pointer:
		at := seenPointer{v.Pointer(), v.Type()}
		if v.IsNil() || s.seen[at] {
			return
		}
		if s.seen == nil {
			s.seen = map[seenPointer]bool{}
		}
		s.seen[at] = true
		s.value(v.Elem(), depth+1)
	case reflect.Struct:
		if strings.Contains(v.Type().PkgPath(), enginesOwn) {
			return
		}
		for i := range v.NumField() {
			switch f := v.Field(i); {
			case v.Type().Field(i).IsExported():
				s.value(f, depth+1)
			case s.private && f.CanAddr():
				s.value(reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem(), depth+1)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			s.value(v.Index(i), depth+1)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			s.value(v.MapIndex(key), depth+1)
		}
	}
}

// mayHoldTensor rules out large slices of numbers and the like at once.
func mayHoldTensor(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Pointer, reflect.Map:
		return mayHoldTensor(t.Elem())
	case reflect.Struct, reflect.Interface:
		return true
	}
	return false
}

// settleInputs evaluates the session's variables that a statement mentions, so that the statement is not
// charged for what was left undone before it. A statement that is a variable asks for what was left undone.
func (c *call) settleInputs(code *notation.Statements) error {
	if len(code.List) == 1 {
		if es, ok := code.List[0].(*ast.ExprStmt); ok {
			if _, ok := ast.Unparen(es.X).(*ast.Ident); ok {
				return nil
			}
		}
	}
	mentioned := code.Mentioned()
	for _, v := range c.s.Vars() {
		if v.Kind == "var" && mentioned[v.Name] {
			if err := tensor.Try(func() { tensor.Eval(tensorsIn(v.Value)...) }); err != nil {
				return fmt.Errorf("%s: %w", v.Name, err)
			}
		}
	}
	return nil
}

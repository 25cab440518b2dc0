package magics

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// settle evaluates all tensors that can be reached from v through exported fields, elements and pointers,
// together, so that they share what they have in common. It says whether there were any.
func settle(v any) (found bool, err error) {
	list := tensorsIn(v)
	if len(list) == 0 {
		return false, nil
	}
	return true, tensor.Try(func() { tensor.Eval(list...) })
}

// spend computes what settle would evaluate, and gives the memory back: the tensors stay as lazy as they
// were, for others that may have them.
func spend(v any) error {
	list := slices.DeleteFunc(tensorsIn(v), tensor.Tensor.Evaluated)
	return tensor.Try(func() {
		for i, t := range list {
			list[i] = t.Detach()
		}
		tensor.Eval(list...)
		tensor.Free(list...)
	})
}

func tensorsIn(v any) []tensor.Tensor {
	s := settler{seen: map[seenPointer]bool{}}
	s.value(reflect.ValueOf(v), 0)
	return s.found
}

type settler struct {
	found []tensor.Tensor
	seen  map[seenPointer]bool
}

type seenPointer struct {
	at  uintptr
	typ reflect.Type
}

var tensorType = reflect.TypeFor[tensor.Tensor]()

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
		s.seen[at] = true
		s.value(v.Elem(), depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				s.value(v.Field(i), depth+1)
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
// charged for what was left undone before it.
func (c *call) settleInputs(source string) error {
	f, err := parser.ParseFile(token.NewFileSet(), "", statementsBefore+source+"\n}", parser.SkipObjectResolution)
	if err != nil {
		return nil // the compiler has said what is wrong, or will
	}
	mentioned := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if ident, ok := n.(*ast.Ident); ok {
			mentioned[ident.Name] = true
		}
		return true
	})
	for _, v := range c.s.Vars() {
		if v.Kind == "var" && mentioned[v.Name] {
			if _, err := settle(v.Value); err != nil {
				return fmt.Errorf("%s: %w", v.Name, err)
			}
		}
	}
	return nil
}

// once runs the work and evaluates what it made.
func (w *work) once(ctx context.Context) (v any, lazy bool, err error) {
	err = w.stmt.Each(ctx, 1, func(made any) error {
		v = made
		lazy, err = settleResult(made)
		return err
	})
	return v, lazy, err
}

// repeat runs the work n times. Lazy work is computed each time; other work runs in one loop of the
// interpreter.
func (w *work) repeat(ctx context.Context, lazy bool) func(n int) error {
	return func(n int) error {
		if !lazy {
			_, err := w.stmt.Run(ctx, n)
			return err
		}
		return w.stmt.Each(ctx, n, func(made any) error {
			if err := failure(made); err != nil {
				return err
			}
			return spend(made)
		})
	}
}

// settleResult evaluates what work made.
func settleResult(made any) (lazy bool, err error) {
	if err := failure(made); err != nil {
		return false, err
	}
	return settle(made)
}

// failure is the error that the last of several results may be.
func failure(made any) error {
	if list, ok := made.(results); ok && len(list) > 0 {
		if err, ok := list[len(list)-1].(error); ok {
			return err
		}
	}
	return nil
}

// results are the values of work that has several.
type results = []any

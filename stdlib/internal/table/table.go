// Package table is the shape of the generated symbol tables.
package table

import "reflect"

// A Package is one package that a cell can import. Symbols builds its table: exported name to value, in the
// form that the interpreter wants. A function is its value, a variable an addressable one, a constant a
// constant.Value when it is untyped, a type T a nil *T, and "_T" a nil pointer to a struct that lets an
// interpreted type stand for the interface T.
type Package struct {
	Path, Name string
	Symbols    func() map[string]reflect.Value
}

// Package reflect is the generic part of the standard package reflect.
package reflect

import "reflect"

// TypeFor returns the type T.
func TypeFor[T any]() reflect.Type { return reflect.TypeOf((*T)(nil)).Elem() }

// TypeAssert returns v's value as a T.
func TypeAssert[T any](v reflect.Value) (T, bool) {
	t, ok := v.Interface().(T)
	return t, ok
}

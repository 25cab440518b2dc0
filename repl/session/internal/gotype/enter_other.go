//go:build !amd64 && !arm64

package gotype

import (
	"errors"
	"reflect"
	"unsafe"
)

func enter(reflect.Value) (unsafe.Pointer, error) {
	return nil, errors.New("methods of types that cells declare need an amd64 or arm64 processor")
}

// Package errors is the generic part of the standard package errors.
package errors

import "errors"

// AsType finds the first error of type E in err's tree.
func AsType[E error](err error) (E, bool) {
	var target E
	if err == nil {
		return target, false
	}
	ok := errors.As(err, &target)
	return target, ok
}

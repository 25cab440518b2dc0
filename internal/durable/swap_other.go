//go:build !linux && !darwin

package durable

import "errors"

// swap is not there: two renames take its place.
func swap(a, b string) error { return errors.ErrUnsupported }

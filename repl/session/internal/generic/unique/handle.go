// Package unique is the generic part of the standard package unique: handles are equal if their values
// are. Equal values do not share memory. The field of a handle is exported, because its method is checked
// as code of another package.
package unique

// A Handle is a globally unique identity for a value.
type Handle[T comparable] struct {
	Held T
}

// Make returns the handle of a value.
func Make[T comparable](value T) Handle[T] { return Handle[T]{value} }

// Value returns a copy of the value that made the handle.
func (h Handle[T]) Value() T { return h.Held }

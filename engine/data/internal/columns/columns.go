// Package columns is what the readers of tables by columns, Parquet's and Arrow's, have in common: the values
// of a row, and how compressed bytes become plain ones.
package columns

import "fmt"

// A Field is a part of an Object.
type Field struct {
	Name  string
	Value any
}

// An Object is the value of a struct or a map, its fields in the file's order.
type Object []Field

// JSON is a text that the file says to be a value in JSON.
type JSON string

// Limits of what a file may hold.
const (
	MaxItems   = 1 << 20 // items of the lists of a row
	MaxNesting = 32      // structs and lists in each other
	MaxFields  = 1 << 16 // fields of a schema

	// MostDeflated bounds what a byte of a compressed block can hold. A small block may hold SmallBlock in
	// any case.
	MostDeflated = 1032
	SmallBlock   = 64 << 10
	// RowsOfByte bounds the rows that a file may claim for each of its bytes: equal values take no space, so
	// nothing else does.
	RowsOfByte = 256
	// SomeText is how many bytes of text a file of any size may hold: equal texts take no space.
	SomeText = 64 << 20
)

// Missing is the error of a file that has none of the columns that are wanted.
type Missing struct {
	Have, Want []string
}

func (m *Missing) Error() string {
	return fmt.Sprintf("got the columns %.40q, want one of %q", m.Have[:min(len(m.Have), 10)], m.Want)
}

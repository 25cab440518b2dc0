// Package columns is what the readers of tables by columns, Parquet's and Arrow's, have in common: the values
// of a row, and how compressed bytes become plain ones.
package columns

import (
	"fmt"
	"math"
	"time"
)

// A Field is a part of an Object.
type Field struct {
	Name  string
	Value any
}

// An Object is the value of a struct or a map, its fields in the file's order.
type Object []Field

// Map makes an object of a map's entries, each an object of a key and a value.
func Map(entries []any) (any, error) {
	object := Object{}
	for _, item := range entries {
		pair, _ := item.(Object)
		if len(pair) != 2 {
			pair = make(Object, 2)
		}
		name, ok := pair[0].Value.(string)
		if !ok {
			return nil, fmt.Errorf("a map has the key %v, want a text", pair[0].Value)
		}
		object = append(object, Field{name, pair[1].Value})
	}
	return object, nil
}

// JSON is a text that the file says to be a value in JSON.
type JSON string

// A Written is a column as the writers of files take it.
type Written struct {
	Name    string
	Values  any  // []bool, []int64, []uint64, []float64 or []string
	Time    bool // integers are nanoseconds since 1970
	Single  bool // floats are f32
	Missing []bool
}

// Lacks says whether value i is missing.
func (w *Written) Lacks(i int) bool { return w.Missing != nil && w.Missing[i] }

// Limits of the values that writers put together.
const (
	writtenRows = 1 << 17
	writtenText = 64 << 20
)

// Together is how many rows from a row on are written as one group.
func Together(list []Written, from, rows int) (n int) {
	for text := 0; from+n < rows && n < writtenRows && text < writtenText; n++ {
		for i := range list {
			if v, ok := list[i].Values.([]string); ok {
				text += len(v[from+n])
			}
		}
	}
	return n
}

// Time is nanoseconds since 1970, in UTC.
type Time int64

// At is a number of units of so many nanoseconds since 1970.
func At(n, unit int64) (Time, error) {
	if n > math.MaxInt64/unit || n < math.MinInt64/unit {
		return 0, fmt.Errorf("got the time %d in units of %d ns, want one from 1678 to 2261", n, unit)
	}
	return Time(n * unit), nil
}

// String is the time as RFC 3339 has it.
func (t Time) String() string { return time.Unix(0, int64(t)).UTC().Format(time.RFC3339Nano) }

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

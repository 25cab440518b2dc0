package data

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/mcs-notebook/mcs/engine/data/internal/columns"
	"github.com/mcs-notebook/mcs/engine/dtype"
)

// A column has its values one after the other. Where one is missing the zero value stands, and no column has
// a NaN: that is a missing value.
type column struct {
	name    string
	dtype   dtype.Type // of its tensor; Invalid: texts and times have none
	values  values
	missing []bool // nil: none
}

// values are a vector of some type.
type values interface {
	kind() string
	len() int
	take(rows []int) values // −1: the zero value
	cut(from, to int) values
	join(more values) values // of the same type
	compare(i, j int) int
	order(i int) uint64          // greater values have greater numbers, or equal ones
	codes() (codes []int, n int) // equal values have equal numbers below n
	distinct(rows []int, missing []bool) int
	value(i int) any
	all() any           // their slice
	widest() dtype.Type // the dtype that has all of the kind; Invalid: there is none
	growing() growing
	text(i int) string
	float(i int) float64 // of a number
	number() bool
}

// A vector is values of a type, of which k knows the rest.
type vector[T comparable] struct {
	v []T
	k *kind[T]
}

// A growing is values to which others are added, as plain gives them: those of a level that has them, too.
type growing interface {
	add(x any)
	values() values
}

type grower[T comparable] struct{ vector[T] }

func (g *grower[T]) add(x any)      { g.v = append(g.v, g.k.of(x)) }
func (g *grower[T]) values() values { return g.vector }

// A kind is a row of the table of kinds: all that a table knows of a type.
type kind[T comparable] struct {
	name    string
	dtype   dtype.Type // Invalid: it has no tensors
	of      func(x any) T
	compare func(a, b T) int
	order   func(T) uint64
	text    func(T) string
	parse   func([]byte) (T, bool) // a value in a file
	float   func(T) float64        // nil: it is no number
	value   func(T) any            // as Go has it; nil: as it is
}

var (
	bools  = &kind[bool]{name: "bool", dtype: dtype.Bool, of: as[bool], compare: compareBools, order: func(b bool) uint64 { return uint64(floatOfBool(b)) }, text: strconv.FormatBool, parse: parseBool, float: floatOfBool}
	ints   = &kind[int64]{name: "i64", dtype: dtype.I64, of: as[int64], compare: cmp.Compare[int64], order: orderOfInt, text: func(x int64) string { return strconv.FormatInt(x, 10) }, parse: parseInt, float: func(x int64) float64 { return float64(x) }}
	words  = &kind[uint64]{name: "u64", dtype: dtype.U64, of: wordOf, compare: cmp.Compare[uint64], order: func(x uint64) uint64 { return x }, text: func(x uint64) string { return strconv.FormatUint(x, 10) }, parse: parseWord, float: func(x uint64) float64 { return float64(x) }}
	floats = &kind[float64]{name: "f64", dtype: dtype.F64, of: floatOf, compare: cmp.Compare[float64], order: orderOfFloat, text: textOfFloat, parse: parseFloat, float: func(x float64) float64 { return x }}
	texts  = &kind[string]{name: "text", of: textOf, compare: cmp.Compare[string], order: orderOfText, text: func(s string) string { return s }}
	// times are nanoseconds since 1970 in UTC.
	times = &kind[int64]{name: "time", of: func(x any) int64 { return int64(as[columns.Time](x)) }, compare: cmp.Compare[int64], order: orderOfInt, text: textOfTime, parse: parseTime, value: func(x int64) any { return time.Unix(0, x).UTC() }}
)

// kindOf are the kinds of levels as they are kept.
var kindOf = map[level]interface {
	zeros(n int) values
	cells(rows int) cells
	join(parts []*part, i, n int, dt dtype.Type) column
}{unknown: floats, boolLevel: bools, intLevel: ints, wordLevel: words, floatLevel: floats, timeLevel: times, textLevel: texts}

func (k *kind[T]) zeros(n int) values { return vector[T]{make([]T, n), k} }

// as is a value of that type, or the zero value for one that is missing.
func as[T any](x any) T {
	v, _ := x.(T)
	return v
}

func wordOf(x any) uint64 {
	if i, ok := x.(int64); ok {
		return uint64(i)
	}
	return as[uint64](x)
}

func floatOf(x any) float64 {
	switch v := x.(type) {
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case digits:
		f, _ := parseFloat([]byte(v))
		return f
	}
	return as[float64](x)
}

func textOf(x any) string {
	switch v := x.(type) {
	case float64:
		return textOfFloat(v)
	case columns.Time:
		return textOfTime(int64(v))
	case nil:
		return ""
	}
	return fmt.Sprint(x)
}

func compareBools(a, b bool) int { return cmp.Compare(floatOfBool(a), floatOfBool(b)) }

func floatOfBool(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func orderOfInt(x int64) uint64 { return uint64(x) ^ 1<<63 }

// orderOfFloat has the bits of x in the order of floats; −0 is 0.
func orderOfFloat(x float64) uint64 {
	b := math.Float64bits(x + 0)
	if b>>63 > 0 {
		return ^b
	}
	return b | 1<<63
}

// orderOfText is its first seven bytes, and its length up to eight: two below eight are equal only if the
// texts are.
func orderOfText(s string) (n uint64) {
	for i := range min(len(s), 7) {
		n |= uint64(s[i]) << (56 - 8*i)
	}
	return n | uint64(min(len(s), 8))
}

func textOfFloat(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// textOfTime is a day, or a day and a time of it, as parseTime reads them.
func textOfTime(x int64) string {
	t := time.Unix(0, x).UTC()
	if x%int64(24*time.Hour) == 0 {
		return t.Format(time.DateOnly)
	}
	return t.Format("2006-01-02 15:04:05.999999999")
}

func (v vector[T]) kind() string         { return v.k.name }
func (v vector[T]) len() int             { return len(v.v) }
func (v vector[T]) compare(i, j int) int { return v.k.compare(v.v[i], v.v[j]) }
func (v vector[T]) order(i int) uint64   { return v.k.order(v.v[i]) }
func (v vector[T]) text(i int) string    { return v.k.text(v.v[i]) }
func (v vector[T]) number() bool         { return v.k.float != nil }
func (v vector[T]) float(i int) float64  { return v.k.float(v.v[i]) }
func (v vector[T]) all() any             { return v.v }
func (v vector[T]) widest() dtype.Type   { return v.k.dtype }
func (v vector[T]) growing() growing     { return &grower[T]{v} }

func (v vector[T]) value(i int) any {
	if v.k.value != nil {
		return v.k.value(v.v[i])
	}
	return v.v[i]
}

func (v vector[T]) take(rows []int) values {
	list := make([]T, len(rows))
	for i, r := range rows {
		if r >= 0 {
			list[i] = v.v[r]
		}
	}
	return vector[T]{list, v.k}
}

func (v vector[T]) cut(from, to int) values { return vector[T]{v.v[from:to:to], v.k} }

func (v vector[T]) join(more values) values {
	return vector[T]{slices.Concat(v.v, more.(vector[T]).v), v.k}
}

func (v vector[T]) codes() (codes []int, n int) {
	codes, seen := make([]int, len(v.v)), map[T]int{}
	for i, x := range v.v {
		code, ok := seen[x]
		if !ok {
			code = len(seen)
			seen[x] = code
		}
		codes[i] = code
	}
	return codes, len(seen)
}

// distinct is how many different values stand in these rows; those that are missing do not count.
func (v vector[T]) distinct(rows []int, missing []bool) int {
	seen := map[T]struct{}{}
	for _, i := range rows {
		if missing == nil || !missing[i] {
			seen[v.v[i]] = struct{}{}
		}
	}
	return len(seen)
}

// newColumn makes a column of a slice that is a vector as it is: NaN is missing.
func newColumn(name string, list any) (column, bool) {
	c := column{name: name}
	switch v := list.(type) {
	case []bool:
		c.dtype, c.values = dtype.Bool, vector[bool]{slices.Clone(v), bools}
	case []int64:
		c.dtype, c.values = dtype.I64, vector[int64]{slices.Clone(v), ints}
	case []int:
		c.dtype, c.values = dtype.I64, vector[int64]{converted[int, int64](v), ints}
	case []uint64:
		c.dtype, c.values = dtype.U64, vector[uint64]{slices.Clone(v), words}
	case []float32:
		c.dtype, c.values = dtype.F32, vector[float64]{converted[float32, float64](v), floats}
	case []float64:
		c.dtype, c.values = dtype.F64, vector[float64]{slices.Clone(v), floats}
	case []string:
		c.values = vector[string]{slices.Clone(v), texts}
	default:
		return c, false
	}
	c.loseNaN()
	return c, true
}

func converted[From, To int | int64 | uint64 | float32 | float64](v []From) []To {
	list := make([]To, len(v))
	for i, x := range v {
		list[i] = To(x)
	}
	return list
}

func (c *column) len() int { return c.values.len() }

func (c *column) lacks(i int) bool { return c.missing != nil && c.missing[i] }

// lose says that value i of n is missing.
func (c *column) lose(i, n int) {
	if c.missing == nil {
		c.missing = make([]bool, n)
	}
	c.missing[i] = true
}

func (c *column) loseNaN() {
	if v, ok := c.values.(vector[float64]); ok {
		for i, x := range v.v {
			if math.IsNaN(x) {
				c.lose(i, len(v.v))
				v.v[i] = 0
			}
		}
	}
}

func (c *column) lacking() (n int) {
	for _, m := range c.missing {
		if m {
			n++
		}
	}
	return n
}

// typed names the type: that of the tensor, "text" or "time".
func (c *column) typed() string {
	if c.dtype != dtype.Invalid {
		return c.dtype.String()
	}
	return c.values.kind()
}

// take is the column of these rows; −1 is a missing value.
func (c *column) take(rows []int) column {
	part := column{name: c.name, dtype: c.dtype, values: c.values.take(rows)}
	for i, r := range rows {
		if r < 0 || c.lacks(r) {
			part.lose(i, len(rows))
		}
	}
	return part
}

func (c *column) cut(from, to int) column {
	part := column{name: c.name, dtype: c.dtype, values: c.values.cut(from, to)}
	if c.missing != nil && slices.Contains(c.missing[from:to], true) {
		part.missing = c.missing[from:to:to]
	}
	return part
}

// compare is by value; missing ones are behind all others.
func (c *column) compare(i, j int) int {
	if c.missing != nil && (c.missing[i] || c.missing[j]) {
		return compareBools(c.missing[i], c.missing[j])
	}
	return c.values.compare(i, j)
}

// text is value i as a file of texts has it; "" if it is missing.
func (c *column) text(i int) string {
	if c.lacks(i) {
		return ""
	}
	if c.dtype.Float() && c.dtype != dtype.F64 { // the digits that tell it from other numbers of its type
		return strconv.FormatFloat(c.values.float(i), 'g', -1, 32)
	}
	return c.values.text(i)
}

// value is value i as Go has it: bool, int64, uint64, float64, string or time.Time; nil if it is missing.
func (c *column) value(i int) any {
	if c.lacks(i) {
		return nil
	}
	return c.values.value(i)
}

// float is value i of numbers; NaN if it is missing.
func (c *column) float(i int) float64 {
	if c.lacks(i) {
		return math.NaN()
	}
	return c.values.float(i)
}

// joined is c with the values of other below its own. Integers of two types become one that has both, texts
// if none has, other numbers of two types f64, and all else of two types texts.
func (c *column) joined(other *column) column {
	a, b := *c, *other
	if a.values.kind() != b.values.kind() {
		a, b = widened(a, b)
	} else if a.dtype != b.dtype {
		a.dtype = a.values.widest()
	}
	if a.missing != nil || b.missing != nil {
		n := a.len()
		a.missing = append(slices.Grow(slices.Clone(a.missing), n+b.len()), make([]bool, n-len(a.missing))...)
		a.missing = append(a.missing, b.missing...)
		a.missing = append(a.missing, make([]bool, n+b.len()-len(a.missing))...)
	}
	a.values = a.values.join(b.values)
	return a
}

// widened are two columns of one kind, which has the values of both.
func widened(a, b column) (column, column) {
	to := (*column).toTexts
	switch {
	case a.lacking() == a.len():
		a.values, a.dtype = b.values.take(slices.Repeat([]int{-1}, a.len())), b.dtype
		return a, b
	case b.lacking() == b.len():
		b.values, b.dtype = a.values.take(slices.Repeat([]int{-1}, b.len())), a.dtype
		return a, b
	case a.quantity() && b.quantity():
		switch level := a.level().or(b.level()); level.kept() {
		case wordLevel:
			to = (*column).toWords
		case floatLevel:
			to = (*column).toFloats
		}
	}
	to(&a)
	to(&b)
	return a, b
}

// quantity says whether there are numbers, and no bools.
func (c *column) quantity() bool { return c.values.number() && c.values.kind() != "bool" }

// toFloats makes floats of numbers, or of texts that are such.
func (c *column) toFloats() {
	list := make([]float64, c.len())
	for i := range list {
		if c.values.number() {
			list[i] = c.values.float(i)
		} else if !c.lacks(i) {
			list[i], _ = parseFloat([]byte(c.text(i)))
		}
	}
	c.dtype, c.values = dtype.F64, vector[float64]{list, floats}
}

// level is that of a column of numbers.
func (c *column) level() level {
	switch v := c.values.(type) {
	case vector[int64]:
		return levelOfInts(v.v)
	case vector[uint64]:
		return wordLevel
	}
	return floatLevel
}

// toWords makes integers from 0 on those of u64.
func (c *column) toWords() {
	if v, ok := c.values.(vector[int64]); ok {
		c.values = vector[uint64]{converted[int64, uint64](v.v), words}
	}
	c.dtype = dtype.U64
}

func (c *column) toTexts() {
	list := make([]string, c.len())
	for i := range list {
		list[i] = c.text(i)
	}
	c.dtype, c.values = dtype.Invalid, vector[string]{list, texts}
}

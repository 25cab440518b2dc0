package data

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/mcs-notebook/mcs/engine/data/internal/columns"
	"github.com/mcs-notebook/mcs/engine/dtype"
)

// A builder makes a column of values that come one by one, of any types, as levels have them: integers beside
// floats are f64, other types beside each other text.
type builder struct {
	level   level
	n       int
	missing []bool
	bools   []bool
	ints    []int64 // times, too
	words   []uint64
	floats  []float64
	texts   []string
}

// builderOf is one of values of a Go type, which has the column also if all are missing.
func builderOf(t reflect.Type) *builder {
	b := &builder{}
	switch v := reflect.Zero(t); {
	case t == reflect.TypeFor[time.Time]():
		b.level = timeLevel
	case v.CanInt():
		b.level = naturalLevel
	case v.CanUint():
		b.level = wordLevel
	case v.CanFloat():
		b.level = floatLevel
	case v.Kind() == reflect.Bool:
		b.level = boolLevel
	case v.Kind() == reflect.String:
		b.level = textLevel
	}
	return b
}

// digits are an integer beyond those of 64 bits.
type digits string

// plain is a Go value as builders take it: nil, bool, int64, uint64, float64, string or columns.Time. Types
// of one's own are those below them. NaN and the zero time are missing.
func plain(x any) (any, error) {
	switch v := x.(type) {
	case nil, bool, int64, uint64, string:
		return x, nil
	case columns.Time:
		return x, nil
	case time.Time:
		if v.IsZero() {
			return nil, nil
		}
		if year := v.UTC().Year(); year < minYear || year > maxYear {
			return nil, fmt.Errorf("got the time %s, want one from %d to %d, as nanoseconds in 64 bits have", v.Format(time.RFC3339), minYear, maxYear)
		}
		return columns.Time(v.UnixNano()), nil
	}
	switch v := reflect.ValueOf(x); {
	case v.CanInt():
		return v.Int(), nil
	case v.CanUint():
		return v.Uint(), nil
	case v.CanFloat():
		if math.IsNaN(v.Float()) {
			return nil, nil
		}
		return v.Float(), nil
	case v.Kind() == reflect.Bool:
		return v.Bool(), nil
	case v.Kind() == reflect.String:
		return v.String(), nil
	}
	return nil, fmt.Errorf("got a value of type %T, want a bool, a number, a text, a time.Time or nil", x)
}

func (b *builder) add(x any) {
	switch v := x.(type) {
	case nil:
		b.missing = append(append(b.missing, make([]bool, b.n-len(b.missing))...), true)
		b.zero()
	case bool:
		if b.to(boolLevel) {
			b.bools = append(b.bools, v)
		} else {
			b.text(bools.text(v))
		}
	case int64:
		switch b.to(levelOfInt(v)); b.level.kept() {
		case intLevel:
			b.ints = append(b.ints, v)
		case wordLevel:
			b.words = append(b.words, uint64(v))
		case floatLevel:
			b.floats = append(b.floats, float64(v))
		default:
			b.text(ints.text(v))
		}
	case uint64:
		switch b.to(wordLevel); b.level {
		case wordLevel:
			b.words = append(b.words, v)
		case floatLevel:
			b.floats = append(b.floats, float64(v))
		default:
			b.text(words.text(v))
		}
	case digits:
		if b.to(digitsLevel); b.level == floatLevel {
			x, _ := parseFloat([]byte(v))
			b.floats = append(b.floats, x)
		} else {
			b.text(string(v))
		}
	case float64:
		if b.to(floatLevel) {
			b.floats = append(b.floats, v)
		} else {
			b.text(floats.text(v))
		}
	case columns.Time:
		if b.to(timeLevel) {
			b.ints = append(b.ints, int64(v))
		} else {
			b.text(times.text(int64(v)))
		}
	case string:
		b.to(textLevel)
		b.text(v)
	}
	b.n++
}

func (b *builder) text(s string) { b.texts = append(b.texts, s) }

// zero stands for a missing value.
func (b *builder) zero() {
	switch b.level.kept() {
	case boolLevel:
		b.bools = append(b.bools, false)
	case intLevel, timeLevel:
		b.ints = append(b.ints, 0)
	case wordLevel:
		b.words = append(b.words, 0)
	case floatLevel:
		b.floats = append(b.floats, 0)
	case textLevel:
		b.text("")
	}
}

// to makes room for a value of a level, and says whether it is that of the column.
func (b *builder) to(l level) bool {
	if l == b.level {
		return true
	}
	to := b.level.or(l)
	if to == b.level {
		return false
	}
	c, from := b.column(""), b.level.kept()
	b.level = to
	switch {
	case from == unknown:
		for range b.n {
			b.zero()
		}
	case from == to.kept():
	case to == wordLevel:
		b.words = converted[int64, uint64](b.ints)
	case to == floatLevel:
		c.toFloats()
		b.floats = c.values.(vector[float64]).v
	default:
		c.toTexts()
		b.texts = c.values.(vector[string]).v
	}
	return to == l
}

func (b *builder) column(name string) column {
	c := column{name: name, missing: b.missing}
	if c.missing != nil {
		c.missing = append(slices.Clip(c.missing), make([]bool, b.n-len(c.missing))...)
	}
	switch b.level.kept() {
	case unknown:
		c.dtype, c.values = dtype.F64, vector[float64]{make([]float64, b.n), floats}
	case boolLevel:
		c.dtype, c.values = dtype.Bool, vector[bool]{b.bools, bools}
	case intLevel:
		c.dtype, c.values = dtype.I64, vector[int64]{b.ints, ints}
	case wordLevel:
		c.dtype, c.values = dtype.U64, vector[uint64]{b.words, words}
	case floatLevel:
		c.dtype, c.values = dtype.F64, vector[float64]{b.floats, floats}
	case timeLevel:
		c.values = vector[int64]{b.ints, times}
	case textLevel:
		c.values = vector[string]{b.texts, texts}
	}
	return c
}

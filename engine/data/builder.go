package data

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/mcs-notebook/mcs/engine/data/internal/columns"
)

// A builder makes a column of values that come one by one, of any types, as levels have them: integers beside
// floats are f64, other types beside each other text.
type builder struct {
	level   level
	n       int
	missing []bool
	list    growing // nil: all are missing
}

// builderOf is one of values of a Go type, which has the column also if all are missing.
func builderOf(t reflect.Type) *builder {
	b := &builder{}
	switch v := reflect.Zero(t); {
	case t == reflect.TypeFor[time.Time]():
		b.to(timeLevel)
	case v.CanInt():
		b.to(naturalLevel)
	case v.CanUint():
		b.to(wordLevel)
	case v.CanFloat():
		b.to(floatLevel)
	case v.Kind() == reflect.Bool:
		b.to(boolLevel)
	case v.Kind() == reflect.String:
		b.to(textLevel)
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

// levelOfValue is that of a value as plain gives it.
func levelOfValue(x any) level {
	switch v := x.(type) {
	case bool:
		return boolLevel
	case int64:
		return levelOfInt(v)
	case uint64:
		return wordLevel
	case digits:
		return digitsLevel
	case float64:
		return floatLevel
	case columns.Time:
		return timeLevel
	case string:
		return textLevel
	}
	return unknown
}

func (b *builder) add(x any) {
	if x == nil {
		b.missing = append(append(b.missing, make([]bool, b.n-len(b.missing))...), true)
	}
	b.to(b.level.or(levelOfValue(x)))
	if b.n++; b.list != nil {
		b.list.add(x)
	}
}

// to makes room for values of a level, which has those that there are.
func (b *builder) to(l level) {
	from := b.level.kept()
	if b.level = l; l.kept() == from {
		return
	}
	c := b.column("")
	switch {
	case from == unknown:
		c.values = kindOf[l.kept()].zeros(b.n)
	case l == wordLevel:
		c.toWords()
	case l == floatLevel:
		c.toFloats()
	default:
		c.toTexts()
	}
	b.list = c.values.growing()
}

func (b *builder) column(name string) column {
	c := column{name: name, missing: b.missing}
	if c.missing != nil {
		c.missing = append(slices.Clip(c.missing), make([]bool, b.n-len(c.missing))...)
	}
	if b.list == nil {
		c.values = floats.zeros(b.n)
	} else {
		c.values = b.list.values()
	}
	c.dtype = c.values.widest()
	return c
}

package data

import (
	"math"
	"slices"
	"time"

	"github.com/mcs-notebook/mcs/engine/data/internal/columns"
	"github.com/mcs-notebook/mcs/engine/dtype"
)

// A builder makes a column of values that come one by one, of any types: integers beside floats are f64,
// other types beside each other text.
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

// plain is a Go value as builders take it: nil, bool, int64, uint64, float64, string or columns.Time.
func plain(x any) (any, bool) {
	switch v := x.(type) {
	case nil, bool, int64, uint64, string:
	case columns.Time:
	case int:
		return int64(v), true
	case int32:
		return int64(v), true
	case float32:
		return plain(float64(v))
	case float64:
		if math.IsNaN(v) {
			return nil, true
		}
	case time.Time:
		if v.Year() < minYear || v.Year() > maxYear {
			return nil, true
		}
		return columns.Time(v.UnixNano()), true
	default:
		return nil, false
	}
	return x, true
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
		switch {
		case b.to(intLevel):
			b.ints = append(b.ints, v)
		case b.level == floatLevel:
			b.floats = append(b.floats, float64(v))
		default:
			b.text(ints.text(v))
		}
	case uint64:
		if b.to(wordLevel) {
			b.words = append(b.words, v)
		} else {
			b.text(words.text(v))
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
	switch b.level {
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
	if c := b.column(""); b.level == unknown {
		b.level = to
		for range b.n {
			b.zero()
		}
	} else if b.level = to; to == floatLevel {
		c.toFloats()
		b.floats, b.ints = c.values.(vector[float64]).v, nil
	} else {
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
	switch b.level {
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

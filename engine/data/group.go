package data

import (
	"fmt"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// keyed numbers rows by their values in some columns: rows that are equal in all of them have equal numbers
// below n, in the order in which they come first. Missing values are equal to each other.
func keyed(columns []*column, rows int) (ids []int, n int) {
	ids, n = make([]int, rows), min(rows, 1)
	for k, c := range columns {
		codes, m := c.values.codes()
		if c.missing != nil {
			for i, missing := range c.missing {
				if missing {
					codes[i] = m
				}
			}
		}
		if k == 0 && c.missing == nil {
			ids, n = codes, m
			continue
		}
		seen := map[[2]int]int{}
		for i, code := range codes {
			key := [2]int{ids[i], code}
			id, ok := seen[key]
			if !ok {
				id = len(seen)
				seen[key] = id
			}
			ids[i] = id
		}
		n = len(seen)
	}
	return ids, n
}

// Unique returns the first row of those that are equal in these columns; without names in all.
func (t *Table) Unique(names ...string) *Table {
	ids, n := keyed(t.chosen(names), t.rows)
	return t.pick(firsts(ids, n))
}

// Groups are the rows of a table, put together by the values of some columns.
type Groups struct {
	t     *Table
	names []string
	order []int // rows, group by group
	ends  []int // of the groups in order
}

// Group puts rows together that are equal in these columns; without names it is one group, also of no rows.
// Missing values are a group of their own. Groups come in the order of their values.
func (t *Table) Group(names ...string) *Groups {
	g := &Groups{t: t, names: names}
	if len(names) == 0 {
		g.order, g.ends = t.all(), []int{t.rows}
		return g
	}
	ids, first := numbered(t.chosen(names), t.rows)
	g.order, g.ends = gathered(ids, len(first))
	return g
}

// numbered are the ids of keyed in the order of the values, and the first row with each of them.
func numbered(columns []*column, rows int) (ids, first []int) {
	ids, n := keyed(columns, rows)
	first = firsts(ids, n)
	keys := make([]sortKey, len(columns))
	for i, c := range columns {
		values := c.take(first)
		keys[i].column = &values
	}
	order, rank := sorted(keys, n), make([]int, n)
	for k, id := range order {
		rank[id], order[k] = k, first[id]
	}
	for i, id := range ids {
		ids[i] = rank[id]
	}
	return ids, order
}

// gathered are the rows by their numbers below n, and where those of each end.
func gathered(ids []int, n int) (order, ends []int) {
	ends = make([]int, n+1)
	for _, id := range ids {
		ends[id+1]++
	}
	for k := range n {
		ends[k+1] += ends[k]
	}
	order = make([]int, len(ids))
	for i, id := range ids { // ends[id] is where the next row of the group goes
		order[ends[id]] = i
		ends[id]++
	}
	return order, ends[:n]
}

// Len is the number of groups.
func (g *Groups) Len() int { return len(g.ends) }

// rows are those of group k.
func (g *Groups) rows(k int) []int {
	if k == 0 {
		return g.order[:g.ends[0]]
	}
	return g.order[g.ends[k-1]:g.ends[k]]
}

// Rows is the table of the rows of group k.
func (g *Groups) Rows(k int) *Table {
	if k < 0 || k >= g.Len() {
		g.t.fail("got group %d of %d", k, g.Len())
	}
	return g.t.pick(g.rows(k))
}

// Agg returns a row for each group: its values, and what the aggregates make of its rows.
//
//	t.Group("class").Agg(data.Count(), data.Mean("fare"), data.Max("age").As("oldest"))
func (g *Groups) Agg(list ...Aggregate) *Table {
	first := make([]int, g.Len())
	for k := range first {
		if rows := g.rows(k); len(rows) > 0 { // a group of no rows has no names
			first[k] = rows[0]
		}
	}
	t := g.t.Select(g.names...).pick(first)
	made := make([]column, len(list))
	for i, a := range list {
		if a.column != "" {
			if c := g.t.column(a.column); a.numbers != nil && !c.values.number() {
				g.t.fail("%scolumn %q is %s, want numbers for %s", g.t.prefix(), a.column, c.typed(), a.name)
			}
		}
		if t.at(a.name) >= 0 || slices.ContainsFunc(list[:i], func(b Aggregate) bool { return b.name == a.name }) {
			g.t.fail("two columns have the name %q: data.Mean(…).As(name) gives another one", a.name)
		}
	}
	spread(len(list), func(i int) {
		if !list[i].own {
			made[i] = list[i].of(g)
		}
	})
	for i, a := range list {
		if a.own {
			made[i] = a.of(g)
		}
	}
	t.columns = append(t.columns, made...)
	return t
}

// String says what there is.
func (g *Groups) String() string { return g.Agg(Count()).String() }

// Text is the number of rows of each group.
func (g *Groups) Text(width int) string { return g.Agg(Count()).Text(width) }

// Agg returns one row: what the aggregates make of all rows, also of none.
func (t *Table) Agg(list ...Aggregate) *Table { return t.Group().Agg(list...) }

// An Aggregate makes one value of the rows of a group. Missing values do not count; where none is left the
// value is missing, too.
type Aggregate struct {
	name, column string
	numbers      func(v []float64) float64                 // of numbers; v may be changed
	own          bool                                      // numbers is the caller's, and runs on its goroutine
	pick         func(c *column, rows []int) int           // a row whose value it is
	count        func(c *column, rows []int) int64         // c is nil if there is no column
	whole        func(c *column, rows []int) (int64, bool) // of integers, in place of numbers
}

// As returns the aggregate with another name for its column.
func (a Aggregate) As(name string) Aggregate { a.name = name; return a }

// Count is the number of rows, in the column "count".
func Count() Aggregate {
	return Aggregate{name: "count", count: func(_ *column, rows []int) int64 { return int64(len(rows)) }}
}

// Distinct is the number of different values, in the column "NAME_distinct".
func Distinct(name string) Aggregate {
	return Aggregate{name: name + "_distinct", column: name, count: func(c *column, rows []int) int64 {
		return int64(c.values.distinct(rows, c.missing))
	}}
}

// Mean is the mean of numbers, in the column "NAME_mean"; the other aggregates are named in the same way.
func Mean(name string) Aggregate {
	return reducing(name, "mean", func(v []float64) float64 { return sum(v) / float64(len(v)) })
}

// Sum is the sum of numbers; that of integers is i64. A sum of none is 0.
func Sum(name string) Aggregate {
	a := reducing(name, "sum", sum)
	a.whole = sumWhole
	return a
}

// Std is the standard deviation of a sample: the squares are divided by one less than their number.
func Std(name string) Aggregate { return reducing(name, "std", std) }

// Median is the middle of numbers, or the mean of the two in the middle.
func Median(name string) Aggregate {
	return reducing(name, "median", func(v []float64) float64 { slices.Sort(v); return quantile(v, 0.5) })
}

// Quantile is the number below which a share q of all lies, 0 to 1; between two numbers it is interpolated.
// Its column is "NAME_quantile". Another q panics with a *tensor.Error.
func Quantile(name string, q float64) Aggregate {
	if !(q >= 0 && q <= 1) {
		panic(&tensor.Error{Op: "data.Quantile", Msg: fmt.Sprintf("got a share of %v, want 0 to 1", q)})
	}
	return reducing(name, "quantile", func(v []float64) float64 { slices.Sort(v); return quantile(v, q) })
}

// Min is the smallest value, also of texts and times.
func Min(name string) Aggregate {
	return picking(name, "min", func(c *column, i, j int) bool { return c.values.compare(i, j) < 0 })
}

// Max is the greatest value, also of texts and times.
func Max(name string) Aggregate {
	return picking(name, "max", func(c *column, i, j int) bool { return c.values.compare(i, j) > 0 })
}

// First is the first value that is there, Last the last one.
func First(name string) Aggregate {
	return picking(name, "first", func(*column, int, int) bool { return false })
}

// Last is the last value that is there.
func Last(name string) Aggregate {
	return picking(name, "last", func(*column, int, int) bool { return true })
}

// Reduce is an aggregate of one's own: f gets the numbers of a group, of which there is at least one, and
// returns the value of the column "NAME_WHAT". NaN is missing.
func Reduce(name, what string, f func(v []float64) float64) Aggregate {
	a := reducing(name, what, f)
	a.own = true
	return a
}

func reducing(name, what string, f func(v []float64) float64) Aggregate {
	return Aggregate{name: name + "_" + what, column: name, numbers: f}
}

// picking is an aggregate that is the value of one of the rows: better says whether that of row i replaces
// j's.
func picking(name, what string, better func(c *column, i, j int) bool) Aggregate {
	return Aggregate{name: name + "_" + what, column: name, pick: func(c *column, rows []int) int {
		at := -1
		for _, i := range rows {
			if !c.lacks(i) && (at < 0 || better(c, i, at)) {
				at = i
			}
		}
		return at
	}}
}

// of is the column of the aggregate.
func (a Aggregate) of(g *Groups) column {
	var c *column
	if a.column != "" {
		c = g.t.column(a.column)
	}
	if a.pick != nil {
		rows := make([]int, g.Len())
		for k := range rows {
			rows[k] = a.pick(c, g.rows(k))
		}
		picked := c.take(rows)
		picked.name = a.name
		return picked
	}
	b := &builder{}
	var v []float64
	for k := range g.Len() {
		if a.count != nil {
			b.add(a.count(c, g.rows(k)))
			continue
		}
		if a.whole != nil {
			if n, ok := a.whole(c, g.rows(k)); ok {
				b.add(n)
				continue
			}
		}
		v = v[:0]
		for _, i := range g.rows(k) {
			if !c.lacks(i) {
				v = append(v, c.values.float(i))
			}
		}
		x := math.NaN()
		if len(v) > 0 || a.whole != nil {
			x = a.numbers(v)
		}
		if y, _ := plain(x); true {
			b.add(y)
		}
	}
	return b.column(a.name)
}

// sum adds with the error of each addition, as Neumaier has it: the result does not depend on the order much.
func sum(v []float64) (s float64) {
	lost := 0.0
	for _, x := range v {
		t := s + x
		if math.Abs(s) >= math.Abs(x) {
			lost += s - t + x
		} else {
			lost += x - t + s
		}
		s = t
	}
	if math.IsNaN(lost) || math.IsInf(s, 0) {
		return s
	}
	return s + lost
}

// sumWhole adds integers, if their sums are in the range of i64.
func sumWhole(c *column, rows []int) (s int64, ok bool) {
	switch v := c.values.(type) {
	case vector[int64]:
		return sumIntegers(v.v, rows)
	case vector[uint64]:
		return sumIntegers(v.v, rows)
	}
	return 0, false
}

func sumIntegers[T int64 | uint64](v []T, rows []int) (s int64, ok bool) {
	for _, i := range rows {
		x := int64(v[i])
		t := s + x
		if (x > 0) != (v[i] > 0) || (t > s) != (x > 0) {
			return 0, false
		}
		s = t
	}
	return s, true
}

func std(v []float64) float64 {
	mean := sum(v) / float64(len(v))
	squares := make([]float64, len(v))
	for i, x := range v {
		squares[i] = (x - mean) * (x - mean)
	}
	return math.Sqrt(sum(squares) / float64(len(v)-1))
}

// quantile is that of sorted numbers, some of which may be infinite.
func quantile(v []float64, q float64) float64 {
	at := q * float64(len(v)-1)
	i := int(at)
	share := at - float64(i)
	if share == 0 {
		return v[i]
	}
	if d := v[i+1] - v[i]; d <= math.MaxFloat64 {
		return v[i] + share*d
	}
	return (1-share)*v[i] + share*v[i+1]
}

package data

import "slices"

// Join returns the rows of both tables that are equal in the columns on, beside each other: each row of t
// with each of other, in the order of t. The columns of t come first; a name that both have gets "_right"
// behind that of other. Missing values are equal to none.
//
//	orders.Join(customers, "id")
func (t *Table) Join(other *Table, on ...string) *Table { return t.join(other, on, false, false) }

// LeftJoin is Join that also has the rows of t that no row of other is equal to, with missing values beside
// them.
func (t *Table) LeftJoin(other *Table, on ...string) *Table { return t.join(other, on, true, false) }

// OuterJoin is LeftJoin that also has the rows of other that no row of t is equal to, at the end.
func (t *Table) OuterJoin(other *Table, on ...string) *Table { return t.join(other, on, true, true) }

func (t *Table) join(other *Table, on []string, left, right bool) *Table {
	if len(on) == 0 {
		t.fail("got no columns to join on, want names that both tables have")
	}
	both := make([]column, len(on))
	var keys []*column
	for i, name := range on {
		a, b := t.column(name), other.column(name)
		if a.values.kind() != b.values.kind() && !(a.quantity() && b.quantity()) && a.lacking() < a.len() && b.lacking() < b.len() {
			t.fail("column %q is %s and %s, want one type to join on", name, a.typed(), b.typed())
		}
		both[i] = a.joined(b)
		keys = append(keys, &both[i])
	}
	ids, n := keyed(keys, t.rows+other.rows)
	lacks := func(i int) bool { return slices.ContainsFunc(keys, func(c *column) bool { return c.lacks(i) }) }
	order, ends := gathered(ids[t.rows:], n)
	var lefts, rights []int
	met := make([]bool, other.rows)
	for i, id := range ids[:t.rows] {
		from := 0
		if id > 0 {
			from = ends[id-1]
		}
		list := order[from:ends[id]]
		if lacks(i) {
			list = nil
		}
		if len(list) == 0 {
			if left {
				lefts, rights = append(lefts, i), append(rights, -1)
			}
			continue
		}
		for _, j := range list {
			met[j] = true
			lefts, rights = append(lefts, i), append(rights, j)
		}
	}
	if right {
		for j := range other.rows {
			if !met[j] {
				lefts, rights = append(lefts, -1), append(rights, j)
			}
		}
	}
	return t.beside(other, on, both, lefts, rights)
}

// beside are rows of two tables beside each other, −1 where there is none. Both are the columns on, those of
// other below those of t.
func (t *Table) beside(other *Table, on []string, both []column, lefts, rights []int) *Table {
	keys := slices.Clone(lefts)
	for i, row := range keys {
		if row < 0 {
			keys[i] = t.rows + rights[i]
		}
	}
	joined := t.pick(lefts)
	for i, name := range on {
		joined.columns[t.at(name)] = both[i].take(keys)
	}
	for i := range other.columns {
		c := &other.columns[i]
		if slices.Contains(on, c.name) {
			continue
		}
		beside := c.take(rights)
		if joined.at(beside.name) >= 0 {
			beside.name += "_right"
		}
		if joined.at(beside.name) >= 0 {
			t.fail("two columns have the name %q: Rename one before", beside.name)
		}
		joined.columns = append(joined.columns, beside)
	}
	return joined
}

// Pivot returns a row for each value of the column index, and beside it a column for each value of the column
// across, with what the aggregate makes of the rows that have both; where there are none it is missing. Both
// are in the order of their values.
//
//	sales.Pivot("month", "shop", data.Sum("price"))
func (t *Table) Pivot(index, across string, value Aggregate) *Table {
	value.name = " "
	long := t.Group(index, across).Agg(value)
	down, side := long.column(index), long.column(across)
	rowIDs, rows := keyed([]*column{down}, long.rows)
	sideIDs, sides := keyed([]*column{side}, long.rows)
	wide := long.Select(index).pick(firsts(rowIDs, rows))
	heads := firsts(sideIDs, sides)
	slices.SortFunc(heads, side.compare)
	cells := make([][]int, sides)
	for i := range cells {
		cells[i] = slices.Repeat([]int{-1}, rows)
	}
	for i, id := range sideIDs {
		cells[id][rowIDs[i]] = i
	}
	for _, head := range heads {
		c := long.columns[2].take(cells[sideIDs[head]])
		c.name = side.cell(head)
		if wide.at(c.name) >= 0 {
			t.fail("two columns have the name %q", c.name)
		}
		wide.columns = append(wide.columns, c)
	}
	return wide
}

package main

import "fmt"

// A kernel of columns goes down 16 columns of a matrix whose rows are columnsApart elements apart: n rows.
// Beside the matrix it has parameters with one element a column, and its sums are one a column, too: they are
// joined to what such a parameter holds.

// columnsApart is how far rows lie apart, in elements; package vec exports it.
const columnsApart = 48

// column is a parameter with one element a column.
func (k *kernel) column(name string) value { return k.with(opColumn, k.perColumn(name)) }

// perColumn is a column's parameter that is not read in each turn.
func (k *kernel) perColumn(name string) int {
	p := k.pointer(name, f32)
	k.params[p].perColumn = true
	return p
}

// across is how many vectors there are in a row.
func (e *emitter) across() int { return 16 / e.lanes }

// vectorsOfColumns is how many vectors a turn of the main loop takes: those of one row or of several.
func (e *emitter) vectorsOfColumns() int {
	if len(e.reduces) == 0 {
		return e.across()
	}
	return max(4, e.across())
}

// loopsOfColumns writes the loops and joins the sums.
func (e *emitter) loopsOfColumns(sums [][]int) {
	turn := func(label string, count int) {
		e.turn(label, count, columnsApart*count, func() {
			for u := range count * e.across() {
				e.newBody(u/e.across()*columnsApart+u%e.across()*e.lanes, false).emit(sums[u])
			}
		})
	}
	if down := len(sums) / e.across(); down > 1 {
		turn("loop", down)
	}
	turn("single", 1)
	e.joinColumns(sums, e.across())
}

// joinColumns joins the sums to what their parameters hold.
func (e *emitter) joinColumns(sums [][]int, across int) {
	temp, held := e.spare[len(e.spare)-1], e.spare[len(e.spare)-2]
	for i := range e.reduces {
		r := &e.reduces[i]
		for v := range across {
			sum := sums[v][i]
			for u := v + across; u < len(sums); u += across {
				e.accumulate(r, sums[u][i], sum, temp, false)
			}
			e.moveColumn(r.into, v*e.lanes, held, false)
			e.accumulate(r, held, sum, temp, false)
			e.moveColumn(r.into, v*e.lanes, sum, true)
		}
	}
}

// moveColumn reads or stores a vector of a parameter with one element a column, from a column on.
func (e *emitter) moveColumn(p, column, r int, store bool) {
	if e.set == neon {
		mnemonic := "ldr"
		if store {
			mnemonic = "str"
		}
		e.word("%s q%d, [x%d, #%d]", mnemonic, r, e.pointerIndex(p), 4*column)
		return
	}
	at := fmt.Sprintf("%d(%s)", 4*column, e.pointerOf(p))
	if store {
		e.op("VMOVUPS", e.v(r), at)
	} else {
		e.op("VMOVUPS", at, e.v(r))
	}
}

// columnKernels are the functions of columns.go in package vec.
func columnKernels() []build {
	of := func(name string, f func(k *kernel)) build {
		return build{name: name, make: func(k *kernel) { k.columns = true; f(k) }}
	}
	return []build{
		of("maxColumns", func(k *kernel) {
			most := k.perColumn("most")
			k.maxOfNumbers(k.in("x"))
			k.reduces[0].into = most
		}),
		of("expColumns", func(k *kernel) {
			total, shift := k.perColumn("total"), k.column("shift")
			x := k.pointer("x", f32)
			p := k.expOfDifference(k.sub(k.load(x), shift))
			k.store(x, p)
			k.sum(p)
			k.reduces[0].into = total
		}),
		of("scaleColumns", func(k *kernel) {
			s, x := k.column("s"), k.pointer("x", f32)
			k.store(x, k.mul(k.load(x), s))
		}),
	}
}

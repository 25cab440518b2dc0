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

// functionColumns writes what follows the parameters and constants: the loops and the sums.
func (e *emitter) functionColumns(next *int) error {
	across := 16 / e.lanes // vectors in a row
	down := max(1, 4/across)
	if len(e.reduces) == 0 {
		down = 1
	}
	sums := make([][]int, down*across)
	for u := range sums {
		for _, r := range e.reduces {
			sums[u] = append(sums[u], *next)
			if e.set == neon {
				e.startNEON(r.kind, *next)
			} else {
				e.start(r.kind, *next)
			}
			*next--
		}
	}
	if *next < 2 {
		return errRegisters
	}
	for r := *next; r >= 0; r-- {
		e.spare = append(e.spare, r)
	}
	rows := func(count int) error {
		for u := range count * across {
			if err := e.newBody(u/across*columnsApart+u%across*e.lanes, false).emit(sums[u]); err != nil {
				return err
			}
		}
		return nil
	}
	if e.set != neon {
		e.op("XORQ", "AX", "AX")
	}
	if down > 1 {
		if err := e.turnColumns("loop", down, rows); err != nil {
			return err
		}
	}
	if err := e.turnColumns("single", 1, rows); err != nil {
		return err
	}
	e.joinColumns(sums, across)
	if e.set != neon {
		e.op("VZEROUPPER")
	}
	e.op("RET")
	e.text.WriteByte('\n')
	return nil
}

// turnColumns writes a loop over so many rows a turn.
func (e *emitter) turnColumns(label string, count int, rows func(count int) error) error {
	end := label + "End"
	fmt.Fprintf(e.text, "%s:\n", label)
	if e.set == neon {
		e.op("CMP", fmt.Sprint("$", count), neonLeft)
		e.op("BLT", end)
	} else {
		e.op("CMPQ", "CX", fmt.Sprint("$", count))
		e.op("JLT", end)
	}
	if err := rows(count); err != nil {
		return err
	}
	if e.set == neon {
		for i, p := range e.params {
			if !p.perColumn {
				e.op("ADD", fmt.Sprint("$", 4*columnsApart*count), e.pointerNEON(i))
			}
		}
		e.op("SUB", fmt.Sprint("$", count), neonLeft)
		e.op("B", label)
	} else {
		e.op("ADDQ", fmt.Sprint("$", columnsApart*count), "AX")
		e.op("SUBQ", fmt.Sprint("$", count), "CX")
		e.op("JMP", label)
	}
	fmt.Fprintf(e.text, "%s:\n", end)
	return nil
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

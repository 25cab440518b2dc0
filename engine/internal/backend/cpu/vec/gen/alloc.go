package main

import "fmt"

// A body is one turn of a kernel's loop: it emits the nodes in order and gives each a register from its
// definition to its last use. Pinned values (scalars, and constants while there is room) keep theirs for the
// whole loop; the other constants are broadcast from memory where they are used.
type body struct {
	*emitter
	pinned map[value]int
	free   []int // vector registers
	masks  []int // mask registers, AVX-512 only
	at     map[value]int
	uses   map[value]int
	offset int  // lanes beyond the index register
	masked bool // the last turn
}

func (e *emitter) newBody(offset int, masked bool) *body {
	b := &body{emitter: e, pinned: e.pinned, at: map[value]int{}, uses: map[value]int{}, offset: offset, masked: masked}
	b.free = append(b.free, e.spare...)
	b.masks = []int{6, 5, 4, 3, 2}
	for _, n := range e.nodes {
		for _, a := range n.args {
			b.uses[a]++
		}
	}
	for _, s := range e.stores {
		b.uses[s.value]++
	}
	for i := range e.reduces {
		e.reduces[i].used(func(v value) { b.uses[v]++ })
	}
	return b
}

// emitTogether writes turns that share the registers, node by node: a long chain of instructions that wait
// for each other leaves a processor's units idle, several side by side do not. They have no sums.
func (e *emitter) emitTogether(count int) {
	bodies := make([]*body, count)
	for i := range bodies {
		b := e.newBody(i*e.lanes, false)
		n := len(e.spare)
		b.free = append([]int(nil), e.spare[n*i/count:n*(i+1)/count]...)
		b.masks = b.masks[len(b.masks)*i/count : len(b.masks)*(i+1)/count]
		bodies[i] = b
	}
	for v := range e.nodes {
		for _, b := range bodies {
			b.node(value(v))
		}
	}
	for _, b := range bodies {
		b.storeAll()
	}
}

// storeAll writes the turn's stores.
func (b *body) storeAll() {
	for _, s := range b.stores {
		b.store(s)
	}
}

// emit writes the whole turn. sums are the registers that the reductions are added to.
func (b *body) emit(sums []int) {
	for i := range b.nodes {
		b.node(value(i))
	}
	b.storeAll()
	for i := range b.reduces {
		b.reduce(&b.reduces[i], sums[i])
	}
}

// reduce adds the turn's values to a sum.
func (b *body) reduce(r *reduce, sum int) {
	v := b.register(r.value)
	if r.kind == opFMA {
		times, temp := b.register(r.times), b.take()
		b.accumulateProduct(v, times, sum, temp, b.masked)
		b.give(temp)
	} else {
		temp := b.take()
		b.accumulate(r, v, sum, temp, b.masked)
		b.give(temp)
	}
	r.used(b.done)
}

func (b *body) take() int { return b.last(&b.free) }

// last takes the last of some registers. Where there is none, the function is full.
func (e *emitter) last(list *[]int) int {
	n := len(*list) - 1
	if n < 0 {
		e.full = true
		return 0
	}
	r := (*list)[n]
	*list = (*list)[:n]
	return r
}

func (b *body) give(r int) { b.free = append(b.free, r) }

// register returns where v is; a constant that is not pinned is loaded.
func (b *body) register(v value) int {
	if r, ok := b.pinned[v]; ok {
		return r
	}
	if r, ok := b.at[v]; ok || b.full {
		return r
	}
	n := b.nodes[v]
	if n.op != opConst {
		panic(fmt.Sprintf("gen: %s: value %d has no register", b.name, v))
	}
	r := b.take()
	b.at[v] = r
	b.loadConstant(n.bits, r)
	return r
}

// done counts one use of v. After the last one its register is free; a loaded constant's is free at once.
func (b *body) done(v value) {
	b.uses[v]--
	r, ok := b.at[v]
	if !ok || (b.uses[v] > 0 && b.nodes[v].op != opConst) {
		return
	}
	delete(b.at, v)
	if b.maskIn(v) {
		b.masks = append(b.masks, r)
		return
	}
	b.give(r)
}

// maskIn says whether v lies in a mask register.
func (b *body) maskIn(v value) bool { return b.set == avx512 && b.nodes[v].op.mask() }

// node emits one node.
func (b *body) node(v value) {
	n := b.nodes[v]
	if n.op == opConst || n.op == opScalar || n.op == opPowers || b.uses[v] == 0 || b.full {
		return
	}
	regs := make([]int, len(n.args))
	for i, a := range n.args {
		regs[i] = b.register(a)
	}
	if n.op == opFMA || n.op == opFNMA {
		b.multiplyAdd(v, n, regs)
		return
	}
	temp := -1
	if b.needsTemp(n.op) {
		temp = b.take()
	}
	b.doneAll(n.args)
	from := &b.free
	if b.maskIn(v) {
		from = &b.masks
	}
	d := b.last(from)
	b.at[v] = d
	b.instruction(n, d, regs, temp)
	if temp >= 0 {
		b.give(temp)
	}
}

func (b *body) doneAll(args []value) {
	for i := range args {
		b.doneOnce(args, i)
	}
}

// needsTemp says whether a node needs a register that is none of its operands'.
func (b *body) needsTemp(o op) bool {
	if b.set == neon {
		return neonTemp(o)
	}
	return o == opHalf
}

// multiplyAdd overwrites an operand that dies, or a copy of the addend.
func (b *body) multiplyAdd(v value, n node, regs []int) {
	dies := func(i int) bool {
		_, pinned := b.pinned[n.args[i]]
		if pinned {
			return false
		}
		others := 0
		for _, a := range n.args {
			if a == n.args[i] {
				others++
			}
		}
		return others == 1 && (b.uses[n.args[i]] == 1 || b.nodes[n.args[i]].op == opConst)
	}
	x, y, z := regs[0], regs[1], regs[2]
	d := z
	switch {
	case dies(2):
		b.multiplyInto(n.op, x, y, z)
	case dies(0) && b.set != neon:
		d = x
		b.op(mnemonics[n.op]+"213PS", b.v(z), b.v(y), b.v(x))
	case dies(1) && b.set != neon:
		d = y
		b.op(mnemonics[n.op]+"213PS", b.v(z), b.v(x), b.v(y))
	default:
		d = b.take()
		b.move(z, d)
		b.multiplyInto(n.op, x, y, d)
		b.doneAll(n.args)
		b.at[v] = d
		return
	}
	// The register passes from the operand to the result.
	for i, a := range n.args {
		if regs[i] == d {
			b.uses[a]--
			delete(b.at, a)
			continue
		}
		b.doneOnce(n.args, i)
	}
	b.at[v] = d
}

// doneOnce counts the use of args[i]; of an operand that is mentioned twice, only the later mention can free
// it.
func (b *body) doneOnce(args []value, i int) {
	for _, x := range args[i+1:] {
		if x == args[i] {
			b.uses[args[i]]--
			return
		}
	}
	b.done(args[i])
}

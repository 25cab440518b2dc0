package main

import (
	"errors"
	"fmt"
)

var errRegisters = errors.New("out of registers")

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
func (e *emitter) emitTogether(bodies []*body) error {
	for i, b := range bodies {
		n := len(e.spare)
		b.free = append([]int(nil), e.spare[n*i/len(bodies):n*(i+1)/len(bodies)]...)
		b.masks = b.masks[len(b.masks)*i/len(bodies) : len(b.masks)*(i+1)/len(bodies)]
	}
	for v := range e.nodes {
		for _, b := range bodies {
			if err := b.node(value(v)); err != nil {
				return err
			}
		}
	}
	for _, b := range bodies {
		if err := b.storeAll(); err != nil {
			return err
		}
	}
	return nil
}

// storeAll writes the turn's stores.
func (b *body) storeAll() error {
	for _, s := range b.stores {
		if err := b.store(s); err != nil {
			return err
		}
	}
	return nil
}

// emit writes the whole turn. sums are the registers that the reductions are added to.
func (b *body) emit(sums []int) error {
	for i := range b.nodes {
		if err := b.node(value(i)); err != nil {
			return err
		}
	}
	if err := b.storeAll(); err != nil {
		return err
	}
	for i := range b.reduces {
		if err := b.reduce(&b.reduces[i], sums[i]); err != nil {
			return err
		}
	}
	return nil
}

// reduce adds the turn's values to a sum.
func (b *body) reduce(r *reduce, sum int) error {
	v, err := b.register(r.value)
	if err != nil {
		return err
	}
	times := -1
	if r.kind == opFMA {
		if times, err = b.register(r.times); err != nil {
			return err
		}
	}
	temp, err := b.take()
	if err != nil {
		return err
	}
	if r.kind == opFMA {
		b.accumulateProduct(v, times, sum, temp, b.masked)
	} else {
		b.accumulate(r, v, sum, temp, b.masked)
	}
	b.give(temp)
	r.used(b.done)
	return nil
}

func (b *body) take() (int, error) {
	if len(b.free) == 0 {
		return 0, errRegisters
	}
	r := b.free[len(b.free)-1]
	b.free = b.free[:len(b.free)-1]
	return r, nil
}

func (b *body) give(r int) { b.free = append(b.free, r) }

// register returns where v is; a constant that is not pinned is loaded.
func (b *body) register(v value) (int, error) {
	if r, ok := b.pinned[v]; ok {
		return r, nil
	}
	if r, ok := b.at[v]; ok {
		return r, nil
	}
	n := b.nodes[v]
	if n.op != opConst {
		panic(fmt.Sprintf("gen: %s: value %d has no register", b.name, v))
	}
	r, err := b.take()
	if err != nil {
		return 0, err
	}
	b.at[v] = r
	b.loadConstant(n.bits, r)
	return r, nil
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
func (b *body) node(v value) error {
	n := b.nodes[v]
	if n.op == opConst || n.op == opScalar || n.op == opPowers || b.uses[v] == 0 {
		return nil
	}
	regs := make([]int, len(n.args))
	for i, a := range n.args {
		r, err := b.register(a)
		if err != nil {
			return err
		}
		regs[i] = r
	}
	if n.op == opFMA || n.op == opFNMA {
		return b.multiplyAdd(v, n, regs)
	}
	temp := -1
	if b.needsTemp(n.op) {
		t, err := b.take()
		if err != nil {
			return err
		}
		temp = t
	}
	b.doneAll(n.args)
	var d int
	if b.maskIn(v) {
		if len(b.masks) == 0 {
			return errRegisters
		}
		d = b.masks[len(b.masks)-1]
		b.masks = b.masks[:len(b.masks)-1]
	} else {
		r, err := b.take()
		if err != nil {
			return err
		}
		d = r
	}
	b.at[v] = d
	b.instruction(v, n, d, regs, temp)
	if temp >= 0 {
		b.give(temp)
	}
	return nil
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
func (b *body) multiplyAdd(v value, n node, regs []int) error {
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
		r, err := b.take()
		if err != nil {
			return err
		}
		d = r
		b.move(z, d)
		b.multiplyInto(n.op, x, y, d)
		b.doneAll(n.args)
		b.at[v] = d
		return nil
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
	return nil
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

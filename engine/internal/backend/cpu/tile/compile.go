package tile

import (
	"fmt"
	"maps"
	"slices"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A compiler holds a program while it is compiled, and facts about its values.
type compiler struct {
	spec Spec
	prog *Program
	refs map[backend.Ref]value
	uses map[backend.Ref]int // uses that are not compiled yet
	all  map[backend.Ref]int // uses in the whole program
	free map[int][]int       // size of a register -> offsets
	home map[uint16]int      // slot -> size of its register, for registers that can be released
	outs map[backend.Ref]int // value -> output whose memory it is computed in
	raw  map[int]uint16      // input -> slot of its elements as stored
}

// A value is a slot and the dtype of the value in it.
type value struct {
	slot  uint16
	dtype dtype.Type
}

// Compile makes a program. It fails on an op that is not elementwise.
func Compile(spec Spec) (*Program, error) {
	c := &compiler{
		spec: spec,
		prog: &Program{},
		refs: map[backend.Ref]value{},
		uses: map[backend.Ref]int{},
		free: map[int][]int{},
		home: map[uint16]int{},
		outs: map[backend.Ref]int{},
		raw:  map[int]uint16{},
	}
	for _, i := range spec.Insts {
		for _, a := range spec.Group.Insts[i].Args {
			c.uses[a]++
		}
	}
	for _, o := range spec.Outs {
		c.uses[o.Value]++
	}
	c.all = maps.Clone(c.uses)
	c.bindOperands()
	for _, i := range spec.Insts {
		if err := c.inst(i); err != nil {
			return nil, err
		}
	}
	if err := c.storeOuts(); err != nil {
		return nil, err
	}
	return c.prog, nil
}

// bindOperands makes slots for given values and outputs. A value that is stored unchanged is computed in
// its output's memory.
func (c *compiler) bindOperands() {
	for _, r := range c.spec.Given {
		t := c.spec.Group.Type(r).DType
		s := c.slot(-1)
		c.refs[r] = value{s, t}
		c.prog.given = append(c.prog.given, operand{s, uintptr(Register(t).Size())})
	}
	inside := map[int]bool{}
	for _, i := range c.spec.Insts {
		inside[i] = true
	}
	for i, o := range c.spec.Outs {
		c.prog.outs = append(c.prog.outs, operand{c.slot(-1), uintptr(o.DType.Size())})
		t := c.spec.Group.Type(o.Value).DType
		in, isInput := o.Value.Input()
		made := isInput && c.widens(in) || !isInput && inside[o.Value.Index]
		if _, taken := c.outs[o.Value]; !taken && made && o.DType == Register(t) && !o.Stream {
			c.outs[o.Value] = i
		}
	}
}

// widens says whether the elements of an input are read in each Run and converted then.
func (c *compiler) widens(i int) bool {
	in := &c.spec.Group.Inputs[i]
	return in.Buf >= 0 && Register(in.DType) != in.DType && len(makeWalk(in.Layout, c.spec.Shape, c.spec.Perm).dims) > 0
}

// slot adds a slot whose register is at offset; -1 means that Run sets its pointer.
func (c *compiler) slot(offset int) uint16 {
	c.prog.scratch = append(c.prog.scratch, offset)
	c.prog.slots++
	return uint16(c.prog.slots - 1)
}

// register returns a slot with a register for elements of t, a released one if possible.
func (c *compiler) register(t dtype.Type) uint16 {
	c.prog.tiled = true
	size := Len * t.Size()
	if f := c.free[size]; len(f) > 0 {
		off := f[len(f)-1]
		c.free[size] = f[:len(f)-1]
		s := c.slot(off)
		c.home[s] = size
		return s
	}
	s := c.slot(c.fixed(size))
	c.home[s] = size
	return s
}

// fixed reserves size bytes of scratch.
func (c *compiler) fixed(size int) int {
	off := c.prog.bytes
	c.prog.bytes += (size + 63) &^ 63
	return off
}

// value returns the value of r. The first use of an input loads it.
func (c *compiler) value(r backend.Ref) value {
	v, ok := c.refs[r]
	if !ok {
		i, _ := r.Input()
		v = c.load(i)
		c.refs[r] = v
	}
	return v
}

// done counts one use of r. The last use releases the register of r.
func (c *compiler) done(r backend.Ref) {
	c.uses[r]--
	slot := c.refs[r].slot
	if size, ok := c.home[slot]; ok && c.uses[r] == 0 {
		c.free[size] = append(c.free[size], c.prog.scratch[slot])
		delete(c.home, slot)
	}
}

// load makes the value of an input. An input of one element fills a register once; others are read in each
// Run. f16 and bf16 are widened.
func (c *compiler) load(i int) value {
	in := &c.spec.Group.Inputs[i]
	reg := Register(in.DType)
	w := makeWalk(in.Layout, c.spec.Shape, c.spec.Perm)
	if in.Buf < 0 || len(w.dims) == 0 {
		c.prog.tiled = true
		s := c.slot(c.fixed(Len * reg.Size()))
		c.prog.consts = append(c.prog.consts, constant{s, in.DType, in.Buf, in.Layout.Offset, in.Scalar})
		return value{s, in.DType}
	}
	raw := c.stored(i, w)
	if reg == in.DType {
		return value{raw, in.DType}
	}
	s := c.target(backend.In(i), in.DType)
	widening := vec.FromBF16
	if in.DType == dtype.F16 {
		widening = vec.FromF16
	}
	c.emit(vec.Of(widening), s, raw, 0, 0)
	return value{s, in.DType}
}

// stored returns the slot of the elements of an input as they are in memory.
func (c *compiler) stored(i int, w walk) uint16 { return c.storedInto(i, w, -1) }

// storedInto is stored for an input that is also output number into: the elements are gathered in the
// output. An into of -1 means no output.
func (c *compiler) storedInto(i int, w walk, into int) uint16 {
	if s, ok := c.raw[i]; ok {
		return s
	}
	in := &c.spec.Group.Inputs[i]
	scratch := -1
	if !w.contiguous() && into < 0 {
		c.prog.tiled = true
		scratch = c.fixed(Len * in.DType.Size())
	}
	s := c.slot(scratch)
	c.prog.inputs = append(c.prog.inputs, input{
		slot: s, size: uintptr(in.DType.Size()), buf: in.Buf, offset: in.Layout.Offset, walk: w, scratch: scratch,
		block: c.transposeBlock(w, in.DType.Size()), into: into,
	})
	c.raw[i] = s
	return s
}

func (c *compiler) emit(fn vec.Func, d, a, b, x uint16) {
	c.prog.code = append(c.prog.code, step{fn, d, a, b, x})
	c.prog.work++
}

// inst compiles one instruction.
func (c *compiler) inst(i int) error {
	in := &c.spec.Group.Insts[i]
	self := backend.Ref{Index: i}
	if c.uses[self] == 0 || c.fuses(i) {
		return nil
	}
	if c.storedAs(self, in) {
		c.refs[self] = value{c.value(in.Args[0]).slot, in.DType} // which stays, because this use of it is never done
		return nil
	}
	if mul, other, ok := c.fusedMulAdd(in); ok {
		c.call(self, vec.Of(vec.FMA), mul.Args[0], mul.Args[1], other)
		return nil
	}
	fn, err := c.function(in)
	if err != nil {
		return err
	}
	c.call(self, fn, in.Args...)
	if c.spec.Group.Type(in.Args[len(in.Args)-1]).DType == dtype.F64 {
		c.prog.work += doubleWork * int(in.Op.Operations())
	}
	return nil
}

// storedAs says whether an instruction converts to f16 or bf16 what is only stored so: storing rounds, too.
func (c *compiler) storedAs(self backend.Ref, in *backend.Inst) bool {
	if in.Op != ir.Cast || in.DType == Register(in.DType) || Register(c.spec.Group.Type(in.Args[0]).DType) != Register(in.DType) {
		return false
	}
	stores := 0
	for _, o := range c.spec.Outs {
		if o.Value == self && o.DType == in.DType {
			stores++
		}
	}
	return stores == c.all[self]
}

// doubleWork is the cost of an operation on float64, which is plain Go, relative to one on float32.
const doubleWork = 8

// call emits fn on args. It loads all of them before it releases the first, so that none of their registers
// is used again too early. The result may take the register of an argument that has no later use.
func (c *compiler) call(self backend.Ref, fn vec.Func, args ...backend.Ref) {
	var slots [3]uint16
	for k, r := range args {
		slots[k] = c.value(r).slot
	}
	for _, r := range args {
		c.done(r)
	}
	t := c.spec.Group.Type(self).DType
	d := c.target(self, t)
	c.emit(fn, d, slots[0], slots[1], slots[2])
	c.refs[self] = value{d, t}
}

// target returns the slot for the result of an instruction: its output's memory, if it is stored unchanged,
// or a register.
func (c *compiler) target(self backend.Ref, t dtype.Type) uint16 {
	if o, ok := c.outs[self]; ok {
		return c.prog.outs[o].slot
	}
	return c.register(Register(t))
}

// function returns the vector function of an elementwise instruction.
func (c *compiler) function(in *backend.Inst) (vec.Func, error) {
	if len(in.Args) == 0 || len(in.Args) > 3 {
		return nil, fmt.Errorf("%v: got %d operands, want an elementwise op", in.Op, len(in.Args))
	}
	arg := c.spec.Group.Type(in.Args[len(in.Args)-1]).DType
	fn := funcOf(in.Op, in.Attr, arg, in.DType)
	if fn == nil {
		return nil, fmt.Errorf("%v: not an elementwise op on %v", in.Op, arg)
	}
	return fn, nil
}

// fuses reports whether instruction i is a product whose only use is an addition that computes it too.
func (c *compiler) fuses(i int) bool {
	for _, j := range c.spec.Insts {
		if j <= i {
			continue
		}
		in := &c.spec.Group.Insts[j]
		for _, a := range in.Args {
			if a == (backend.Ref{Index: i}) {
				mul, _, ok := c.fusedMulAdd(in)
				return ok && mul == &c.spec.Group.Insts[i]
			}
		}
	}
	return false
}

// fusedMulAdd returns the product and the other operand, if in is an addition that can be a fused
// multiply-add.
func (c *compiler) fusedMulAdd(in *backend.Inst) (mul *backend.Inst, other backend.Ref, ok bool) {
	if in.Op != ir.Add || Register(in.DType) != dtype.F32 {
		return nil, other, false
	}
	for k, r := range in.Args {
		if _, isInput := r.Input(); isInput || c.all[r] != 1 || in.Args[0] == in.Args[1] || slices.Contains(c.spec.Given, r) {
			continue
		}
		if m := &c.spec.Group.Insts[r.Index]; m.Op == ir.Mul && m.DType == in.DType && slices.Contains(c.spec.Insts, r.Index) && !c.isOut(r) {
			return m, in.Args[1-k], true
		}
	}
	return nil, other, false
}

func (c *compiler) isOut(r backend.Ref) bool {
	return slices.ContainsFunc(c.spec.Outs, func(o Out) bool { return o.Value == r })
}

// storeOuts copies or converts the outputs that are not computed in place.
func (c *compiler) storeOuts() error {
	for i, o := range c.spec.Outs {
		t := c.spec.Group.Type(o.Value).DType
		c.prog.views = append(c.prog.views, c.viewOf(o, i))
		if j, ok := c.outs[o.Value]; ok && j == i {
			c.value(o.Value) // of an input that only outputs need
			continue
		}
		d := c.prog.outs[i].slot
		if in := c.prog.views[i]; in >= 0 {
			if c.prog.inputs[in].into == i {
				continue
			}
			c.emit(storeFunc(o), d, c.prog.inputs[in].slot, 0, 0)
			continue
		}
		v := c.value(o.Value)
		switch {
		case o.DType == Register(t):
			c.emit(storeFunc(o), d, v.slot, 0, 0)
		case o.DType == dtype.F16 && t.Float():
			c.emit(vec.Of(vec.ToF16), d, v.slot, 0, 0)
		case o.DType == dtype.BF16 && t.Float():
			c.emit(vec.Of(vec.ToBF16), d, v.slot, 0, 0)
		default:
			return fmt.Errorf("store: got %v, want %v", t, o.DType)
		}
	}
	return nil
}

// storeFunc returns the function that stores an output in the dtype in which it is computed.
func storeFunc(o Out) vec.Func {
	if o.Stream {
		return func(d, a, _, _ unsafe.Pointer, n int) { vec.StreamTo(d, a, n) }
	}
	return copyFunc(o.DType.Size())
}

// viewOf returns the input that output number n repeats, element for element as stored, or -1.
func (c *compiler) viewOf(o Out, n int) int {
	i, ok := o.Value.Input()
	if !ok || c.spec.Group.Inputs[i].DType != o.DType || c.spec.Group.Inputs[i].Buf < 0 {
		return -1
	}
	w := makeWalk(c.spec.Group.Inputs[i].Layout, c.spec.Shape, c.spec.Perm)
	if len(w.dims) == 0 {
		return -1
	}
	slot := c.storedInto(i, w, n)
	return slices.IndexFunc(c.prog.inputs, func(in input) bool { return in.slot == slot })
}

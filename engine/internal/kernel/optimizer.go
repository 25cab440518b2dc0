package kernel

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A tensor's share of an optimizer's dispatch is cut into blocks, one a threadgroup: so that a dispatch over
// hundreds of tensors of any size has threads for all.
const blockElements = 4096

// mostTensors bounds the struct of a dispatch, which lies in constant memory: 64 KB on Metal.
const mostTensors = 256

// AdamW (Loshchilov, Hutter: Decoupled weight decay regularization, 2019), and the sum of squares by which
// gradients are clipped: one dispatch for all tensors of a dtype, by a table of pointers, of up to 256 at
// once.
//
// A threadgroup has a block of 4,096 elements of a tensor, which it finds in the table by bisection. A thread
// moves four elements of p, g, m and v at once, and stores p, m and v: 28 bytes an element of f32, for some
// 15 operations, three of them divisions, and a root. So memory is the limit of every GPU: an M-series GPU
// could do some fifty operations in the time of these bytes. Four loads of 16 bytes are under way for each
// thread.
//
// The sum of squares reads 4 bytes an element for two operations, and some to add up their rounding errors:
// memory is the limit there, too. Up to 256 threadgroups a tensor add up parts, and one simdgroup those.

// optimizer writes steps of all tensors: of those of one dtype in one dispatch.
func optimizer(step func(l *stepLists, threads int) Dispatch) writer {
	return func(g *backend.Group, k *Kernel) {
		in := &g.Insts[0]
		l := stepLists{g: g, in: in, n: len(in.Outs) / ir.StepLists(in.Op, in.Attr.Flags), outputs: map[int]backend.Output{}}
		for _, o := range g.Outputs {
			l.outputs[o.Value.Result] = o
		}
		l.moved = together(g, k)
		byType(l.n, func(i int) ir.Type { return in.Outs[i] }, func(tensors []int) {
			own := l
			own.text, own.tensors, own.aligned = newText(g, false), tensors, true
			own.typ = memoryTypes[in.Outs[tensors[0]].DType]
			own.settings()
			k.Dispatches = append(k.Dispatches, step(&own, k.limits.group()))
		})
	}
}

// byType calls f for the numbers of those of n tensors that have elements: for as many at once as a dispatch
// takes, of one dtype.
func byType(n int, of func(i int) ir.Type, f func(tensors []int)) {
	list := map[dtype.Type][]int{}
	for i := range n {
		if t := of(i); ir.Size(t.Shape) > 0 {
			list[t.DType] = append(list[t.DType], i)
		}
	}
	for _, dt := range dtype.All() {
		for part := range slices.Chunk(list[dt], mostTensors) {
			f(part)
		}
	}
}

// together copies the operands that do not lie in C order to the workspace, and returns where each of them
// lies there.
func together(g *backend.Group, k *Kernel) map[int]int {
	moved := map[int]int{}
	for i, in := range g.Inputs {
		if isNumber(in) || in.Layout.IsContiguous() {
			continue
		}
		moved[i] = k.Scratch
		to := ir.Contiguous(in.Layout.Shape)
		to.Offset = k.Scratch / in.DType.Size()
		k.Scratch += (to.Size()*in.DType.Size() + 63) &^ 63
		o := backend.Output{Buf: workspace, DType: in.DType, Shape: in.Layout.Shape}
		k.Dispatches = append(k.Dispatches, copyInto(g, k.limits, o, backend.In(i), in.Layout, to)...)
	}
	return moved
}

// stepLists are the lists of tensors of a step of an optimizer: tables of pointers in the struct of a
// dispatch, which steps some of n tensors.
type stepLists struct {
	*text
	g       *backend.Group
	in      *backend.Inst
	typ     string // of the tensors
	tensors []int
	n       int
	moved   map[int]int // operands that were copied to the workspace
	outputs map[int]backend.Output
	aligned bool // elements that are moved four at once begin at multiples of four
	found   []string
}

// settings declares an AdamW's settings, each a number of the command or one in memory.
func (l *stepLists) settings() {
	for n, name := range []string{"lr", "beta1", "beta2", "eps", "decay", "bias1", "bias2", "factor", "guard"} {
		if x := inputOf(l.g, l.in.Args[n]); isNumber(*x) {
			l.number(name, x.DType, x.Scalar)
			l.line("const float %s = a.%s;", name, name)
		} else {
			l.input(name, l.in.Args[n])
			l.line("const float %s = loaded(*a.%s);", name, name)
		}
	}
}

// declare declares a list, which is number from of the operands or the results.
func (l *stepLists) declare(name, typ string, from int, output bool) {
	if !output {
		typ = "const " + typ
	}
	l.array("device "+typ+"*", name, len(l.tensors))
	l.found = append(l.found, fmt.Sprintf("device %s* const %s_ = a.%s[low];", typ, name, name))
	for _, i := range l.tensors {
		f := Field{Kind: Pointer, Size: 8}
		if output {
			o, ok := l.outputs[from*l.n+i]
			if !ok {
				f.Kind = Constant
			}
			f.Index = o.Buf
		} else {
			at, _ := l.in.Args[ir.AdamWSettings+from*l.n+i].Input()
			x := &l.g.Inputs[at]
			f = placeOf(x)
			l.aligned = l.aligned && x.Layout.Offset%4 == 0
			if place, ok := l.moved[at]; ok {
				f = Field{Kind: Scratch, Size: 8, At: place}
			}
		}
		l.element(f)
	}
}

// sizes declares the sizes of the tensors, and the first threadgroup of each. It returns how many there are.
func (l *stepLists) sizes() (groups int) {
	var sizes, starts []int
	for _, i := range l.tensors {
		n := ir.Size(l.in.Outs[i].Shape)
		sizes, starts = append(sizes, n), append(starts, groups)
		groups += (n + blockElements - 1) / blockElements
	}
	l.numbers("size", sizes)
	l.numbers("start", starts)
	return groups
}

// pointers finds the tensor's pointers once: the tables are long.
func (l *stepLists) pointers() {
	for _, line := range l.found {
		l.line("%s", line)
	}
}

// master loads the masters of p[4] into w[4], and makes p the masters where those round to it: elsewhere
// somebody has set p.
func (l *stepLists) master() {
	l.line("float w[4] = {};")
	l.line("load_up_to4<%v>(w_ + i, count, w);", l.aligned)
	l.line("UNROLL for (int k = 0; k < 4; k++) if (steps && float(%s(w[k])) == p[k]) p[k] = w[k];", l.typ)
}

// adamW steps some tensors.
func adamW(l *stepLists, threads int) Dispatch {
	for from, name := range []string{"p", "g", "m", "v"} {
		l.declare(name, []string{l.typ, l.typ, "float", "float"}[from], from, false)
	}
	names := []string{"p", "m", "v"}
	for from, name := range names {
		l.declare("new_"+name, []string{l.typ, "float", "float"}[from], from, true)
	}
	masters := l.in.Attr.Flags&ir.Masters != 0
	if masters {
		l.declare("w", "float", 4, false)
		l.declare("new_w", "float", 3, true)
		names = append(names, "w")
	}
	blocks := l.sizes()
	l.whose(len(l.tensors))
	l.line("const long from = (long(group.x) - a.start[low]) * %d;", blockElements)
	l.line("const long to = min(from + %d, a.size[low]);", blockElements)
	l.line("const bool steps = isfinite(guard) && %s;", l.goesOn())
	l.pointers()
	l.line("for (long i = from + 4 * long(at.x); i < to; i += %d) {", 4*threads)
	l.line("float p[4] = {}, g[4] = {}, m[4] = {}, v[4] = {};")
	l.line("const int count = int(min(to - i, 4L));")
	for _, name := range []string{"p", "g", "m", "v"} {
		l.line("load_up_to4<%v>(%s_ + i, count, %s);", l.aligned, name, name)
	}
	if masters {
		l.master()
	}
	l.line("if (steps) {")
	l.line("UNROLL for (int k = 0; k < 4; k++) {")
	l.line("const float grad = factor * g[k];")
	l.line("m[k] = beta1 * m[k] + (1.0f - beta1) * grad;")
	l.line("v[k] = beta2 * v[k] + (1.0f - beta2) * grad * grad;")
	l.line("p[k] -= lr * (m[k] / bias1 / (precise::sqrt(v[k] / bias2) + eps) + decay * p[k]);")
	l.close(2)
	if masters {
		l.line("UNROLL for (int k = 0; k < 4; k++) if (steps) w[k] = p[k];")
	}
	for _, name := range names {
		l.line("if (new_%[1]s_) store_up_to4<%[2]v>(new_%[1]s_ + i, count, %[1]s);", name, l.aligned)
	}
	l.line("}")
	return l.finish("adamw", "adamw", parameters, along(blocks), along(threads))
}

// sumSquares adds up the squares of all elements of all operands: each threadgroup those of a block, and a
// last one what they have found. Operands that fill a piece of memory, in any order of their axes, are one
// dispatch for each dtype.
func sumSquares(g *backend.Group, k *Kernel) {
	in, o := &g.Insts[0], g.Outputs[0]
	blocks := 0
	var whole []backend.Ref
	for _, v := range in.Args {
		x := inputLayout(g, v)
		switch _, fills := x.InMemory(); {
		case x.Size() == 0:
		case fills:
			whole = append(whole, v)
		default:
			k.Dispatches = append(k.Dispatches, squaresOfView(g, v, &blocks, k.limits))
		}
	}
	byType(len(whole), func(i int) ir.Type {
		return ir.Type{DType: g.Type(whole[i]).DType, Shape: inputLayout(g, whole[i]).Shape}
	}, func(part []int) {
		operands := make([]backend.Ref, len(part))
		for n, i := range part {
			operands[n] = whole[i]
		}
		k.Dispatches = append(k.Dispatches, squaresOf(g, operands, &blocks, k.limits.group()))
	})
	k.Scratch = 8 * blocks
	t := newText(g, false)
	t.pointer("", "y", o.DType, o.Buf, 0)
	t.member("device const fold_sum<float>*", "parts", Field{Kind: Scratch, Size: 8})
	t.constant("total", blocks)
	t.line("fold_sum<float> f = fold_sum<float>::start();")
	t.line("for (int e = int(at.x); e < a.total; e += %d) f.merge(fold_sum<float>::get(a.parts + e));", simdWidth)
	t.line("f = simd_folded(f);")
	t.line("if (at.x == 0) *a.y = f.value();")
	k.Dispatches = append(k.Dispatches, t.finish("squares_sum", "sum of squares, of all parts", parameters, along(1), along(simdWidth)))
}

// groupsFor is how many threadgroups an operand of so many elements has: each leaves a part to add up.
func groupsFor(n int) int { return min(256, (n+blockElements-1)/blockElements) }

// squaresOf adds up the squares of operands of one dtype that fill their memory; blocks counts the parts.
func squaresOf(g *backend.Group, operands []backend.Ref, blocks *int, threads int) Dispatch {
	t := newText(g, false)
	aligned := true // elements that are read four at once begin at multiples of four
	typ := memoryTypes[g.Type(operands[0]).DType]
	t.array("device const "+typ+"*", "x", len(operands))
	for _, v := range operands {
		x := inputOf(g, v)
		t.element(placeOf(x))
		aligned = aligned && x.Layout.Offset%4 == 0
	}
	first, groups := *blocks, 0
	var sizes, starts, each []int
	for _, v := range operands {
		n := inputLayout(g, v).Size()
		sizes, starts, each = append(sizes, n), append(starts, groups), append(each, ((n+groupsFor(n)-1)/groupsFor(n)+3)/4*4)
		groups += groupsFor(n)
	}
	t.numbers("size", sizes)
	t.numbers("start", starts) // the operand's first threadgroup
	t.numbers("each", each)    // elements of a threadgroup
	t.member("device fold_sum<float>*", "parts", Field{Kind: Scratch, Size: 8, At: 8 * first})
	t.whose(len(operands))
	t.line("threadgroup fold_sum<float> space[%d];", threads/simdWidth)
	t.line("const long from = (long(group.x) - a.start[low]) * a.each[low];")
	t.line("const long to = min(from + a.each[low], a.size[low]);")
	t.line("device const %s* const x_ = a.x[low];", typ)
	t.line("fold_sum<float> f = fold_sum<float>::start();")
	t.line("for (long i = from + 4 * long(at.x); i < to; i += %d) {", 4*threads)
	t.line("float x[4] = {};")
	t.line("load_up_to4<%v>(x_ + i, int(min(to - i, 4L)), x);", aligned)
	t.line("UNROLL for (int k = 0; k < 4; k++) f.take(x[k] * x[k]);")
	t.line("}")
	t.line("f = group_folded(f, space, lane, simd, simds);")
	t.line("if (at.x == 0) f.put(a.parts + group.x);")
	*blocks += groups
	return t.finish("squares", "sum of squares", parameters, along(groups), along(threads))
}

// numbers declares an array of numbers that are the same in each run.
func (t *text) numbers(name string, list []int) {
	t.array("long", name, len(list))
	for _, n := range list {
		t.element(Field{Kind: Constant, Size: 8, Value: int64(n)})
	}
}

// whose finds the tensor that the threadgroup works on, by the number of its first threadgroup.
func (t *text) whose(tensors int) {
	t.line("int low = 0, high = %d;", tensors-1)
	t.line("while (low < high) {")
	t.line("const int middle = (low + high + 1) / 2;")
	t.line("if (a.start[middle] <= long(group.x)) low = middle; else high = middle - 1;")
	t.line("}")
}

// squaresOfView adds up the squares of an operand that is read through a layout.
func squaresOfView(g *backend.Group, v backend.Ref, blocks *int, limits Limits) Dispatch {
	x, threads := inputLayout(g, v), limits.group()
	n := x.Size()
	groups := groupsFor(n)
	e := newElements(g, limits, "squares", x.Shape, named{name: "x", layout: x})
	e.reads("x", v)
	e.member("device fold_sum<float>*", "parts", Field{Kind: Scratch, Size: 8, At: 8 * *blocks})
	e.constant("total", n)
	e.declareSpace()
	e.line("threadgroup fold_sum<float> space[%d];", threads/simdWidth)
	e.line("fold_sum<float> f = fold_sum<float>::start();")
	e.line("for (%[1]s e = %[1]s(group.x) * %[2]d + %[1]s(at.x); e < a.total; e += %[3]d) {", e.index, threads, groups*threads)
	e.allCoordinates("e")
	e.line("const float v = %s;", e.element("x", v))
	e.line("f.take(v * v);")
	e.line("}")
	e.line("f = group_folded(f, space, lane, simd, simds);")
	e.line("if (at.x == 0) f.put(a.parts + group.x);")
	*blocks += groups
	return e.finish("squares", "sum of squares", parameters, along(groups), along(threads))
}

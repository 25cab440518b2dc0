package kernel

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A windowed is an op of the family of convolutions that is being written down: a thread computes one element
// of the result, and goes through the taps of the kernel, the channels of the group or the places of all
// images.
//
// What is computed: an element of conv adds C/G·K products, of which neighbours read the same weights and
// overlapping windows, so caches serve most reads. That is for convolutions of few channels, or small ones;
// the others are products, see conv_columns.go.
type windowed struct {
	*elementText
	in      *backend.Inst
	windows []ir.Window
	braces  int // open blocks
}

// conv writes the three products down.
func conv(g *backend.Group, k *Kernel) {
	in := &g.Insts[0]
	if ir.Size(in.Shape) == 0 || convolve(g, k) || convByColumns(g, k) {
		return
	}
	switch in.Op {
	case ir.Conv:
		forwardConv(g, k)
	case ir.ConvTranspose:
		transposedConv(g, k)
	default:
		weightConv(g, k)
	}
}

// newWindowed draws the space of a result, of which each of so many parts has a share: here(part) is its
// number. Places along its spatial axes are here(t0), here(t1), …, its channel (for a weight: its result) is
// here(c), and its number in the first axis here(n).
func newWindowed(g *backend.Group, limits Limits, parts int, shape []int) *windowed {
	in := &g.Insts[0]
	shape = append([]int{parts}, shape...)
	unit := func(axis int) ir.Layout { return counting(shape, axis, 1) }
	lays := []named{contiguous("y", shape), {name: "part", layout: unit(0)}, {name: "n", layout: unit(1)}, {name: "c", layout: unit(2)}}
	for axis := range shape[3:] {
		lays = append(lays, named{name: fmt.Sprintf("t%d", axis), layout: unit(3 + axis)})
	}
	for i, v := range in.Args {
		l := inputLayout(g, v)
		lays = append(lays, named{name: operandNames[i], layout: ir.Layout{Offset: l.Offset}, reach: reachOf(l)})
	}
	w := &windowed{elementText: newElements(g, limits, in.Op.String(), shape, lays...), in: in, windows: ir.WindowsOf(in.Attr)}
	for i, v := range in.Args {
		l, name := inputLayout(g, v), operandNames[i]
		w.reads(name, v)
		for axis, s := range l.Stride {
			w.constant(fmt.Sprintf("%s_s%d", name, axis), s)
		}
	}
	for axis, d := range w.windows {
		w.constant(fmt.Sprintf("kernel%d", axis), d.Kernel)
		w.constant(fmt.Sprintf("stride%d", axis), d.Stride)
		w.constant(fmt.Sprintf("before%d", axis), d.Before)
		w.constant(fmt.Sprintf("dilation%d", axis), d.Dilation)
	}
	return w
}

var operandNames = [...]string{"p", "q"}

// open begins a block that ends with the element.
func (w *windowed) open(format string, args ...any) {
	w.line(format+" {", args...)
	w.braces++
}

// loop begins a loop of name from 0 to the constant upTo.
func (w *windowed) loop(name, upTo string) {
	w.open("for (%[1]s %[2]s = 0; %[2]s < a.%[3]s; %[2]s++)", w.index, name, upTo)
}

// lengths declares how long the spatial axes are along which a window reads, or of which it has places.
func (w *windowed) lengths(name string, shape []int) {
	for axis, n := range shape {
		w.constant(fmt.Sprintf("%s%d", name, axis), n)
	}
}

// taps goes through the taps, and the elements s0, s1, … of x that they read at places t0, t1, ….
func (w *windowed) taps(place func(axis int) string) {
	for axis := range w.windows {
		w.loop(fmt.Sprintf("k%d", axis), fmt.Sprintf("kernel%d", axis))
		w.read(axis, place(axis), fmt.Sprintf("k%d", axis))
	}
}

// read declares the element that a tap reads at a place, and goes on if there is one.
func (w *windowed) read(axis int, place, tap string) {
	w.line("const %[1]s s%[2]d = %[3]s * a.stride%[2]d - a.before%[2]d + %[4]s * a.dilation%[2]d;", w.index, axis, place, tap)
	w.open("if (s%[1]d >= 0 && s%[1]d < a.length%[1]d)", axis)
}

// spot is the element of an operand: the first two axes, and then names with the axis' number.
func (w *windowed) spot(operand, first, second, rest string) string {
	expr := fmt.Sprintf("(%s) * a.%s_s0 + (%s) * a.%s_s1", first, operand, second, operand)
	for axis := range w.windows {
		expr += fmt.Sprintf(" + %s%d * a.%s_s%d", rest, axis, operand, 2+axis)
	}
	return fmt.Sprintf("float(loaded(a.%s[%s]))", operand, expr)
}

// along is the place of the element along a spatial axis.
func (w *windowed) along(axis int) string { return w.here(fmt.Sprintf("t%d", axis)) }

// sum writes the body: begin opens the loops, and product is what is multiplied in the innermost.
func (w *windowed) sum(o backend.Output, begin func(), product func() (string, string)) []Dispatch {
	return w.dispatch(func() {
		w.line("fold_sum<float> f = fold_sum<float>::start();")
		begin()
		x, y := product()
		w.line("f.take(%s * %s);", x, y)
		w.close(w.braces)
		w.store(o.DType, "f.value()")
	})
}

func forwardConv(g *backend.Group, k *Kernel) {
	in, o := &g.Insts[0], g.Outputs[0]
	x, weight := inputLayout(g, in.Args[0]).Shape, inputLayout(g, in.Args[1]).Shape
	w := newWindowed(g, k.limits, 1, o.Shape)
	w.writes(o)
	w.lengths("length", x[2:])
	w.constant("channels", weight[1])
	w.constant("results", weight[0]/in.Attr.Index)
	k.Dispatches = w.sum(o, func() {
		w.line("const %s first = %s / a.results * a.channels;", w.index, w.here("c"))
		w.loop("c", "channels")
		w.taps(w.along)
	}, func() (string, string) {
		return w.spot("p", w.here("n"), "first + c", "s"), w.spot("q", w.here("c"), "c", "k")
	})
}

func transposedConv(g *backend.Group, k *Kernel) {
	in, o := &g.Insts[0], g.Outputs[0]
	y, weight := inputLayout(g, in.Args[0]).Shape, inputLayout(g, in.Args[1]).Shape
	w := newWindowed(g, k.limits, 1, o.Shape)
	w.writes(o)
	w.lengths("places", y[2:])
	w.constant("channels", weight[1])
	w.constant("results", weight[0]/in.Attr.Index)
	k.Dispatches = w.sum(o, func() {
		w.line("const %s first = %s / a.channels * a.results;", w.index, w.here("c"))
		w.loop("o", "results")
		for axis := range w.windows {
			w.loop(fmt.Sprintf("k%d", axis), fmt.Sprintf("kernel%d", axis))
			w.line("const %[1]s at%[2]d = %[3]s + a.before%[2]d - k%[2]d * a.dilation%[2]d;", w.index, axis, w.along(axis))
			w.line("const %[1]s s%[2]d = at%[2]d / a.stride%[2]d;", w.index, axis)
			w.open("if (at%[1]d >= 0 && s%[1]d * a.stride%[1]d == at%[1]d && s%[1]d < a.places%[1]d)", axis)
		}
	}, func() (string, string) {
		return w.spot("p", w.here("n"), "first + o", "s"), w.spot("q", "first + o", w.here("c")+" % a.channels", "k")
	})
}

// How a weight's gradient is shared: one of few weights has parts, of some rows of places each.
const leastPlacesOfPart = 4096

// weightConv adds up over the places of all images: by parts, if there are fewer weights than threads.
func weightConv(g *backend.Group, k *Kernel) {
	in, o := &g.Insts[0], g.Outputs[0]
	x, y := inputLayout(g, in.Args[0]).Shape, inputLayout(g, in.Args[1]).Shape
	size, lines := ir.Size(o.Shape), y[0]*y[2]
	parts := max(1, min(wantThreads/size, lines, lines*ir.Size(y[3:])/leastPlacesOfPart))
	each := (lines + parts - 1) / parts
	parts = max(1, (lines+each-1)/max(each, 1))
	w := newWindowed(g, k.limits, parts, o.Shape)
	to := o
	if parts > 1 {
		to.DType, to.Buf = dtype.F32, workspace
	}
	w.writes(to)
	w.lengths("length", x[2:])
	w.lengths("places", y[2:])
	w.constant("lines", lines)
	w.constant("each", each)
	w.constant("channels", o.Shape[1])
	w.constant("results", o.Shape[0]/in.Attr.Index)
	k.Dispatches = w.sum(to, func() {
		w.line("const %[1]s first = %[2]s / a.results * a.channels, from = %[3]s * a.each, end = min(from + a.each, a.lines);", w.index, w.here("n"), w.here("part"))
		w.open("for (%[1]s line = from; line < end; line++)", w.index)
		w.line("const %[1]s n = line / a.places0, k0 = line %% a.places0;", w.index)
		w.read(0, "k0", w.along(0))
		for axis := 1; axis < len(w.windows); axis++ {
			w.loop(fmt.Sprintf("k%d", axis), fmt.Sprintf("places%d", axis))
			w.read(axis, fmt.Sprintf("k%d", axis), w.along(axis))
		}
	}, func() (string, string) {
		return w.spot("p", "n", "first + "+w.here("c"), "s"), w.spot("q", "n", w.here("n"), "k")
	})
	if parts == 1 {
		return
	}
	sum := &backend.Group{Name: g.Name, Kind: backend.Reduce}
	addRows(sum, workspace, ir.Contiguous([]int{parts, size}), o)
	k.reduce(sum, ceilTo(4*parts*size, 64), k.limits)
}

// maxPool writes down the greatest element of each window, and its place.
func maxPool(g *backend.Group, k *Kernel) {
	in := &g.Insts[0]
	x := inputLayout(g, in.Args[0]).Shape
	dt := g.Type(in.Args[0]).DType
	w := newWindowed(g, k.limits, 1, in.Outs[0].Shape)
	for _, o := range g.Outputs {
		w.pointer("", fmt.Sprintf("y%d", o.Value.Result), o.DType, o.Buf, 0)
	}
	w.lengths("length", x[2:])
	reg := register(dt)
	k.Dispatches = w.dispatch(func() {
		w.line("%s best = %s;", reg, nothing(reg))
		w.line("%s place = -1;", w.index)
		w.taps(w.along)
		at, place := fmt.Sprintf("%s * a.p_s0 + %s * a.p_s1", w.here("n"), w.here("c")), "s0"
		for axis := range w.windows {
			at += fmt.Sprintf(" + s%[1]d * a.p_s%[2]d", axis, 2+axis)
			if axis > 0 {
				place = fmt.Sprintf("(%s) * a.length%d + s%d", place, axis, axis)
			}
		}
		w.line("const %[1]s v = %[1]s(loaded(a.p[%[2]s]));", reg, at)
		better := "v > best"
		if dt.Float() {
			better += " || (isnan(v) && !isnan(best))"
		}
		w.line("if (place < 0 || %s) {", better)
		w.line("best = v;")
		w.line("place = %s;", place)
		w.line("}")
		w.close(w.braces)
		for _, o := range g.Outputs {
			value := memoryTypes[o.DType] + "(best)"
			if o.Value.Result == 1 {
				value = "long(place)"
			}
			w.line("a.y%d[%s] = %s;", o.Value.Result, w.here("y"), value)
		}
	})
}

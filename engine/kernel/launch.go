package kernel

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/box"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Launch is one call of a kernel. Options.Launch looks at the inputs and says how it is made. What is wrong
// in it is a panic of a *tensor.Error.
type Launch struct {
	k       *Kernel
	in      []*ir.Node
	shapes  map[string][]int // of outputs
	zero    map[string]bool
	numbers map[string]float64
	whole   map[string]int // the numbers that are integers
	types   map[string]dtype.Type
	groups  []int
	threads []int
	cover   []int
	flops   int64
}

// mostThreads is how many threads a threadgroup has at most, on any device.
const mostThreads = 1024

func (k *Kernel) fail(format string, args ...any) {
	panic(&tensor.Error{Op: k.name, Msg: fmt.Sprintf(format, args...)})
}

// node returns the input of that name.
func (l *Launch) node(name string) *ir.Node {
	for i, at := range l.k.inputs {
		if l.k.args[at].name == name {
			return l.in[i]
		}
	}
	l.k.fail("got the input %q, want one of %s", name, l.k.list(input))
	return nil
}

// Shape returns the shape of an input.
func (l *Launch) Shape(input string) []int { return slices.Clone(l.node(input).Shape) }

// Len returns the length of an input's axis; a negative axis counts from the end.
func (l *Launch) Len(input string, axis int) int {
	n := l.node(input)
	at := axis
	if at < 0 {
		at += len(n.Shape)
	}
	if at < 0 || at >= len(n.Shape) {
		l.k.fail("got %v, want an axis %d", n, axis)
	}
	return n.Shape[at]
}

// Size returns the number of an input's elements.
func (l *Launch) Size(input string) int { return ir.Size(l.node(input).Shape) }

// DType returns the type of an input's elements.
func (l *Launch) DType(input string) dtype.Type { return l.node(input).DType }

// Out gives an output its shape.
func (l *Launch) Out(output string, shape ...int) {
	l.k.want(outputOf, output)
	for _, n := range shape {
		if n < 1 {
			l.k.fail("got the shape %v for %s, want lengths of 1 at least", shape, output)
		}
	}
	l.shapes[output] = append([]int{}, shape...)
}

// Zero fills an output with zeros before the kernel runs, which is a launch more. Without it what the kernel
// does not write is undefined; in the checked path it is NaN, or an integer with all bits set.
func (l *Launch) Zero(output string) {
	l.k.want(outputOf, output)
	l.zero[output] = true
}

// Set gives a constant, or a number of the template, its value.
func (l *Launch) Set(name string, value int) {
	l.k.want(numberOf, name)
	l.whole[name] = value
}

// SetFloat gives a constant of type float its value.
func (l *Launch) SetFloat(name string, value float64) {
	l.k.want(numberOf, name)
	l.numbers[name] = value
}

// SetType gives a typename of the template its type, where no input has it.
func (l *Launch) SetType(name string, t dtype.Type) {
	l.k.want(typeOf, name)
	l.types[name] = t
}

// Groups says how many threadgroups there are, along up to three axes.
func (l *Launch) Groups(n ...int) { l.groups = l.k.extent("threadgroups", n) }

// Threads says how many threads a threadgroup has, along up to three axes: 1,024 together at most, and a
// multiple of 32 if the text has operations of simdgroups.
func (l *Launch) Threads(n ...int) { l.threads = l.k.extent("threads", n) }

// Cover makes as many threadgroups as give n threads together along each axis. The last ones may have threads
// without work, so the kernel compares its position.
func (l *Launch) Cover(n ...int) { l.cover = l.k.extent("threads", n) }

// Flops says how many floating-point operations the mathematics of the call needs, for profiles. Without it
// they show no arithmetic for the kernel.
func (l *Launch) Flops(n int64) { l.flops = n }

func (k *Kernel) extent(what string, n []int) []int {
	bad := func(n int) bool { return n < 1 || n > math.MaxInt32 }
	if len(n) < 1 || len(n) > 3 || slices.ContainsFunc(n, bad) {
		k.fail("got %v %s, want one to three numbers of 1 at least", n, what)
	}
	return append(slices.Clone(n), 1, 1)[:3]
}

// What a name can stand for.
const (
	outputOf = iota
	numberOf
	typeOf
)

// want refuses a name that the head does not have.
func (k *Kernel) want(what int, name string) {
	var have []string
	for _, a := range k.args {
		if what == outputOf && a.kind == output || what == numberOf && a.kind == number {
			have = append(have, a.name)
		}
	}
	for _, p := range k.head.Parameters {
		if what == typeOf && p.Typename() || what == numberOf && !p.Typename() {
			have = append(have, p.Name)
		}
	}
	if !slices.Contains(have, name) {
		k.fail("got the %s %q, want one of %q", [...]string{"output", "constant", "typename"}[what], name, have)
	}
}

// list names the arguments of a kind.
func (k *Kernel) list(kind argumentKind) string { return strings.Join(k.named(kind), ", ") }

func (k *Kernel) named(kind argumentKind) (names []string) {
	for _, a := range k.args {
		if a.kind == kind {
			names = append(names, a.name)
		}
	}
	return names
}

// Call runs the kernel on its inputs, in the order of its head, and returns its output: the first one, if
// there are several. A tensor of another dtype than the head says, and a mistake in Options.Launch, is a
// panic of a *tensor.Error. Inputs whose elements do not lie one after the other are copied.
func (k *Kernel) Call(in ...tensor.Tensor) tensor.Tensor {
	first, err := ir.New(ir.Pick, ir.Attr{}, k.call(in))
	k.check(err)
	return access.Wrap(first)
}

// CallAll is Call for all outputs, in the order of the head.
func (k *Kernel) CallAll(in ...tensor.Tensor) []tensor.Tensor {
	out, err := box.Results(access.Wrap, k.call(in))
	k.check(err)
	return out
}

// call makes the node of a call.
func (k *Kernel) call(in []tensor.Tensor) *ir.Node {
	nodes := make([]*ir.Node, len(in))
	for i, t := range in {
		nodes[i] = access.Node(t, k.name)
	}
	made := k.prepare(nodes)
	if k.options.Grad != nil {
		made.Gradient = box.GradientOf("Options.Grad", k.named(input), access.Wrap, k.options.Grad)
	}
	n, err := ir.New(ir.UserKernel, ir.Attr{Kernel: made}, nodes...)
	k.check(err)
	return n
}

// check panics if a node could not be made.
func (k *Kernel) check(err error) {
	var wrong *ir.Error
	if errors.As(err, &wrong) {
		k.fail("%s", wrong.Msg)
	}
	if err != nil {
		k.fail("%v", err)
	}
}

// prepare asks Options.Launch about a call.
func (k *Kernel) prepare(in []*ir.Node) *ir.Kernel {
	if len(in) != len(k.inputs) {
		k.fail("got %d tensors, want %d: %s", len(in), len(k.inputs), k.list(input))
	}
	l := &Launch{k: k, in: in, shapes: map[string][]int{}, zero: map[string]bool{}, numbers: map[string]float64{}, whole: map[string]int{},
		types: map[string]dtype.Type{}, threads: []int{256, 1, 1}, flops: -1}
	k.bindTypes(l)
	if k.options.Launch != nil {
		k.options.Launch(l)
	}
	made := &ir.Kernel{Name: k.name, Flops: l.flops, Threads: [3]int(l.threads)}
	values := l.values()
	made.Function = k.function(values)
	var err error
	if made.Text, err = k.text(values); err != nil {
		k.fail("%s", strings.TrimPrefix(err.Error(), "kernel: "+k.name+": "))
	}
	l.arguments(made)
	l.grid(made)
	made.SetKey()
	return made
}

// bindTypes checks the dtypes of the inputs, and finds those of the template.
func (k *Kernel) bindTypes(l *Launch) {
	for i, at := range k.inputs {
		a, n := &k.args[at], l.in[i]
		want := a.dtype
		if a.param != "" {
			if l.types[a.param] == dtype.Invalid {
				l.types[a.param] = n.DType
			}
			want = l.types[a.param]
		}
		switch {
		case ir.Size(n.Shape) == 0:
			k.fail("got %v for %s, want elements", n, a.name)
		case words[n.DType] == "":
			k.fail("got %v for %s, want a dtype that Metal has (%v is none)", n, a.name, n.DType)
		case n.DType != want:
			k.fail("got %v for %s, want %v", n, a.name, want)
		}
	}
}

// values are what stands for the parameters of the template.
func (l *Launch) values() map[string]string {
	values := map[string]string{}
	for _, p := range l.k.head.Parameters {
		n, whole := l.whole[p.Name]
		switch t := l.types[p.Name]; {
		case t != dtype.Invalid:
			if values[p.Name] = words[t]; words[t] == "" {
				l.k.fail("got %v for %s, want a dtype that Metal has", t, p.Name)
			}
		case whole:
			values[p.Name] = fmt.Sprint(n)
		case p.Default != "":
			values[p.Name] = p.Default
		case p.Typename():
			l.k.fail("typename %s has no type: call SetType(%[1]q, dtype.F32) in Options.Launch", p.Name)
		default:
			l.k.fail("%s has no value: call Set(%[1]q, …) in Options.Launch", p.Name)
		}
	}
	return values
}

// arguments says what the members of the struct hold.
func (l *Launch) arguments(made *ir.Kernel) {
	sources := 0
	for _, a := range l.k.args {
		switch a.kind {
		case input:
			made.Args = append(made.Args, ir.KernelArg{Kind: ir.KernelSource, Index: sources})
			sources++
		case output:
			dt := a.dtype
			if a.param != "" {
				dt = l.types[a.param]
			}
			shape := l.shapes[a.name]
			if shape == nil {
				shape = slices.Clone(l.in[0].Shape)
			}
			made.Args = append(made.Args, ir.KernelArg{Kind: ir.KernelResult, Index: len(made.Outs), Zero: l.zero[a.name]})
			made.Outs = append(made.Outs, ir.Type{DType: dt, Shape: shape})
		case number:
			made.Args = append(made.Args, ir.KernelArg{Kind: ir.KernelNumber, Size: a.dtype.Size(), Bits: l.bits(a)})
		}
	}
}

// bits is the value of a constant as its type holds it.
func (l *Launch) bits(a argument) uint64 {
	n, whole := l.whole[a.name]
	x, fraction := l.numbers[a.name]
	switch {
	case !whole && !fraction:
		l.k.fail("constant %s has no value: call Set(%[1]q, …) in Options.Launch", a.name)
	case a.dtype == dtype.F32 && whole:
		return uint64(math.Float32bits(float32(n)))
	case a.dtype == dtype.F32:
		return uint64(math.Float32bits(float32(x)))
	case fraction:
		l.k.fail("got %v for %s, want an integer: call Set", x, a.name)
	case a.dtype == dtype.I32 && int64(n) != int64(int32(n)), a.dtype == dtype.U32 && int64(n) != int64(uint32(n)), a.dtype == dtype.U64 && n < 0:
		l.k.fail("got %d for %s, want a number that fits into %s", n, a.name, words[a.dtype])
	}
	if a.dtype.Size() == 4 {
		return uint64(uint32(n))
	}
	return uint64(n)
}

// grid says how many threads there are.
func (l *Launch) grid(made *ir.Kernel) {
	threads := l.threads[0] * l.threads[1] * l.threads[2]
	most := mostThreads
	if l.k.head.MaxThreads > 0 {
		most = min(most, l.k.head.MaxThreads)
	}
	switch {
	case threads > most:
		l.k.fail("got %d threads in a threadgroup, want at most %d", threads, most)
	case l.k.lanes && threads%32 != 0:
		l.k.fail("got %d threads in a threadgroup, want a multiple of 32: the kernel has operations of simdgroups", threads)
	case l.groups != nil && l.cover != nil:
		l.k.fail("got Groups and Cover, want one of them")
	}
	made.Groups = [3]int{1, 1, 1}
	switch {
	case l.groups != nil:
		made.Groups = [3]int(l.groups)
	case l.cover != nil:
		for i, n := range l.cover {
			made.Groups[i] = (n + l.threads[i] - 1) / l.threads[i]
		}
	default:
		made.Groups[0] = (ir.Size(made.Outs[0].Shape) + threads - 1) / threads
	}
}

// function is the name of the kernel with these values in texts.
func (k *Kernel) function(values map[string]string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q", k.source.Name, k.source.Text)
	for _, p := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(h, " %q=%q", p, values[p])
	}
	return k.name + "_" + hex.EncodeToString(h.Sum(nil)[:6])
}

// text is the text with these values, complete.
func (k *Kernel) text(values map[string]string) (string, error) {
	function := k.function(values)
	k.made.Lock()
	defer k.made.Unlock()
	if text, ok := k.made.texts[function]; ok {
		return text, nil
	}
	text, err := k.source.Gather(k.head, function, values)
	if err != nil {
		return "", refused(k.name, err)
	}
	if err := k.lint(text, function); err != nil {
		return "", err
	}
	if k.made.texts == nil {
		k.made.texts = map[string]string{}
	}
	k.made.texts[function] = text
	return text, nil
}

package kernel

import (
	"cmp"
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A walker declares and loads the inputs of a group, and names its values.
type walker struct {
	*text
	space  *space
	names  []string // of each input's value, "" before it is loaded
	vector []bool   // inputs of which a thread holds several elements
	each   int      // how many those are: 4, or 8
}

func newWalker(t *text, s *space) *walker {
	return &walker{text: t, space: s, names: make([]string, len(t.g.Inputs)), vector: make([]bool, len(t.g.Inputs)), each: 4}
}

// workspace is the buffer of an input that lies in the workspace, from its layout's offset on.
const workspace = -2

// isNumber says whether an input is one of the command's scalars.
func isNumber(in backend.Input) bool { return in.Buf == -1 }

// declareInput declares the pointer or the number that input i is. It is walked through as the space's place
// i.
func (w *walker) declareInput(i int) {
	in, name := w.g.Inputs[i], w.inputName(i)
	if isNumber(in) {
		w.number(name, in.DType, in.Scalar)
		return
	}
	w.pointer("const ", name, in.DType, in.Buf, w.space.places[i].offset)
}

// declareInputs declares those that are needed, and their strides; nil stands for all.
func (w *walker) declareInputs(needed need) {
	for i := range w.g.Inputs {
		if needed == nil || needed[i] {
			w.declareInput(i)
			w.declareStrides(w.inputName(i), &w.space.places[i])
		}
	}
}

// declareOutput declares output i, which is walked through as place p, and its strides.
func (w *walker) declareOutput(i int, o *backend.Output, p *place) {
	w.pointer("", outputName(i), o.DType, o.Buf, p.offset)
	w.declareStrides(outputName(i), p)
}

// outputName is the name of an output, and of the member through which it is stored.
func outputName(i int) string { return fmt.Sprintf("y%d", i) }

// declareStrides declares the strides that at needs: those that are neither 0 nor, of the innermost axis, 1.
func (w *walker) declareStrides(name string, p *place) {
	for axis, s := range p.strides {
		if s != 0 && !(axis == 0 && s == 1) {
			w.constant(fmt.Sprintf("%s_%d", name, axis), s)
		}
	}
}

// declareLengths declares those of the axes.
func (w *walker) declareLengths() {
	for axis, n := range w.space.lens {
		w.constant(fmt.Sprintf("n%d", axis), n)
	}
}

// coordinates takes a flat place apart into those along some axes, i0, i1, … What is left of it on the way
// has a name, which is declared unless it is the flat place itself.
func (w *walker) coordinates(flat, left string, axes []int) {
	if len(axes) > 1 && flat != left {
		w.line("%s %s = %s;", w.index, left, flat)
		flat = left
	}
	for n, axis := range axes {
		if n == len(axes)-1 {
			w.line("const %s i%d = %s;", w.index, axis, flat)
			return
		}
		w.line("const %s i%d = %s %% a.n%d;", w.index, axis, left, axis)
		w.line("%s /= a.n%d;", left, axis)
	}
}

// axesFrom lists the axes from one on.
func (s *space) axesFrom(first int) (axes []int) {
	for axis := first; axis < len(s.lens); axis++ {
		axes = append(axes, axis)
	}
	return axes
}

// A need says of each input of a group whether it is read.
type need []bool

// reads notes values, as far as they are inputs.
func (n need) reads(values ...backend.Ref) {
	for _, v := range values {
		if i, input := v.Input(); input {
			n[i] = true
		}
	}
}

// marked notes what the instructions of a list read.
func (n need) marked(g *backend.Group, list []bool) need {
	for i, in := range g.Insts {
		if list[i] {
			n.reads(in.Args...)
		}
	}
	return n
}

// outputs notes the values of the outputs.
func (n need) outputs(g *backend.Group) {
	for _, o := range g.Outputs {
		n.reads(o.Value)
	}
}

// at is the index expression of a place: the thread's coordinates are i0, i1, …
func (w *walker) at(name string, p *place) string {
	expr := ""
	for axis, s := range p.strides {
		if s == 0 {
			continue
		}
		if expr != "" {
			expr += " + "
		}
		if axis == 0 && s == 1 {
			expr += "i0"
		} else {
			expr += fmt.Sprintf("i%d * a.%s_%d", axis, name, axis)
		}
	}
	return cmp.Or(expr, "0")
}

// load writes down how input i comes into registers, several elements of it if it is a vector.
func (w *walker) load(i int, vectors bool) {
	in := &w.g.Inputs[i]
	name := w.inputName(i)
	w.names[i] = name
	if isNumber(*in) {
		w.line("const %s %s = convert<%s>::from(a.%s);", register(in.DType), name, register(in.DType), name)
		return
	}
	p := &w.space.places[i]
	if vectors && p.strides[0] == 1 {
		w.vector[i] = true
		w.line("%s %s[%d];", register(in.DType), name, w.each)
		w.line("load%d(a.%s + (%s), %s);", w.each, name, w.at(name, p), name)
		return
	}
	w.line("const %s %s = %s(loaded(a.%s[%s]));", register(in.DType), name, register(in.DType), name, w.at(name, p))
}

// loadAll loads the inputs that are needed, and forgets what was loaded before.
func (w *walker) loadAll(needed need, vectors bool) {
	for i := range w.names {
		w.names[i], w.vector[i] = "", false
	}
	for i, needs := range needed {
		if needs {
			w.load(i, vectors)
		}
	}
}

// value names what a Ref refers to; within a loop over the elements of a vector, element k of it.
func (w *walker) value(r backend.Ref) string {
	i, input := r.Input()
	switch {
	case !input:
		return w.valueName(r.Index)
	case w.vector[i]:
		return w.names[i] + "[k]"
	}
	return w.names[i]
}

// store stores a value as the element of output i here, which place p walks through, under a condition.
func (w *walker) store(condition string, i int, p *place, dt dtype.Type, v backend.Ref) {
	w.line(condition+"a.%s[%s] = %s(%s);", outputName(i), w.at(outputName(i), p), memoryTypes[dt], w.value(v))
}

// storeVector stores the elements that are in the array of the output's name.
func (w *walker) storeVector(condition string, i int, p *place) {
	w.line(condition+"store%d(a.%s + (%s), %s);", w.each, outputName(i), w.at(outputName(i), p), outputName(i))
}

// computeAll writes the elementwise instructions of a list down.
func (w *walker) computeAll(list []bool) {
	for i, listed := range list {
		if listed {
			w.compute(i)
		}
	}
}

// compute writes an elementwise instruction down.
func (w *walker) compute(i int) {
	in := &w.g.Insts[i]
	args := make([]string, len(in.Args))
	types := make([]dtype.Type, len(in.Args))
	for k, r := range in.Args {
		if in.Op == ir.Bitcast {
			r = w.bits(r)
		}
		args[k], types[k] = w.value(r), w.g.Type(r).DType
	}
	w.line("const %s %s = %s;", register(in.DType), w.valueName(i), expression(in, types, args))
}

// bits is what the bits of a value are read from. A register holds an f16 as a float, and a conversion may
// change the bits of one that is no number: bitcasts of bitcasts go around it.
func (w *walker) bits(r backend.Ref) backend.Ref {
	for {
		if _, input := r.Input(); input || w.g.Insts[r.Index].Op != ir.Bitcast {
			return r
		}
		r = w.g.Insts[r.Index].Args[0]
	}
}

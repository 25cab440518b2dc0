package kernel

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// NotFinite is the code, for ir.Kernel.Fail, of a matrix with a singular value or an eigenvalue that is NaN
// or infinite. Codes above 0 are info, or of SolveRoutine the first element of the diagonal that is 0,
// counted from 1.
const NotFinite = 0

// routine writes a routine as a call of the library, and as texts that look at what it says.
func routine(g *backend.Group, k *Kernel, own *ir.Kernel) {
	r := *own.Routine
	list, sources := r.Operands()
	c := &Call{}
	put := func(operand int, dt dtype.Type, buf, offset int) {
		c.Operands[operand] = field(buf, offset*dt.Size())
	}
	for i := range sources {
		c.Operands[i] = placeOf(inputOf(g, g.Insts[0].Args[i]))
	}
	results := len(own.Outs)
	if r.Name == ir.LURoutine {
		results = 1 // of the others texts are made
	}
	for i := range results {
		buf, offset := resultPlace(g, k, i, own.Outs[i])
		put(sources+i, own.Outs[i].DType, buf, offset)
	}
	for i, t := range list[sources+results:] {
		buf, offset := resultPlace(g, k, -1, ir.Type{DType: t.DType, Shape: slices.Concat([]int{r.Batches}, t.Shape)})
		put(sources+results+i, t.DType, buf, offset)
	}
	if r.Name == ir.SVDRoutine || r.Name == ir.EighRoutine {
		r.Vectors = slices.ContainsFunc(g.Outputs, func(o backend.Output) bool { return o.Value.Result > 0 })
	}
	c.Work = r
	if l := k.limits.Library; l != nil {
		c.WorkspaceBytes, _ = l.Offer(r)
	}
	first := slices.IndexFunc(list, func(t ir.Type) bool { return t.DType == dtype.I64 })
	for i, of := range r.Addressed() {
		k.Dispatches = append(k.Dispatches, addresses(g, k, &r, c, of, first+i)...)
	}
	k.Dispatches = append(k.Dispatches, Dispatch{Library: c})
	switch r.Name {
	case ir.LURoutine:
		k.Dispatches = append(k.Dispatches, places(g, k, &r, own, c.Operands[sources+1])...)
	case ir.QRRoutine, ir.FFTRoutine, ir.IFFTRoutine, ir.RFFTRoutine, ir.IRFFTRoutine: // which every matrix has
	case ir.SolveRoutine:
		if r.Unit {
			break
		}
		reports(g, k, &r, own, r.Rows, func(e *elementText) string {
			e.member("device const float*", "x", c.Operands[0])
			e.member("long", "apart", Field{Kind: Constant, Size: 8, Value: int64(r.Rows + 1)})
			e.member("long", "matrix", Field{Kind: Constant, Size: 8, Value: int64(r.Rows * r.Rows)})
			e.line("const bool bad = a.x[long(matrix) * a.matrix + long(element) * a.apart] == 0;")
			return "element + 1"
		})
	default:
		count, values := 1, Field{}
		if r.Name == ir.SVDRoutine || r.Name == ir.EighRoutine {
			count, values = r.Columns, c.Operands[sources]
		}
		reports(g, k, &r, own, count, func(e *elementText) string {
			e.member("device const int*", "info", c.Operands[len(list)-1])
			e.line("int code = element == 0 ? a.info[matrix] : 0;")
			e.line("bool bad = code != 0;")
			if values.Size > 0 {
				e.member("device const float*", "x", values)
				e.line("const float value = a.x[long(matrix) * a.length + element];")
				e.line("if (!isfinite(value)) {")
				e.line("bad = true;")
				e.line("code = 0;")
				e.line("}")
			}
			return "code"
		})
	}
	k.shareWorkspace()
}

// addresses writes the text that fills a table with the addresses of an operand's matrices.
func addresses(g *backend.Group, k *Kernel, r *ir.Routine, c *Call, of, table int) []Dispatch {
	shape := []int{r.Batches}
	e := newElements(g, k.limits, "addresses", shape, contiguous("matrix", shape))
	e.member("long", "base", c.Operands[of])
	e.member("device long*", "table", c.Operands[table])
	e.member("long", "apart", Field{Kind: Constant, Size: 8, Value: int64(r.Bytes(of) / r.Batches)})
	return e.dispatch(func() {
		e.line("const long matrix = long(%s);", e.here("matrix"))
		e.line("a.table[matrix] = a.base + matrix * a.apart;")
	})
}

// reports writes the text that reports what is wrong with the matrices, of which each has so many elements to
// look at. The condition declares bad, and returns the code. The position that is reported has the matrix and
// the code in it, so that the least one is the first matrix.
func reports(g *backend.Group, k *Kernel, r *ir.Routine, own *ir.Kernel, elements int, condition func(e *elementText) string) {
	codes := max(r.Rows, r.Columns) + 3
	shape := []int{r.Batches, elements}
	e := newElements(g, k.limits, "routine", shape,
		named{name: "matrix", layout: counting(shape, 0, 1)}, named{name: "element", layout: counting(shape, 1, 1)})
	e.faulty()
	e.member("long", "codes", Field{Kind: Constant, Size: 8, Value: int64(codes)})
	e.member("long", "length", Field{Kind: Constant, Size: 8, Value: int64(elements)})
	k.Dispatches = append(k.Dispatches, e.dispatch(func() {
		e.line("const int matrix = int(%s);", e.here("matrix"))
		e.line("const int element = int(%s);", e.here("element"))
		code := condition(e)
		e.line("if (bad) report(a.fault, a.stop, uint(long(matrix) * a.codes + clamp(long(%s), 0l, a.codes - 1)), 0);", code)
	})...)
	k.Fault = func(position uint32, _ int64, _ bool) error {
		return own.Fail(int(position)/codes, int(position)%codes)
	}
}

// places writes the text that follows the pivots: a thread for each matrix, as they depend on one another.
func places(g *backend.Group, k *Kernel, r *ir.Routine, own *ir.Kernel, pivots Field) []Dispatch {
	shape := []int{r.Batches}
	e := newElements(g, k.limits, "places", shape, contiguous("matrix", shape))
	e.member("device const int*", "pivots", pivots)
	buf, offset := resultPlace(g, k, 1, own.Outs[1])
	e.pointer("", "rows", dtype.I64, buf, offset)
	buf, offset = resultPlace(g, k, 2, own.Outs[2])
	e.pointer("", "sign", dtype.F32, buf, offset)
	e.member("long", "count", Field{Kind: Constant, Size: 8, Value: int64(r.Rows)})
	e.member("long", "length", Field{Kind: Constant, Size: 8, Value: int64(min(r.Rows, r.Columns))})
	return e.dispatch(func() {
		e.line("const long matrix = long(%s);", e.here("matrix"))
		e.line("device long* rows = a.rows + matrix * a.count;")
		e.line("device const int* pivots = a.pivots + matrix * a.length;")
		e.line("float sign = 1;")
		e.line("for (long i = 0; i < a.count; i++) rows[i] = i;")
		e.line("for (long i = 0; i < a.length; i++) {")
		e.line("const long other = clamp(long(pivots[i]) - 1, i, a.count - 1);")
		e.line("if (other != i) {")
		e.line("const long row = rows[i];")
		e.line("rows[i] = rows[other];")
		e.line("rows[other] = row;")
		e.line("sign = -sign;")
		e.close(2)
		e.line("a.sign[matrix] = sign;")
	})
}

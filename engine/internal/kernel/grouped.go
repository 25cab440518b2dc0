package kernel

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A groupedText is a grouped_matmul or a grouped_weight that is being written down. A threadgroup computes
// columns of the product of one group, and finds the rows of that group by itself, in their order: so one
// launch is enough, and equal work gives equal bits. A group without rows reads no matrix.
//
// What is computed: a tile of 32×64 sums, of 32 steps of the inner axis at a time, in registers. The index is
// read once by each threadgroup, 8 bytes a row beside the 2·K operations of each of its columns.
type groupedText struct {
	*text
	in     *backend.Inst
	o      backend.Output
	simds  int
	groups int
	k, n   int // of each matrix
}

// A tile of a grouped product.
const (
	groupedRows    = 32
	groupedColumns = 64
	groupedDepth   = 32
)

func groupedMatMul(g *backend.Group, k *Kernel) {
	w := shapeOf(g, g.Insts[0].Args[1])
	t := newGrouped(g, k, w[0], w[1], w[2])
	if ir.Size(t.o.Shape) == 0 {
		return
	}
	t.find()
	t.clear()
	t.line("for (%[1]s from = 0; from < a.inner; from += %[2]d) {", t.index, groupedDepth)
	t.step("r < take && from + p < a.inner", "a.x[found[r] * a.x_0 + (from + p) * a.x_1]", inputLayout(g, t.in.Args[0]).Stride[1] == 1,
		"from + p < a.inner && column + c < a.columns", "a.w[matrix * a.w_0 + (from + p) * a.w_1 + (column + c) * a.w_2]", inputLayout(g, t.in.Args[1]).Stride[1] == 1)
	t.line("}")
	t.store("r < take", "found[r] * a.columns")
	t.next()
	k.Dispatches = []Dispatch{t.dispatch([3]int{(t.n + groupedColumns - 1) / groupedColumns, 1, t.groups})}
}

func groupedWeight(g *backend.Group, k *Kernel) {
	in := &g.Insts[0]
	t := newGrouped(g, k, in.Shape[0], in.Shape[1], in.Shape[2])
	if ir.Size(t.o.Shape) == 0 {
		return
	}
	t.line("const %[1]s top = %[1]s(group.y) * %[2]d;", t.index, groupedRows)
	t.clear()
	t.find()
	t.step("p < take && top + r < a.inner", "a.x[found[p] * a.x_0 + (top + r) * a.x_1]", false,
		"p < take && column + c < a.columns", "a.w[found[p] * a.w_0 + (column + c) * a.w_1]", false)
	t.next()
	t.store("top + r < a.inner", "(matrix * a.inner + top + r) * a.columns")
	k.Dispatches = []Dispatch{t.dispatch([3]int{(t.n + groupedColumns - 1) / groupedColumns, (t.k + groupedRows - 1) / groupedRows, t.groups})}
}

func newGrouped(g *backend.Group, k *Kernel, groups, inner, columns int) *groupedText {
	in, o := &g.Insts[0], g.Outputs[0]
	wide := ir.Size(o.Shape) > most32
	for _, v := range in.Args {
		wide = wide || reachOf(inputLayout(g, v)) > most32
	}
	t := &groupedText{text: newText(g, wide), in: in, o: o, simds: k.limits.group() / simdWidth, groups: groups, k: inner, n: columns}
	for i, name := range []string{"x", "w", "index"} {
		l := inputLayout(g, in.Args[i])
		t.pointer("const ", name, dtypeOf(g, in.Args[i]), t.buffer(in.Args[i]), l.Offset)
		for axis, s := range l.Stride {
			t.constant(fmt.Sprintf("%s_%d", name, axis), s)
		}
	}
	t.pointer("", "y", o.DType, o.Buf, 0)
	t.constant("rows", shapeOf(g, in.Args[2])[0])
	t.constant("inner", inner)
	t.constant("columns", columns)
	t.indexed(k, in.Op, 0, groups)
	t.line("threadgroup %s found[%d];", t.index, groupedRows+rowThreads)
	t.line("threadgroup float left[%d];", groupedRows*(groupedDepth+1))
	t.line("threadgroup float right[%d];", groupedDepth*(groupedColumns+1))
	t.line("threadgroup uint sums[32];")
	t.line("const %[1]s matrix = %[1]s(group.z), column = %[1]s(group.x) * %[2]d;", t.index, groupedColumns)
	t.line("%s next = 0;", t.index)
	t.line("int have = 0;")
	return t
}

// buffer is the buffer of an input.
func (t *groupedText) buffer(v backend.Ref) int {
	i, _ := v.Input()
	return t.g.Inputs[i].Buf
}

// clear declares the sums of a thread: some rows, and two columns.
func (t *groupedText) clear() {
	t.line("float sum[%d][2];", groupedRows/t.simds)
	t.line("for (int u = 0; u < %d; u++) sum[u][0] = sum[u][1] = 0.0f;", groupedRows/t.simds)
}

// find begins a loop over tiles of take rows of the group, whose places are in found.
func (t *groupedText) find() {
	t.line("while (true) {")
	t.line("while (have < %d && next < a.rows) {", groupedRows)
	t.line("const %[1]s mine = next + %[1]s(at.x);", t.index)
	t.line("bool hit = false;")
	t.line("if (mine < a.rows) {")
	t.line("const long chosen = a.index[mine * a.index_0];")
	t.line("if ((chosen < -a.length || chosen >= a.length) && group.x + group.y + group.z == 0) report(a.fault, a.stop, uint(mine), chosen);")
	t.line("hit = (chosen < 0 ? chosen + a.length : chosen) == long(matrix);")
	t.line("}")
	t.line("uint all;")
	t.line("const uint earlier = row_earlier(uint(hit), sums, lane, simd, %d, all);", t.simds)
	t.line("if (hit) found[have + int(earlier)] = mine;")
	t.line("have += int(all);")
	t.line("next += %s(size.x);", t.index)
	t.line("}")
	t.line("if (have == 0) break;")
	t.line("const int take = min(have, %d);", groupedRows)
	t.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
}

// next ends the loop: the places that are left move to the front.
func (t *groupedText) next() {
	t.line("have -= take;")
	t.line("%s kept = 0;", t.index)
	t.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	t.line("if (int(at.x) < have) kept = found[take + int(at.x)];")
	t.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	t.line("if (int(at.x) < have) found[at.x] = kept;")
	t.line("}")
}

// step adds the products of one part of the inner axis: of row r and step p of the left operand, and step p
// and column c of the right one, where there are such. Neighbouring threads load neighbouring steps, where
// these lie side by side, or else rows and columns.
func (t *groupedText) step(isLeft, left string, leftSteps bool, isRight, right string, rightSteps bool) {
	load := func(to, line, is, from string, lines int, steps bool, place string) {
		t.line("for (int i = int(at.x); i < %d; i += int(size.x)) {", lines*groupedDepth)
		if steps {
			t.line("const int %s = i / %d, p = i %% %[2]d;", line, groupedDepth)
		} else {
			t.line("const int %s = i %% %d, p = i / %[2]d;", line, lines)
		}
		t.line("float v = 0.0f;")
		t.line("if (%s) v = float(loaded(%s));", is, from)
		t.line("%s[%s] = v;", to, place)
		t.line("}")
	}
	t.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	load("left", "r", isLeft, left, groupedRows, leftSteps, fmt.Sprintf("r * %d + p", groupedDepth+1))
	load("right", "c", isRight, right, groupedColumns, rightSteps, fmt.Sprintf("p * %d + c", groupedColumns+1))
	t.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	t.line("for (int p = 0; p < %d; p++) {", groupedDepth)
	t.line("const float first = right[p * %d + int(lane)], second = right[p * %[1]d + int(lane) + 32];", groupedColumns+1)
	t.line("UNROLL for (int u = 0; u < %d; u++) {", groupedRows/t.simds)
	t.line("const float x = left[(int(simd) * %d + u) * %d + p];", groupedRows/t.simds, groupedDepth+1)
	t.line("sum[u][0] += x * first;")
	t.line("sum[u][1] += x * second;")
	t.line("}")
	t.line("}")
}

// store stores the sums of row r, if there is such, to where the row lies.
func (t *groupedText) store(is, row string) {
	t.line("for (int u = 0; u < %d; u++) {", groupedRows/t.simds)
	t.line("const int r = int(simd) * %d + u;", groupedRows/t.simds)
	t.line("if (%s) {", is)
	t.line("for (int e = 0; e < 2; e++) {")
	t.line("const %[1]s c = column + %[1]s(lane) + 32 * e;", t.index)
	t.line("if (c < a.columns) a.y[%s + c] = %s(sum[u][e]);", row, memoryTypes[t.o.DType])
	t.line("}")
	t.line("}")
	t.line("}")
}

func (t *groupedText) dispatch(groups [3]int) Dispatch {
	return t.finish(t.in.Op.String(), describe(t.g), inGroup+", uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]]",
		groups, along(t.simds*simdWidth))
}

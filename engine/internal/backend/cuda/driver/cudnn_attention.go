package driver

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
)

// An attending is attention as a graph of cuDNN's, and its plan. The library finds attention in a graph by
// its pattern. The patterns are those of NVIDIA's cudnn-frontend (scaled_dot_product_flash_attention.h),
// operation by operation: another order is not found.
type attending struct {
	operations
	device    *device
	attention gpu.Attention
	by        graphPlan
	dots      int // bytes of the workspace that the gradient's do·o takes

	operands                       [kernel.AttentionOperands]tensor
	scale, one, hidden, keys, rows tensor // numbers; those of no descriptor are not in the graph
	near, beyond                   tensor // how far a window reaches, and what scores beyond it are
	most, bend                     tensor // what caps scores, and the scores divided by it
	dot                            tensor
}

// Attention makes the library's graph and plan.
func (d *device) Attention(a gpu.Attention) (gpu.Computation, error) {
	l, err := d.openNetworks()
	if err != nil {
		return nil, err
	}
	t := &attending{operations: operations{library: l}, device: d, attention: a}
	if a.Gradient {
		t.backward()
		t.dots = (4*a.Batches*a.Heads*a.Queries + 255) &^ 255
	} else {
		t.forward()
	}
	plans, err := t.plan(d, &a, 1, math.MaxInt, func(int32) bool { return false })
	if err != nil {
		return nil, err
	}
	t.by = plans[0]
	return t, nil
}

// cudnnTypes are the numbers of cudnnDataType_t.
var cudnnTypes = map[dtype.Type]int{dtype.F32: dataF32, dtype.F16: dataF16, dtype.BF16: dataBF16}

// lies is the form of an operand: by rows, or turned, with its last two axes exchanged.
func (t *attending) lies(operand int, turned bool) form {
	heads, rows, width := t.attention.Shape(operand)
	at := t.attention.At[operand]
	f := form{[4]int{t.attention.Batches, heads, rows, width}, [4]int{at[0], at[1], at[2], 1}, cudnnTypes[t.attention.DType]}
	switch operand {
	case kernel.AttentionLSE:
		f.dtype = dataF32
	case kernel.AttentionBias:
		if at[0] == 0 {
			f.dims[0], f.strides[0] = 1, rows*at[2]
		}
		if at[1] == 0 {
			f.strides[1] = rows * at[2]
		}
	}
	if turned {
		f.dims[2], f.dims[3] = f.dims[3], f.dims[2]
		f.strides[2], f.strides[3] = f.strides[3], f.strides[2]
	}
	return f
}

// dense is a form without gaps.
func (t *attending) dense(heads, rows, width, dtype int) form {
	return form{[4]int{t.attention.Batches, heads, rows, width}, [4]int{heads * rows * width, rows * width, width, 1}, dtype}
}

// scores and sums are the forms of a number for each score, and for each query.
func (t *attending) scores() form {
	return t.dense(t.attention.Heads, t.attention.Queries, t.attention.Keys, dataF32)
}
func (t *attending) sums() form { return t.dense(t.attention.Heads, t.attention.Queries, 1, dataF32) }

// forward is softmax(scale·q·kᵀ)·v.
func (t *attending) forward() {
	a, scores, sums := &t.attention, t.scores(), t.sums()
	q := t.memory(t.lies(kernel.AttentionQ, false))
	k := t.memory(t.lies(kernel.AttentionK, true))
	v := t.memory(t.lies(kernel.AttentionV, false))
	t.scale = t.number(dataF32)
	x := t.masked(t.scored(t.matMul(q, k, scores)))
	top := t.reduce(reduceMax, sums, x)
	e := t.pointwise(pwExp, dataF32, scores, t.pointwise(pwSub, dataF32, scores, x, top))
	sum := t.reduce(reduceAdd, sums, e)
	lse := t.tensor(sums, !a.Stats, false) // the pattern has it in any case
	t.pointwiseTo(pwAdd, dataF32, lse, top, t.pointwise(pwLog, dataF32, sums, sum))
	if a.Stats {
		t.operands[kernel.AttentionLSE] = lse
	}
	p := scores
	p.dtype = cudnnTypes[a.DType] // the operand of a product
	weights := t.pointwise(pwDiv, dataF32, p, e, sum)
	o := t.matMulTo(weights, v, t.memory(t.lies(kernel.AttentionO, false)))
	t.operands[kernel.AttentionQ], t.operands[kernel.AttentionK], t.operands[kernel.AttentionV], t.operands[kernel.AttentionO] = q, k, v, o
}

// scored makes scores of a product: scaled, bent so that they stay below a cap, and with the bias.
func (t *attending) scored(x tensor) tensor {
	a, scores := &t.attention, t.scores()
	x = t.pointwise(pwMul, dataF32, scores, x, t.scale)
	if a.Cap > 0 {
		t.most = t.number(dataF32)
		t.bend = t.pointwise(pwDiv, dataF32, scores, x, t.most)
		x = t.pointwise(pwMul, dataF32, scores, t.pointwise(pwTanh, dataF32, scores, t.bend), t.most)
	}
	if a.Biased {
		bias := t.memory(t.lies(kernel.AttentionBias, false))
		t.operands[kernel.AttentionBias] = bias
		x = t.pointwise(pwAdd, dataF32, scores, x, bias)
	}
	return x
}

// masked hides the keys that a query does not see.
func (t *attending) masked(x tensor) tensor {
	a, scores := &t.attention, t.scores()
	if !a.Causal {
		return x
	}
	places := scores
	places.dtype = dataI32
	row, column := t.index(2, scores, x), t.index(3, scores, x)
	if a.Queries != a.Keys {
		t.keys, t.rows = t.number(dataI32), t.number(dataI32)
		row = t.pointwise(pwAdd, dataI32, places, row, t.keys)
		row = t.pointwise(pwSub, dataI32, places, row, t.rows)
	}
	sees := scores
	sees.dtype = dataBool
	t.hidden = t.number(dataF32)
	x = t.pointwise(pwSelect, dataF32, scores, x, t.hidden, t.pointwise(pwGreaterEqual, dataBool, sees, row, column))
	if a.Window == 0 {
		return x
	}
	row, column = t.index(2, scores, x), t.index(3, scores, x)
	t.near, t.beyond = t.number(dataF32), t.number(dataF32)
	column = t.pointwise(pwAdd, dataF32, scores, column, t.near)
	return t.pointwise(pwSelect, dataF32, scores, x, t.beyond, t.pointwise(pwGreater, dataBool, sees, column, row))
}

// backward is the gradient, from the logsumexp and do·o. The result of the product that makes dq is dq
// itself: the library then keeps the slopes of all scores in its workspace and adds them up in an order. With
// a dq of f32 beside it, it would add its parts as they come, and no two runs need give the same bits.
func (t *attending) backward() {
	a, scores, sums := &t.attention, t.scores(), t.sums()
	q := t.memory(t.lies(kernel.AttentionQ, false))
	k := t.memory(t.lies(kernel.AttentionK, true))
	v := t.memory(t.lies(kernel.AttentionV, true))
	o := t.memory(t.lies(kernel.AttentionO, false))
	do := t.memory(t.lies(kernel.AttentionDO, false))
	lse := t.memory(t.lies(kernel.AttentionLSE, false))
	t.scale, t.one = t.number(dataF32), t.number(dataF32)

	x := t.pointwise(pwMul, dataF32, t.dense(a.Heads, a.Queries, a.Depth, dataF32), do, o)
	t.dot = t.pointwiseTo(pwMul, dataF32, t.memory(sums), t.reduce(reduceAdd, sums, x), t.one)

	x = t.scored(t.matMul(q, k, scores))
	x = t.masked(t.pointwise(pwSub, dataF32, scores, x, lse))
	p := t.pointwise(pwExp, dataF32, scores, x)
	dv := t.byKeys(p, do, kernel.AttentionDV)

	x = t.matMul(do, v, scores)
	x = t.pointwise(pwSub, dataF32, scores, x, t.dot)
	x = t.pointwise(pwMul, dataF32, scores, x, p)
	if a.Cap > 0 {
		x = t.gradient(pwTanhGradient, scores, x, t.bend)
	}
	slopes := t.pointwise(pwMul, dataF32, scores, x, t.scale)
	dk := t.byKeys(slopes, q, kernel.AttentionDK)
	dq := t.matMulTo(slopes, t.seen(t.lies(kernel.AttentionK, false), k), t.memory(t.lies(kernel.AttentionDQ, false)))
	copy(t.operands[:], []tensor{kernel.AttentionQ: q, kernel.AttentionK: k, kernel.AttentionV: v, kernel.AttentionO: o,
		kernel.AttentionLSE: lse, kernel.AttentionDO: do, kernel.AttentionDQ: dq, kernel.AttentionDK: dk, kernel.AttentionDV: dv})
}

// byKeys is a result: the product of turned scores and an operand, added up over the heads that share keys.
func (t *attending) byKeys(scores, times tensor, result int) tensor {
	a := &t.attention
	cell := cudnnTypes[a.DType]
	f := t.dense(a.Heads, a.Queries, a.Keys, cell)
	f.dims[2], f.dims[3] = f.dims[3], f.dims[2]
	f.strides[2], f.strides[3] = f.strides[3], f.strides[2]
	turned := t.seen(f, scores)
	to := t.memory(t.lies(result, false))
	if a.Heads == a.KeyHeads {
		return t.matMulTo(turned, times, to)
	}
	_, _, width := a.Shape(result)
	return t.reduceTo(reduceAdd, to, t.matMul(turned, times, t.dense(a.Heads, a.Keys, width, cell)))
}

func (t *attending) Name() string   { return t.library.name }
func (t *attending) Workspace() int { return t.by.workspace + t.dots }

// Launches are what a profiler shows with version 9.19: a fill and a kernel, and of a gradient a fill, do·o,
// dk and dv, dq, and what adds up dk and dv of the heads that share keys.
func (t *attending) Launches() int {
	switch {
	case !t.attention.Gradient:
		return 2
	case t.attention.Heads == t.attention.KeyHeads:
		return 4
	}
	return 6
}

// Encode makes a pack of the addresses, and encodes the call and the pack's end. The library reads the
// numbers when the call is made, so they are in the memory of the list.
func (t *attending) Encode(to gpu.Stream, o *gpu.Operands) error {
	s, err := t.device.accept(to, &t.attention, o, operandAlignment, t.Workspace())
	if err != nil {
		return err
	}
	p, workspace := &pack{}, addressOf(o.Workspace)
	for i, which := range t.operands {
		p.add(which, addressOf(o.List[i]))
	}
	p.add(t.dot, workspace)
	for _, n := range []struct {
		which tensor
		bits  uint32
	}{
		{t.scale, math.Float32bits(t.attention.Scale)}, {t.one, math.Float32bits(1)}, {t.hidden, math.Float32bits(float32(math.Inf(-1)))}, {t.beyond, math.Float32bits(float32(math.Inf(-1)))},
		{t.most, math.Float32bits(t.attention.Cap)},
		{t.near, math.Float32bits(float32(t.attention.Window - t.attention.Keys + t.attention.Queries))}, {t.keys, uint32(t.attention.Keys)}, {t.rows, uint32(t.attention.Queries)},
	} {
		p.add(n.which, s.target().args.Words(uint64(n.bits)))
	}
	return t.encode(s, t.by, p, workspace+uintptr(t.dots))
}

// operandAlignment is that of the graph's tensors.
const operandAlignment = 16

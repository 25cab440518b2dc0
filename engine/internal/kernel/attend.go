package kernel

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// An Attention is attention, or its gradient, as a library of a device computes it. Equal Attentions are the
// same work. The logsumexp lies without gaps.
type Attention struct {
	Gradient                    bool
	DType                       dtype.Type // F16 or BF16, of all but the logsumexp, which is F32
	Batches, Heads, KeyHeads    int
	Queries, Keys, Width, Depth int
	Causal                      bool // query i sees keys up to i + (Keys − Queries)
	Window                      int  // only so many of them, the last ones; 0: all
	Stats                       bool // the logsumexp is a result; a gradient reads it
	Biased                      bool // a bias is added to the scores
	Scale                       float32
	Cap                         float32 // scores are Cap·tanh(score/Cap); 0: as they are
	// At are elements from one batch, head and row of each operand to the next; those of a row lie side by
	// side. Batches or heads that share a bias are 0 apart.
	At [AttentionOperands][3]int
}

// The operands of an Attention; a gradient reads O, LSE and DO, and has the last three as its results.
const (
	AttentionQ = iota
	AttentionK
	AttentionV
	AttentionO
	AttentionLSE
	AttentionDO
	AttentionDQ
	AttentionDK
	AttentionDV
	AttentionBias
	AttentionOperands // their number
)

// Has says whether there is such an operand.
func (a *Attention) Has(operand int) bool {
	if operand == AttentionBias {
		return a.Biased
	}
	return a.Gradient || operand <= AttentionO || operand == AttentionLSE && a.Stats
}

// Bytes is how far an operand reaches from where it begins; 0 if there is none.
func (a Attention) Bytes(operand int) int {
	if !a.Has(operand) {
		return 0
	}
	heads, rows, width := a.Shape(operand)
	at := a.At[operand]
	return ((a.Batches-1)*at[0] + (heads-1)*at[1] + (rows-1)*at[2] + width) * a.size(operand)
}

// size is how many bytes a number of an operand has.
func (a *Attention) size(operand int) int {
	if operand == AttentionLSE {
		return dtype.F32.Size()
	}
	return a.DType.Size()
}

// Shape says how many heads an operand has, rows each of them, and numbers a row.
func (a *Attention) Shape(operand int) (heads, rows, width int) {
	heads, rows, width = a.Heads, a.Queries, a.Width
	switch operand {
	case AttentionK, AttentionV, AttentionDK, AttentionDV:
		heads, rows = a.KeyHeads, a.Keys
	case AttentionLSE:
		width = 1
	case AttentionBias:
		if width = a.Keys; a.At[operand][1] == 0 {
			heads = 1
		}
	}
	switch operand {
	case AttentionV, AttentionO, AttentionDO, AttentionDV:
		width = a.Depth
	}
	return heads, rows, width
}

// String says what is computed: "the gradient of causal attention, 4×16 heads on 4, 2048 by 2048 of bf16,
// width 64".
func (a Attention) String() string {
	s := "attention"
	if a.Causal {
		s = "causal " + s
	}
	if a.Biased {
		s = "biased " + s
	}
	if a.Gradient {
		s = "the gradient of " + s
	}
	s += fmt.Sprintf(", %d×%d heads", a.Batches, a.Heads)
	if a.KeyHeads != a.Heads {
		s += fmt.Sprintf(" on %d", a.KeyHeads)
	}
	s += fmt.Sprintf(", %d by %d of %v, width %d", a.Queries, a.Keys, a.DType, a.Width)
	if a.Depth != a.Width {
		s += fmt.Sprintf(" and %d", a.Depth)
	}
	if a.Window > 0 {
		s += fmt.Sprintf(", a window of %d", a.Window)
	}
	if a.Cap > 0 {
		s += fmt.Sprintf(", capped at %g", a.Cap)
	}
	return s
}

// Flops is the number of operations of the products: two, or five of a gradient.
func (a *Attention) Flops() int {
	n := 2
	if a.Gradient {
		n = 5
	}
	seen := a.Queries * a.Keys
	if a.Causal {
		seen /= 2
	}
	if a.Window > 0 {
		seen = min(seen, a.Queries*a.Window)
	}
	return n * a.Batches * a.Heads * seen * (a.Width + a.Depth)
}

// An attentionCall is attention that a library computes, and where.
type attentionCall struct {
	Placement
	Attention Attention
}

// What attention must be worth to go to a library, which compiles for tens of milliseconds for each new
// length. Training, which wants the logsumexp, has the same lengths again and again; a prompt may have a
// length of its own. Our own kernels do some 90 TFLOP/s of bf16 on an H200, a library 350.
const (
	leastTraining = 1 << 30
	leastPrompt   = 1 << 33
	// mostScores are the bytes of a gradient's workspace for scores, or a callShare of the device's memory:
	// with them the library adds the parts of dq in an order, so that a gradient repeats its bits. What has
	// more is computed in several calls, each of which leaves processors idle at its end. One head of keys
	// cannot be cut, and may take a scoresShare of the memory: our own kernels take six times as long.
	mostScores  = 1 << 30
	callShare   = 64
	scoresShare = 8
)

// attend writes attention or its gradient as calls of the library, if the library has it and it is worth
// that.
func attend(g *backend.Group, k *Kernel) bool {
	l := k.limits.Library
	if l == nil {
		return false
	}
	call, ok := describeAttention(g)
	if !ok {
		return false
	}
	a := &call.Attention
	least := leastPrompt
	if a.Stats {
		least = leastTraining
	}
	if !l.Always && a.Flops() < least {
		return false
	}
	saving := leastSaved
	if l.Always {
		saving = 0
	}
	var list []Dispatch
	scratch := 0 // what texts use
	if mask := maskOf(g); len(mask) > 0 {
		text, bytes, ok := call.bias(g, mask, k.limits)
		if !ok {
			return false
		}
		scratch, list = bytes, []Dispatch{text}
	}
	cut := call.split
	chunks, chunked := call.chunk(saving)
	if chunked {
		cut = chunks.calls
	}
	calls, ok := cut(l.Memory)
	if !ok {
		return false
	}
	for _, c := range calls {
		if c.WorkspaceBytes, ok = l.Offer(c.Attention); !ok {
			return false
		}
		list = append(list, Dispatch{Library: &Call{Placement: c.Placement, Work: c.Attention}})
	}
	if chunked {
		scratch, list = chunks.size, append(list, chunks.add(g, k.limits))
	}
	k.Dispatches, k.Scratch = list, scratch
	k.shareWorkspace()
	return true
}

// describeAttention finds the operands of a group's attention, if they lie as libraries want them.
func describeAttention(g *backend.Group) (c attentionCall, ok bool) {
	in := &g.Insts[0]
	gradient := in.Op == ir.AttentionGrad
	q, k, v := inputLayout(g, in.Args[0]).Shape, inputLayout(g, in.Args[1]).Shape, inputLayout(g, in.Args[2]).Shape
	c.Attention = Attention{Gradient: gradient, DType: g.Type(in.Args[0]).DType, Batches: q[0], Heads: q[1], KeyHeads: k[1],
		Queries: q[2], Keys: k[2], Width: q[3], Depth: v[3], Causal: in.Attr.Flags&ir.Causal != 0, Stats: gradient, Scale: float32(in.Attr.Float)}
	a := &c.Attention
	operands := in.Args[:3]
	results := []int{AttentionO, AttentionLSE}
	if gradient {
		operands = in.Args[:6]
		results = []int{AttentionDQ, AttentionDK, AttentionDV}
	}
	sight := ir.SightOf(&in.Attr)
	a.Cap, sight.Cap = float32(sight.Cap), 0
	if a.Causal { // a window on both sides is left to the texts
		if sight.Window < a.Keys {
			a.Window = sight.Window
		}
		sight.Window = 0
	}
	empty := min(a.Batches, a.Heads, a.Queries, a.Keys, a.Width, a.Depth) < 1
	if sight != (ir.Sight{}) || empty || a.DType != dtype.F16 && a.DType != dtype.BF16 || a.Causal && a.Queries > a.Keys {
		return c, false
	}
	for i, v := range operands {
		input := inputOf(g, v)
		c.Operands[i] = placeOf(input)
		if c.Operands[i].At%operandAlignment != 0 || !a.lay(i, input.Layout, input.DType) {
			return c, false
		}
	}
	wanted := 0
	for _, o := range g.Outputs {
		n := results[o.Value.Result]
		c.Operands[n] = field(o.Buf, o.Offset*o.DType.Size())
		a.Stats = a.Stats || n == AttentionLSE
		wanted |= 1 << o.Value.Result
		if !a.lay(n, o.Layout(), o.DType) {
			return c, false
		}
	}
	if gradient {
		return c, wanted == 7 // a library computes all three, and has nowhere to put what nobody wants
	}
	return c, wanted&1 != 0
}

// lay notes how an operand lies, and says whether libraries take that.
func (a *Attention) lay(operand int, l ir.Layout, dt dtype.Type) (ok bool) {
	if operand == AttentionLSE {
		a.At[operand] = [3]int{a.Heads * a.Queries, a.Queries, 1}
		return dt == dtype.F32 && l.IsContiguous()
	}
	a.At[operand], ok = attendedRows(l, dt)
	return ok && dt == a.DType
}

// attendedRows is how the rows of an operand lie: each without gaps, and at multiples of the alignment.
func attendedRows(l ir.Layout, dt dtype.Type) (at [3]int, ok bool) {
	each := operandAlignment / dt.Size()
	if l.Stride[3] != 1 || l.Shape[3]%each != 0 {
		return at, false
	}
	next := l.Shape[3] // from a row of length 1 to where the next would be
	for axis := 2; axis >= 0; axis-- {
		at[axis] = l.Stride[axis]
		if l.Shape[axis] == 1 {
			at[axis] = next
		}
		if at[axis] <= 0 || at[axis]%each != 0 {
			return at, false
		}
		next = max(next, at[axis]*l.Shape[axis])
	}
	return at, true
}

// split cuts a gradient into calls of equal size, by batches and then by heads of keys, so that the scores
// of each fit into the workspace that a device of so much memory has.
func (c *attentionCall) split(memory int) (calls []attentionCall, ok bool) {
	a := c.Attention
	if !a.Gradient {
		return []attentionCall{*c}, true
	}
	shared := a.Heads / a.KeyHeads
	scores := a.DType.Size() * ceilTo(a.Queries, 64) * ceilTo(a.Keys, 64) * shared // of a head of keys
	batches, heads := a.Batches, a.KeyHeads
	most := max(mostScores, memory/callShare)
	for batches > 1 && (a.Batches%batches != 0 || batches*heads*scores > most) {
		batches--
	}
	for heads > 1 && batches == 1 && (a.KeyHeads%heads != 0 || heads*scores > most) {
		heads--
	}
	if batches*heads*scores > max(most, memory/scoresShare) {
		return nil, false
	}
	for b := 0; b < a.Batches; b += batches {
		for h := 0; h < a.KeyHeads; h += heads {
			part := *c
			part.Attention.Batches, part.Attention.KeyHeads, part.Attention.Heads = batches, heads, heads*shared
			for operand := range part.Operands {
				all, _, _ := a.Shape(operand)
				begin := (b*a.At[operand][0] + h*all/a.KeyHeads*a.At[operand][1]) * a.size(operand)
				part.Operands[operand].At += begin
				if begin%operandAlignment != 0 {
					return nil, false
				}
			}
			calls = append(calls, part)
		}
	}
	return calls, true
}

// maskOf is the mask of a group's attention, if it has one.
func maskOf(g *backend.Group) []backend.Ref {
	in := &g.Insts[0]
	if in.Op == ir.AttentionGrad {
		return in.Args[6:]
	}
	return in.Args[3:]
}

package ir

//go:generate go run ./gen

// An Op names a row of the op table.
type Op uint8

// The ops. Families stand together; a row's documentation is in its table file.
const (
	Invalid Op = iota

	// Leaves.
	Leaf  // data that a person provided or that was evaluated earlier
	Const // one number (Attr.Value), shape []
	Iota  // shape Attr.Shape: the index along Attr.Axis, as Attr.DType
	Rand  // uniform [0, 1) of shape Attr.Shape; sources: key, counter (I64[] Consts)
	RandNormal
	Pick // value Attr.Index of the tuple Src[0]
	To   // Src[0] on the device Attr.Dev

	// Views: no arithmetic, only where elements are.
	Reshape // to Attr.Shape
	Permute // Attr.Axes is the order
	Expand  // to Attr.Shape: axes of length 1 are repeated, missing axes are added in front
	Slice   // Attr.Ints
	Flip    // Attr.Axes
	Detach  // the same elements; no gradient passes

	Checkpoint // y, x: y; what lies between x and y is computed again for the gradient

	// Copies that no view can express.
	Pad    // Attr.Ints, value Src[1] (a Const)
	Concat // along Attr.Axis
	Again  // x, after: a copy of x, made when after is there

	// Elementwise, one operand.
	Cast    // to Attr.DType
	Bitcast // the same bits as Attr.DType
	Neg
	Abs
	Sign
	Floor
	Ceil
	Round // half to even
	Exp
	Expm1
	Log
	Log1p
	Sqrt
	Rsqrt
	Recip
	Sin
	Cos
	Tanh
	Erf
	Sigmoid
	Silu
	Gelu // Flags&TanhApprox selects the approximation
	Not
	IsNaN

	// Elementwise, two operands of one dtype, of one shape or of shape [] (package tensor inserts Cast and
	// Expand).
	Add
	Sub
	Mul
	Div
	Mod // sign of the divisor, as NumPy's remainder
	Pow
	Max
	Min
	Atan2
	Eq
	Ne
	Lt
	Le
	Gt
	Ge
	And
	Or
	Xor
	Shl
	Shr

	// Elementwise, three operands: condition (Bool), then, else.
	Where

	// Reductions over Attr.Axes; the reduced axes stay with length 1 (package tensor reshapes).
	Sum
	Prod
	ReduceMax
	ReduceMin
	Mean
	ArgMax // along Attr.Axis, which stays with length 1; I64
	ArgMin
	CumSum     // along Attr.Axis; Flags Reverse, Exclusive
	SumSquares // of all elements of all sources together: f32[]; the global norm's square in one launch

	// Linear algebra.
	MatMul                 // Src = a0, b0, a1, b1, …: Σ aᵢ·bᵢ over the last two axes; batch axes already broadcast
	LoRALinear             // x[M K], w[K N], a[K R], b[R N] (Attr.Float = scale): x·w + scale·(x·a)·b
	LinearCrossEntropy     // x[N D], w[D V], targets I64[N] -> as CrossEntropy of x·w; Rates: a cap of its logits
	LinearCrossEntropyGrad // x, w, targets, logsumexp, dloss -> dx, dw
	GroupedMatMul          // x[M K], w[G K N], index I64[M] -> y[M N]: each row times the matrix that its index names
	GroupedWeight          // x[M K], dy[M N], index I64[M] -> w[G K N], G = Attr.Index, as Attr.DType

	// Quantised weights: codes, scales and perhaps zero points; Attr.Shape = [K N], Attr.Ints = bits and
	// group.
	Dequantize     // codes, scales[, zeros]: the weight [K N], or [N K] with Transposed, as Attr.DType
	DequantizeTake // index, codes, scales[, zeros]: columns of the weight as rows [… K], as Attr.DType

	// Rows: along the last axis.
	Softmax
	SoftmaxGrad // y, dy
	LogSoftmax
	LogSoftmaxGrad   // y, dy
	LayerNorm        // x, weight, bias; Attr.Float = eps
	LayerNormGrad    // x, weight, dy -> dx, dweight, dbias
	RMSNorm          // x, weight
	RMSNormGrad      // x, weight, dy -> dx, dweight
	CrossEntropy     // logits[N V], targets I64[N] -> loss f32[N], logsumexp f32[N]; Float = label smoothing, Index = ignored target
	CrossEntropyGrad // logits, targets, logsumexp, dloss -> dlogits

	// Attention.
	Rope          // x[… T D], positions I64[T] or [… T][, turns f32[D/2 2]]; Float = theta base, or Rates; the gradient is Rope with Reverse
	Attention     // q[B Hq Tq D], k[B Hk Tk D], v, optional mask -> o, logsumexp f32[B Hq Tq]
	AttentionGrad // q, k, v, o, logsumexp, do, optional mask -> dq, dk, dv
	// Attention to keys in pages, of which as many count as the data says; Attr.Ints: slots of a page.
	PagedAttention // q[B H T D], k[G slots D], v[G slots E], pages I64[B P], last I64[B T][, scales of k and v] -> o

	// Windows along spatial axes; Attr.Ints, see WindowsOf; Index = groups.
	Conv          // x[N C S…], w[O C/G K…] -> y[N O T…]
	ConvTranspose // y, w -> x; Attr.Shape = S…
	ConvWeight    // x, y -> w
	MaxPool       // x[N C S…] -> the greatest, their places i64

	// Indexing.
	Gather       // x, index: rows of axis Attr.Axis (numpy take)
	GatherAlong  // x, index of the same rank (numpy take_along_axis)
	ScatterAdd   // base, index, updates: base with updates added at rows index of axis Attr.Axis
	ScatterAlong // base, index, updates of one rank: added along Attr.Axis
	ScatterWith  // base, index, updates of one rank: combined along Attr.Axis as the Combination Attr.Index says
	Overwrite    // base, index, updates: base with rows index of axis Attr.Axis replaced, in base's memory where that can be
	TopK         // along the last axis: values, indices I64; Index = k

	// Optimizers.
	AdamW  // see its row
	AdamW8 // see its row

	UserKernel // what a person wrote: Attr.Kernel

	NumOps
)

// A Row is everything that the engine knows of one op.
type Row struct {
	Op     Op
	Name   string // "rms_norm": lower case with underscores; also the kernel's name when the op runs alone
	Family Family // if it is another one than that of the list in which the row stands
	Doc    string // first sentence says what it computes; then shapes, dtypes, source of the formula
	// Sources is how many there are; 0 where Infer says it, or Operands.
	Sources int
	// Operands says, of an op of FamilyRow, what each source is: x for rows, w for a weight as long as a row,
	// which all rows share, n for one number a row. Backends load them by it.
	Operands string
	Infer    func(n *Node) error
	// Grad returns the gradient for each source, nil where there is none, given the gradient of each value of
	// n (one, or one a tuple value; nil where nothing flowed). A nil Grad needs NoGrad to say why. (Pick has
	// neither: the walk backwards hands its gradient to its place in the tuple.)
	Grad   func(n *Node, dy []*Node) []*Node
	NoGrad string
	// Flops counts the floating-point operations that the mathematics needs, or is -1 where nobody knows;
	// bytes are counted by the planner from what a launch reads and writes.
	Flops func(n *Node) int64
	// Tol is the relative tolerance with which a backend's float32 result is held against the reference,
	// measured in units of the result's largest magnitude.
	Tol float64
	// Rounds says that a backend may round what it computes on the way to the type of its operands, if that
	// is f16 or bf16: a result may then be wrong by two roundings of the largest one.
	Rounds bool
	// Steps is, of a step of an optimizer, how many lists its values are: see [StepLists]. It is 0 for
	// others.
	Steps int
}

// A Family groups rows for documentation, and says how the planner and the backends treat an op: package plan
// asks the family and lists no ops.
type Family uint8

const (
	FamilyLeaf        Family = iota
	FamilyView               // only where elements are
	FamilyCopy               // pad, concat
	FamilyElementwise        // one output element from the input elements at the same place
	FamilyReduce             // sum, prod, max, min, mean over axes
	FamilyMatMul
	FamilyRow // softmax and the norms: a row in, a row out, one pass in one launch
	FamilyAttention
	FamilyConv // convolutions and pooling
	FamilyIndex
	FamilyRandom
	FamilyOptimizer
	FamilyKernel // what a person wrote
)

// Package methods sorts the methods of a tensor by what they are for, for help: there are more of them than
// fit a list that one reads. It has names alone, so it can be linked where tensors are not.
package methods

// A Group is methods for one purpose, those first that people need most.
type Group struct {
	Title string
	Names []string
}

// Groups has every method of tensor.Tensor in one group.
var Groups = []Group{
	{"look at it", []string{"Shape", "DType", "Rank", "Size", "Len", "Device", "String", "Brief", "OneLine", "Text", "HTML", "Format", "MarshalJSON", "Plot", "Name", "Named", "Plan", "IsNone"}},
	{"read the numbers", []string{"Item", "Int", "Floats", "Ints", "Bools", "Float64s", "Uint64s", "Complex64s", "Complex128s", "Bytes", "Eval", "Evaluated"}},
	{"shape", []string{"Reshape", "T", "Transpose", "Permute", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Repeat", "Tile", "SwapAxes", "MoveAxis", "Split", "Chunk", "Unstack",
		"Flip", "Roll", "Pad", "PadReflect", "PadEdge", "PadWrap"}},
	{"take and write parts", []string{"I", "SetI", "Index", "SetIndex", "At", "Slice", "SliceStep", "Select", "Take", "TakeAlong", "Masked", "NonZero", "Put", "PutAlong", "ScatterAdd",
		"ScatterAlong", "Overwrite", "Diagonal", "Tril", "Triu"}},
	{"arithmetic", []string{"Add", "Sub", "Mul", "Div", "Pow", "Neg", "Abs", "Square", "Sqrt", "Mod", "FloorDiv", "TruncDiv", "Fmod", "Recip", "Rsqrt", "Cbrt", "Clip", "Maximum", "Minimum",
		"Round", "Floor", "Ceil", "Trunc", "Sign", "Lerp", "Hypot", "Copysign", "NextAfter"}},
	{"functions", []string{"Exp", "Log", "Sin", "Cos", "Tan", "Exp2", "Expm1", "Log2", "Log10", "Log1p", "LogAddExp", "Asin", "Acos", "Atan", "Atan2", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Erf", "Real", "Imag", "Conj", "Angle"}},
	{"compare, logic and bits", []string{"Eq", "Ne", "Lt", "Le", "Gt", "Ge", "Not", "And", "Or", "Xor", "IsNaN", "IsInf", "IsFinite", "IsIn", "Signbit", "Shl", "Shr"}},
	{"reduce", []string{"Sum", "Mean", "Max", "Min", "Prod", "Std", "Var", "StdWith", "VarWith", "SampleStd", "SampleVar", "Norm", "All", "Any", "ArgMax", "ArgMin", "CountNonZero", "LogSumExp",
		"Median", "Quantile", "SumKeep", "MeanKeep", "MaxKeep", "MinKeep"}},
	{"sort and accumulate", []string{"Sort", "ArgSort", "TopK", "BottomK", "Unique", "SearchSorted", "BinCount", "CumSum", "CumProd", "CumMax", "CumMin", "Diff"}},
	{"linear algebra", []string{"MatMul", "Outer", "VecDot", "TensorDot", "Kron", "Trace"}},
	{"neural networks", []string{"Softmax", "LogSoftmax", "Relu", "Gelu", "Silu", "Sigmoid", "Tanh", "LayerNorm", "RMSNorm", "OneHot", "Rope", "LeakyRelu", "Elu", "GeluTanh", "Softplus", "LogSigmoid",
		"Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "AvgPool",
		"LpPool", "MaxPoolPlaces", "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d"}},
	{"parameters and gradients", []string{"Param", "IsParam", "Freeze", "Frozen", "Set", "Detach", "Snapshot", "Restore"}},
	{"convert, move and free", []string{"Cast", "To", "Bitcast", "Free", "Freed"}},
}

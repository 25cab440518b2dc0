package kernel

import (
	"fmt"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// memoryTypes are the element types in device memory.
var memoryTypes = map[dtype.Type]string{
	dtype.Bool: "uchar",
	dtype.U8:   "uchar", dtype.I8: "char",
	dtype.U16: "ushort", dtype.I16: "short",
	dtype.U32: "uint", dtype.I32: "int",
	dtype.U64: "ulong", dtype.I64: "long",
	dtype.F16: "half", dtype.BF16: "bfloat", dtype.F32: "float",
}

// register is the type that holds an element while it is computed with.
func register(dt dtype.Type) string {
	switch {
	case dt == dtype.Bool:
		return "bool"
	case dt.Float():
		return "float"
	}
	return memoryTypes[dt]
}

// expression is an elementwise instruction as a call of a block, given its arguments.
func expression(in *backend.Inst, types []dtype.Type, args []string) string {
	switch in.Op {
	case ir.Cast:
		return converted(in.DType, args[0])
	case ir.Bitcast:
		return fmt.Sprintf("loaded(as_type<%s>(%s(%s)))", memoryTypes[in.DType], memoryTypes[types[0]], args[0])
	case ir.Gelu:
		if in.Attr.Flags&ir.TanhApprox != 0 {
			return "op_gelu_tanh(" + args[0] + ")"
		}
	}
	return fmt.Sprintf("op_%s(%s)", ir.RowOf(in.Op).Name, strings.Join(args, ", "))
}

// converted is a register as another type's. The types f16 and bf16 round, and stay floats.
func converted(to dtype.Type, x string) string {
	s := fmt.Sprintf("convert<%s>::from(%s)", register(to), x)
	switch to {
	case dtype.F16:
		return "round_half(" + s + ")"
	case dtype.BF16:
		return "round_bfloat(" + s + ")"
	}
	return s
}

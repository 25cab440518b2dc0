package kernel

import (
	"fmt"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/msl"
)

// An argument is one of the kernel's, as its head declares it.
type argument struct {
	kind   argumentKind
	name   string
	dtype  dtype.Type // of a pointer's elements or of a number; Invalid if param says it
	param  string     // the template's typename that a pointer's elements have
	atomic bool
	pos    msl.Pos
}

type argumentKind uint8

const (
	input argumentKind = iota
	output
	number
)

var kindNames = [...]string{"input", "output", "constant"}

func (k argumentKind) String() string { return kindNames[k] }

// types are the dtypes of Metal's numbers.
var types = map[string]dtype.Type{
	"bool": dtype.Bool, "char": dtype.I8, "uchar": dtype.U8, "short": dtype.I16, "ushort": dtype.U16, "int": dtype.I32, "uint": dtype.U32,
	"long": dtype.I64, "ulong": dtype.U64, "half": dtype.F16, "bfloat": dtype.BF16, "float": dtype.F32,
	"int8_t": dtype.I8, "uint8_t": dtype.U8, "int16_t": dtype.I16, "uint16_t": dtype.U16, "int32_t": dtype.I32, "uint32_t": dtype.U32,
	"int64_t": dtype.I64, "uint64_t": dtype.U64, "atomic_int": dtype.I32, "atomic_uint": dtype.U32,
}

// words are the names of dtypes in Metal.
var words = map[dtype.Type]string{
	dtype.Bool: "bool", dtype.I8: "char", dtype.U8: "uchar", dtype.I16: "short", dtype.U16: "ushort", dtype.I32: "int", dtype.U32: "uint",
	dtype.I64: "long", dtype.U64: "ulong", dtype.F16: "half", dtype.BF16: "bfloat", dtype.F32: "float",
}

// readHead finds the inputs, outputs and constants of the kernel.
func (k *Kernel) readHead() error {
	for _, a := range k.head.Arguments {
		arg := argument{name: a.Name, pos: a.Pos}
		switch {
		case a.Kind == msl.Attribute:
			continue
		case a.Kind == msl.Constant:
			arg.kind = number
		case a.Kind == msl.Buffer && strings.HasSuffix(a.Type, "*"):
			if arg.kind = input; a.Written {
				arg.kind = output
			}
		case a.Kind == msl.Threadgroup:
			return msl.Problem{Pos: a.Pos, Text: fmt.Sprintf("argument %s: declare threadgroup memory in the kernel: threadgroup float %[1]s[32];", a.Name)}
		default:
			return msl.Problem{Pos: a.Pos, Text: fmt.Sprintf("argument %s: got %s, want a pointer, or constant uint& and the like for a number", a.Name, a.Type)}
		}
		if err := k.readType(&arg, a); err != nil {
			return err
		}
		switch arg.kind {
		case input:
			k.inputs = append(k.inputs, len(k.args))
		case output:
			k.outputs = append(k.outputs, len(k.args))
		}
		k.args = append(k.args, arg)
	}
	if len(k.inputs) == 0 {
		return msl.Problem{Pos: k.head.Pos, Text: "got no input, want a pointer to const: device const float* x"}
	}
	if len(k.outputs) == 0 {
		return msl.Problem{Pos: k.head.Pos, Text: "got no output, want a pointer to device memory that is not const: device float* y"}
	}
	return nil
}

// readType finds the dtype of an argument: "device const packed_float3*" has that of float.
func (k *Kernel) readType(arg *argument, a msl.Argument) error {
	fields := strings.FieldsFunc(a.Type, func(r rune) bool { return strings.ContainsRune(" *&<>,", r) })
	for _, w := range fields {
		w = strings.TrimPrefix(w, "packed_")
		for _, p := range k.head.Parameters {
			if p.Name == w && p.Typename() {
				arg.param = w
			}
		}
		dt, ok := types[w]
		if !ok && len(w) > 1 && strings.ContainsRune("234", rune(w[len(w)-1])) {
			dt, ok = types[w[:len(w)-1]]
		}
		if ok {
			arg.dtype, arg.atomic = dt, strings.HasPrefix(w, "atomic_")
		}
	}
	known := arg.dtype != dtype.Invalid || arg.param != ""
	if arg.kind == number {
		known = len(fields) == 2 && numbers[arg.dtype]
	}
	if !known {
		return msl.Problem{Pos: a.Pos, Text: fmt.Sprintf("argument %s: got %s, want %s", a.Name, a.Type, wants[arg.kind])}
	}
	return nil
}

// numbers are the dtypes that constants can have.
var numbers = map[dtype.Type]bool{dtype.I32: true, dtype.U32: true, dtype.I64: true, dtype.U64: true, dtype.F32: true}

var wants = [...]string{
	input:  "a pointer to bool, an integer, half, bfloat or float, or to a vector of these",
	output: "a pointer to bool, an integer, half, bfloat or float, or to a vector of these",
	number: "constant int&, uint&, long&, ulong& or float&",
}

// provisional are values of the template's parameters with which the text can be looked at before any call.
func (k *Kernel) provisional() map[string]string {
	values := map[string]string{}
	for _, p := range k.head.Parameters {
		switch {
		case p.Default != "":
			values[p.Name] = p.Default
		case p.Typename():
			values[p.Name] = "float"
		default:
			values[p.Name] = "1"
		}
	}
	return values
}

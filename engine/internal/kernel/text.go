package kernel

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/msl"
)

// A text is a kernel that is being written: the members of its struct, and its body.
type text struct {
	g       *backend.Group
	index   string // type of an index, a length and a stride: int, or long in a wide space
	members strings.Builder
	args    Args
	body    strings.Builder
	indent  int
	inputs  numbering // of the names of inputs
	values  numbering // of those of instructions' values
	memory  string    // the parameter that is threadgroup memory, if one is
	bytes   int       // of it
	lean    bool      // threads get as few registers as the most of a threadgroup would
}

// A numbering numbers things from 0 on, in the order in which a text asks for them. So texts that differ in
// the places of their inputs and instructions in a group are one.
type numbering []int

func (n *numbering) of(thing int) int {
	k := slices.Index(*n, thing)
	if k < 0 {
		k = len(*n)
		*n = append(*n, thing)
	}
	return k
}

// inputName is the name of input i of the group, and of the member that it is loaded from.
func (t *text) inputName(i int) string { return fmt.Sprintf("x%d", t.inputs.of(i)) }

// valueName is the name of the value of instruction i.
func (t *text) valueName(i int) string { return fmt.Sprintf("t%d", t.values.of(i)) }

func newText(g *backend.Group, wide bool) *text {
	t := &text{g: g, index: "int", indent: 1}
	if wide {
		t.index = "long"
	}
	return t
}

// member declares a member of the struct; f says what it holds.
func (t *text) member(typ, name string, f Field) {
	fmt.Fprintf(&t.members, "\t%s %s;\n", typ, name)
	t.element(f)
}

// faulty declares where an index that is out of range is reported.
func (t *text) faulty() {
	t.member("device fault_record*", "fault", Field{Kind: Report, Size: 8})
	t.member("device atomic_uint*", "stop", Field{Kind: Stop, Size: 8})
}

// goesOn declares the word that says whether the program has reported a fault, and returns the condition
// under which the kernel may write. It is for kernels that write over their own operands.
func (t *text) goesOn() string {
	t.member("device const uint*", "stop", Field{Kind: Stop, Size: 8})
	return "*a.stop != 0"
}

// array declares an array of n members of 8 bytes, which element then gives their values.
func (t *text) array(typ, name string, n int) {
	fmt.Fprintf(&t.members, "\t%s %s[%d];\n", typ, name, n)
}

func (t *text) element(f Field) {
	f.Offset = (t.args.Size + f.Size - 1) / f.Size * f.Size
	t.args.Size = f.Offset + f.Size
	t.args.Fields = append(t.args.Fields, f)
}

// pointer declares a pointer to a buffer of the command, or to the workspace.
func (t *text) pointer(access, name string, dt dtype.Type, buf, offset int) {
	t.member("device "+access+memoryTypes[dt]+"*", name, field(buf, offset*dt.Size()))
}

// input declares the pointer to an input, and returns that.
func (t *text) input(name string, v backend.Ref) *backend.Input {
	in := inputOf(t.g, v)
	t.pointer("const ", name, in.DType, in.Buf, in.Layout.Offset)
	return in
}

// inputOf is the input that a value is, and placeOf where it lies.
func inputOf(g *backend.Group, v backend.Ref) *backend.Input {
	i, _ := v.Input()
	return &g.Inputs[i]
}

func placeOf(in *backend.Input) Field { return field(in.Buf, in.Layout.Offset*in.DType.Size()) }

// float declares a number that is known when the group is rendered, as eps.
func (t *text) float(name string, x float64) {
	t.member("float", name, Field{Kind: Constant, Size: 4, Value: int64(math.Float32bits(float32(x)))})
}

// number declares a scalar of the command.
func (t *text) number(name string, dt dtype.Type, scalar int) {
	typ, size := register(dt), 4
	switch {
	case dt == dtype.Bool:
		typ = "uint"
	case dt.Float():
	case dt.Size() == 8:
		size = 8
	case dt.Signed():
		typ = "int"
	default:
		typ = "uint"
	}
	t.member(typ, name, Field{Kind: Number, Size: size, Index: scalar, DType: dt})
}

// constant declares a number of elements, or a distance between two.
func (t *text) constant(name string, n int) {
	size := 4
	if t.index == "long" {
		size = 8
	}
	t.member(t.index, name, Field{Kind: Constant, Size: size, Value: int64(n)})
}

// line writes a line of the body. One that ends in a brace opens a block.
func (t *text) line(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	if strings.HasPrefix(s, "}") {
		t.indent--
	}
	t.body.WriteString(strings.Repeat("\t", t.indent) + s + "\n")
	if strings.HasSuffix(s, "{") {
		t.indent++
	}
}

// close closes blocks.
func (t *text) close(blocks int) {
	for range blocks {
		t.line("}")
	}
}

// mostDeclared is how many bytes of threadgroup memory a text may declare. More is a parameter, on devices
// that have more.
const mostDeclared = 32 << 10

// threadgroup declares n elements of so many bytes of threadgroup memory, if there are any.
func (t *text) threadgroup(typ, name string, n, size int) {
	switch {
	case n*size > mostDeclared:
		t.memory, t.bytes = fmt.Sprintf(", threadgroup %s* %s [[threadgroup(0)]]", typ, name), n*size
	case n > 0:
		t.line("threadgroup %s %s[%d];", typ, name, n)
	}
}

// finish makes a dispatch of the text. Its function's name is kind and the hash of the text without its
// comment, so that groups whose ops come to the same share one. In the text the name stands as NAME until
// then. The text says how many threads a group has at most: a compiler then gives each no more registers than
// there are for all of them. It says one of two numbers, so that few texts differ in it alone.
func (t *text) finish(kind, comment, parameters string, groups, threads [3]int) Dispatch {
	args := t.args // the text may go on in a dispatch of several
	args.Size = (args.Size + 7) / 8 * 8
	most := mapThreads
	if t.lean || size(threads) > most {
		most = mostThreads
	}
	s := fmt.Sprintf("struct NAME_args {\n%s};\n\n[[max_total_threads_per_threadgroup(%d)]] kernel void NAME(constant NAME_args* args [[buffer(0)]]%s) {\n\tconstant NAME_args& a = *args;\n%s}\n",
		t.members.String(), most, t.memory+parameters, t.body.String())
	if t.args.Size > mostCarried {
		s = strings.ReplaceAll(s, "NAME"+msl.Struct, "NAME_memory")
	}
	sum := sha256.Sum256([]byte(s))
	function := kind + "_" + hex.EncodeToString(sum[:6])
	source := "// " + function + ": " + comment + "\n" + strings.ReplaceAll(s, "NAME", function)
	return Dispatch{Function: function, Text: source, Args: args, Groups: groups, Threads: threads, Threadgroup: t.bytes}
}

// along is a grid of n beside each other.
func along(n int) [3]int { return [3]int{n, 1, 1} }

package ir

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
)

// A Kernel is what a person or a package above computes in a way of its own, made ready for one call: with
// the types, the shapes and the numbers of that call. Nodes share it, so nobody changes it.
//
// It is a Text, or Go code, or a Routine, or none of them: then its last sources are its results, so that all
// it brings is a gradient of its own for what other nodes compute. The sources before them are those that the
// gradient is of.
type Kernel struct {
	Name string // the person's
	// Go computes the results in Go, on the processor, from the bytes of the sources, in C order. A result
	// that nobody reads is nil. It looks at ctx between pieces of work, and uses at most so many threads. It
	// must not refer to nodes.
	Go func(ctx context.Context, threads int, in, out [][]byte) error
	// Text is Metal Shading Language, complete: it defines the kernel Function, whose one argument is the
	// address of a struct with a member for each of Args, in their order.
	Text string
	// Routine is computed by a library of the device. Of LURoutine the results are (L and U)ᵀ, the places i64
	// [m] of a's rows and the permutation's sign [1 1]; of others those of the routine but for info. Fail is
	// the error of matrix i of the batch by its code, see package kernel.
	Routine  *Routine
	Fail     func(i, code int) error
	Function string // its name has a hash of Text in it
	Args     []KernelArg
	Outs     []Type
	Groups   [3]int // threadgroups
	Threads  [3]int // of each
	Flops    int64  // what the person says; -1 if unknown
	// Gradient returns the gradient of each source of n, which is the kernel's node, nil where there is none.
	// It is nil if the person gave none. For a Kernel whose results are sources it has those before only.
	Gradient func(n *Node, dy []*Node) ([]*Node, error)
	// Key is equal for calls that compute the same: see SetKey.
	Key string
}

// A KernelArg is what a member of the struct holds.
type KernelArg struct {
	Kind  KernelArgKind
	Index int    // of the source or the result
	Zero  bool   // of a result: its memory is filled with zeros first
	Size  int    // of a number: 4 or 8 bytes
	Bits  uint64 // of a number
}

// A KernelArgKind says what a KernelArg is.
type KernelArgKind uint8

const (
	KernelSource KernelArgKind = iota // the address of source Index, whose elements lie in C order
	KernelResult                      // the address of result Index
	KernelNumber                      // Bits
)

// Composed says that the kernel computes nothing: its last sources are its results.
func (k *Kernel) Composed() bool { return k.Text == "" && k.Go == nil && k.Routine == nil }

// SetKey sets Key. Function has to have a hash of the text in it, or all that Go code depends on.
func (k *Kernel) SetKey() {
	b := fmt.Append(nil, k.Name, " ", k.Function, k.Args, k.Groups, k.Threads, k.Flops)
	for _, o := range k.Outs { // without reflection: small equations make many
		b = append(append(b, ' '), o.DType.String()...)
		for _, n := range o.Shape {
			b = strconv.AppendInt(append(b, ' '), int64(n), 10)
		}
	}
	k.Key = string(b)
}

// parenthesised is a place as NVRTC writes it: In[3].metal(4).
var parenthesised = lazy.Regexp(`\.metal\((\d+)\)`)

// Plain is a message about the text as a person reads it: with the kernel's own name, and with the name of a
// cell or a file where compilers are told one that ends in .metal.
func (k *Kernel) Plain(message string) string {
	message = strings.ReplaceAll(message, k.Function, k.Name)
	message = parenthesised().ReplaceAllString(message, ":$1")
	message = strings.ReplaceAll(message, ".metal:", ":")
	if !strings.HasPrefix(message, k.Name+": ") {
		message = k.Name + ": " + message
	}
	return message
}

func kernelRows() []Row {
	return []Row{{
		Op: UserKernel, Name: "user_kernel", Infer: inferKernel, Grad: gradKernel, Tol: exact,
		Doc: "UserKernel runs a kernel that a person wrote in Metal's language (package kernel), or Go code (packages linalg and fft) or a device's library, or gives what other nodes compute " +
			"another gradient (Custom). Attr.Kernel is the text, the grid and the results. " +
			"Sources are contiguous. What it computes is what the text says: on ref and cpu the text runs in the checked path, thread by thread. Its gradient is what the person gave.",
		Flops: func(n *Node) int64 { return n.Attr.Kernel.Flops },
	}}
}

func inferKernel(n *Node) error {
	k := n.Attr.Kernel
	if k == nil || len(k.Outs) == 0 {
		return wrong(n, "got no kernel, want one with results")
	}
	if args := len(n.Src) - len(k.Outs); k.Composed() && args < 1 {
		return wrong(n, "got %d results and no arguments, want one at least", len(k.Outs))
	}
	n.tuple(slices.Clone(k.Outs)...)
	return nil
}

// gradKernel asks the person's function. Nodes can be evaluated meanwhile, by it too.
func gradKernel(n *Node, dy []*Node) []*Node {
	k := n.Attr.Kernel
	if k.Gradient == nil {
		panic(refusal(k.Name + " was made without Options.Grad"))
	}
	links.RUnlock()
	defer links.RLock()
	grads, err := k.Gradient(n, dy)
	if err != nil {
		panic(refusal(k.Name + ": " + err.Error()))
	}
	return grads
}

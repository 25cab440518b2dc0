// Package kernel runs kernels that you write yourself, in Metal Shading Language, as operations on tensors.
//
// [New] takes the text of a kernel as Metal has it. The head says what the kernel takes: a pointer to const
// is an input, another pointer to device memory is an output, a constant reference is a number.
//
//	square, err := kernel.New("square", `
//	kernel void square(device const float* x, device float* y, constant uint& n, uint i [[thread_position_in_grid]]) {
//	  if (i < n) y[i] = x[i] * x[i];
//	}`, kernel.Options{Launch: func(l *kernel.Launch) { l.Set("n", l.Size("x")) }})
//	y := square.Call(x)
//
// A call is lazy, as all operations are: it takes part in graphs, in gradients ([Options.Grad]) and in what
// tensor.Compile replays, and it is one launch, under the kernel's name, which nothing fuses with.
//
// The text runs on the device of the inputs. A GPU compiles it. On the CPU it runs in the checked path, which
// needs clang 19: thread by thread, in a process of its own, slowly, and so that mistakes are found: an
// access outside of a tensor, a barrier that not all threads reach or that is missing. [Kernel.Check] looks
// harder.
//
// Reading order: kernel.go, head.go (what a text takes), launch.go (how a call is launched and what its
// gradient is), check.go.
package kernel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/mcs-notebook/mcs/engine/internal/msl"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/lazy"
)

// A Kernel is a kernel that a person wrote. It may be called by several goroutines.
type Kernel struct {
	name    string
	source  *msl.Source
	head    *msl.Kernel
	args    []argument
	inputs  []int // of args
	outputs []int
	lanes   bool // the text has operations of simdgroups
	options Options

	made struct {
		sync.Mutex
		texts map[string]string // complete, by the name of their function
	}
}

// Options say how a kernel is launched, and what its gradient is.
type Options struct {
	// Launch is called by each call: it says which shapes the outputs have, how many threads there are, and
	// the values of constants. Without it all outputs have the shape of the first input, and there are at
	// least as many threads as the first output has elements, in threadgroups of 256.
	Launch func(l *Launch)
	// Grad returns the gradient of each input, with its shape and dtype, given the inputs, the outputs, and
	// the gradients of the outputs; a zero Tensor for an input without one. It is called when a gradient is
	// taken, and may use operations and other kernels. Without it the kernel has no gradient.
	Grad func(in, out, dout []tensor.Tensor) []tensor.Tensor
}

// New reads a text with a kernel of that name; it may have functions, structs and other kernels beside it.
// The error names the lines and columns of what Metal would refuse, in the cell if the text stands in one.
// What only a compiler finds is an error of the first evaluation.
//
// Arguments need no [[buffer(n)]]. Pointers are to bool, to integers, half, bfloat or float, and to vectors
// of these; constants are int, uint, long, ulong or float. Threadgroup memory is declared in the kernel. A
// template is compiled for each dtype and number that it is called with: a typename is that of the inputs
// which have it in their type, or what [Launch.SetType] says, and a number is what [Launch.Set] says.
func New(name, source string, o Options) (*Kernel, error) {
	s, err := msl.Parse(placed(name, source))
	if err != nil {
		return nil, refused(name, err)
	}
	k := &Kernel{name: name, source: s, options: o, lanes: lanes().MatchString(source)}
	var names []string
	for _, other := range s.Kernels {
		if names = append(names, other.Name); other.Name == name {
			k.head = other
		}
	}
	if k.head == nil {
		return nil, fmt.Errorf("kernel: %s: got a text with the kernels %q, want one of that name: kernel void %[1]s(…)", name, names)
	}
	if err := k.readHead(); err != nil {
		return nil, refused(name, err)
	}
	if _, err := k.text(k.provisional()); err != nil {
		return nil, err
	}
	return k, nil
}

// lanes finds the operations of simdgroups.
var lanes = lazy.Regexp(`\bsimd(group)?_\w+\s*[(<]`)

// Name is the kernel's name, under which profiles show it.
func (k *Kernel) Name() string { return k.name }

// String describes the kernel by its head.
func (k *Kernel) String() string {
	list := make([]string, len(k.args))
	for i, a := range k.args {
		list[i] = a.kind.String() + " " + a.name
	}
	return "kernel " + k.name + "(" + strings.Join(list, ", ") + ")"
}

// refused is an error of a text, with its places as a person reads them.
func refused(name string, err error) error {
	return fmt.Errorf("kernel: %s: %s", name, unplaced(err.Error()))
}

// lint returns what Metal would refuse in a complete text.
func (k *Kernel) lint(text, function string) error {
	s, err := msl.Parse(k.source.Name, text)
	if err != nil {
		return refused(k.name, err)
	}
	var list []error
	for _, p := range msl.Lint(s) {
		p.Text = strings.ReplaceAll(p.Text, function, k.name)
		list = append(list, refused(k.name, p))
	}
	return errors.Join(list...)
}

// suffix marks the file names of texts.
const suffix = ".metal"

func unplaced(text string) string { return strings.ReplaceAll(text, suffix+":", ":") }

// A Place is where a text begins: its first character is in that line and column of the file.
type Place struct {
	File      string // "In[3]"
	Line, Col int    // counted from 1, Col in bytes
}

var texts = &scope.Key{Name: "texts"}

// WithTexts returns a context within which (tensor.Within) find says where the text of a kernel stands, if it
// knows. Errors of kernels then name that place.
func WithTexts(ctx context.Context, find func(text string) (Place, bool)) context.Context {
	return context.WithValue(ctx, texts, find)
}

// placed is the name of a text for messages, and the text so that lines and columns are those of its place.
func placed(name, text string) (string, string) {
	if find, ok := scope.Context().Value(texts).(func(string) (Place, bool)); ok {
		if p, ok := find(text); ok {
			return p.File + suffix, fmt.Sprintf("#line %d %q\n%s%s", p.Line, p.File+suffix, strings.Repeat(" ", max(0, p.Col-1)), text)
		}
	}
	return name + suffix, text
}

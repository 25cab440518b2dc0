package kernel

import (
	"errors"
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/checked"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Checked returns nil if this machine has what the checked path needs, and otherwise an error that says what
// to install. Kernels on a GPU need none of it.
func Checked() error {
	_, err := check.Find()
	return err
}

// Check runs a call of the kernel in the checked path under each sanitizer of clang, whatever device the
// inputs are on, and returns what they find, with the lines of the text: accesses outside of a tensor or of
// threadgroup memory, undefined arithmetic, and races between threads, of a threadgroup or of several. The
// last is left out for a threadgroup of more than 200 threads. It takes some seconds.
func (k *Kernel) Check(in ...tensor.Tensor) error {
	nodes := make([]*ir.Node, len(in))
	bufs := make([][]byte, len(in))
	for i, t := range in {
		nodes[i], bufs[i] = access.Node(t, k.name), t.Bytes()
	}
	made := k.prepare(nodes)
	g := &backend.Group{Name: k.name, Kind: backend.Single, Insts: []backend.Inst{{Op: ir.UserKernel, Attr: ir.Attr{Kernel: made}, Outs: made.Outs}}}
	for i, n := range nodes {
		g.Inputs = append(g.Inputs, backend.Input{DType: n.DType, Layout: ir.Contiguous(n.Shape), Buf: i})
		g.Insts[0].Args = append(g.Insts[0].Args, backend.In(i))
	}
	text, err := checked.Compile(g)
	if err != nil {
		return err
	}
	var found []error
	for _, mode := range check.Modes[1:] {
		if mode == check.Thread && made.Threads[0]*made.Threads[1]*made.Threads[2] > 200 {
			continue
		}
		err := checked.Watch(scope.Context(), text, bufs, mode)
		var fault *check.Fault
		if err != nil && !errors.As(err, &fault) {
			return text.Plain(err)
		}
		if err != nil {
			found = append(found, text.Plain(err))
		}
	}
	return errors.Join(found...)
}

// CheckGrad compares the gradient of the kernel with central differences, at some 20 elements of each input
// of f32, and returns where they differ. The outputs are weighted differently, so that no mistake cancels
// out. It is for small inputs: it calls the kernel twice for each element.
func (k *Kernel) CheckGrad(in ...tensor.Tensor) error {
	if k.options.Grad == nil {
		return fmt.Errorf("kernel: %s: got no Options.Grad to check", k.name)
	}
	loss := func(in []tensor.Tensor) float64 {
		total := 0.0
		for o, y := range k.CallAll(in...) {
			if !y.DType().Float() {
				continue
			}
			for i, v := range y.Float64s() {
				total += weight(o, i) * v
			}
		}
		return total
	}
	grads, err := k.analytic(in)
	if err != nil {
		return err
	}
	var found []error
	for i, x := range in {
		if x.DType() != dtype.F32 || grads[i].IsNone() {
			continue
		}
		found = append(found, k.compare(i, x, grads[i].Float64s(), func(changed tensor.Tensor) float64 {
			list := append([]tensor.Tensor(nil), in...)
			list[i] = changed
			return loss(list)
		}))
	}
	return errors.Join(found...)
}

// weight is that of element i of output o in the loss of CheckGrad.
func weight(o, i int) float64 { return 1 + 0.5*math.Sin(float64(7*o+3*i+1)) }

// analytic asks Options.Grad.
func (k *Kernel) analytic(in []tensor.Tensor) (grads []tensor.Tensor, err error) {
	err = tensor.Try(func() {
		out := k.CallAll(in...)
		dout := make([]tensor.Tensor, len(out))
		for o, y := range out {
			w := make([]float64, y.Size())
			for i := range w {
				w[i] = weight(o, i)
			}
			dout[o] = tensor.From(w, y.Shape()...).Cast(y.DType()).To(y.Device())
		}
		grads = k.options.Grad(in, out, dout)
	})
	if err == nil && len(grads) != len(in) {
		err = fmt.Errorf("kernel: %s: Options.Grad returned %d tensors, want one for each of %s", k.name, len(grads), k.list(input))
	}
	return grads, err
}

// compare holds the gradient of input i against central differences of loss.
func (k *Kernel) compare(i int, x tensor.Tensor, got []float64, loss func(x tensor.Tensor) float64) error {
	const most = 20
	values := x.Floats()
	if len(got) != len(values) {
		return fmt.Errorf("kernel: %s: Options.Grad returned %d elements for %s, want %d", k.name, len(got), k.args[k.inputs[i]].name, len(values))
	}
	at := func(n int, v float32) float64 {
		changed := append([]float32(nil), values...)
		changed[n] = v
		return loss(tensor.From(changed, x.Shape()...).To(x.Device()))
	}
	for step := range min(most, len(values)) {
		n := step * len(values) / min(most, len(values))
		h := float32(0.01 * math.Max(0.1, math.Abs(float64(values[n]))))
		up, down := values[n]+h, values[n]-h
		want := (at(n, up) - at(n, down)) / (float64(up) - float64(down))
		if d := math.Abs(got[n] - want); !(d <= 0.02*math.Max(math.Abs(want), 0.05)) {
			return fmt.Errorf("kernel: %s: the gradient of %s%v: got %.4g, want about %.4g by central differences", k.name, k.args[k.inputs[i]].name, ir.IndexOf(n, x.Shape()), got[n], want)
		}
	}
	return nil
}

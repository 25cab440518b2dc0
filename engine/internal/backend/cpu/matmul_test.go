package cpu

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/ref"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/testing/submit"
)

// A groupCase builds a group over random inputs. Buffers of inputs come first, then those of outputs.
type groupCase struct {
	r   *rand.Rand
	g   backend.Group
	mem [][]byte
}

func newGroupCase(kind backend.Kind, seed uint64) *groupCase {
	return &groupCase{r: rand.New(rand.NewPCG(seed, 1)), g: backend.Group{Name: "test", Kind: kind}}
}

// input adds an input of random numbers; perm permutes the axes of the memory, nil leaves them.
func (c *groupCase) input(t dtype.Type, shape []int, perm ...int) backend.Ref {
	lay := ir.Contiguous(shape)
	if perm != nil {
		inner := make([]int, len(shape))
		back := make([]int, len(shape))
		for i, p := range perm {
			inner[i] = shape[p]
			back[p] = i
		}
		lay = ir.Contiguous(inner).Permute(back)
	}
	return c.view(t, lay, ir.Size(shape))
}

// view adds an input that sees n random numbers through a layout.
func (c *groupCase) view(t dtype.Type, lay ir.Layout, n int) backend.Ref {
	mem := make([]byte, n*t.Size())
	for i := range n {
		v := float32(c.r.NormFloat64())
		number := ir.Scalar{F: float64(v), I: int64(c.r.Uint64())}
		if t == dtype.Bool {
			number.F = float64(number.I & 3) // a quarter is false
		}
		ir.Append(t, mem[i*t.Size():i*t.Size()], number)
	}
	c.g.Inputs = append(c.g.Inputs, backend.Input{DType: t, Layout: lay, Buf: len(c.mem), Scalar: -1})
	c.mem = append(c.mem, mem)
	return backend.In(len(c.g.Inputs) - 1)
}

// inst adds an instruction.
func (c *groupCase) inst(op ir.Op, t dtype.Type, shape []int, args ...backend.Ref) backend.Ref {
	c.g.Insts = append(c.g.Insts, backend.Inst{Op: op, DType: t, Shape: shape, Args: args})
	return backend.Ref{Index: len(c.g.Insts) - 1}
}

// output adds a result.
func (c *groupCase) output(v backend.Ref, t dtype.Type, shape []int) {
	c.g.Outputs = append(c.g.Outputs, backend.Output{Value: v, Buf: len(c.mem), DType: t, Shape: shape})
	c.mem = append(c.mem, nil)
}

// command compiles the group for b and gives it memory.
func (c *groupCase) command(t testing.TB, b backend.Backend) submit.Cmd {
	t.Helper()
	k, err := b.Compile(&c.g)
	if err != nil {
		t.Fatal(err)
	}
	cmd := submit.Cmd{Kernel: k}
	for _, m := range c.mem {
		buf, err := b.Alloc(len(m))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Upload(buf, 0, m); err != nil {
			t.Fatal(err)
		}
		cmd.Bufs = append(cmd.Bufs, backend.Slice{Buf: buf})
	}
	for _, o := range c.g.Outputs {
		if cmd.Bufs[o.Buf].Buf, err = b.Alloc(ir.Size(o.Shape) * o.DType.Size()); err != nil {
			t.Fatal(err)
		}
	}
	return cmd
}

// run computes the group on b and returns its outputs.
func (c *groupCase) run(t testing.TB, b backend.Backend) [][]byte {
	t.Helper()
	cmd := c.command(t, b)
	for range 2 { // a kernel is used again and again
		if err := submit.Run(context.Background(), b, []submit.Cmd{cmd}, nil); err != nil {
			t.Fatal(err)
		}
	}
	outs := make([][]byte, len(c.g.Outputs))
	for i, o := range c.g.Outputs {
		outs[i] = make([]byte, ir.Size(o.Shape)*o.DType.Size())
		if err := b.Download(context.Background(), outs[i], cmd.Bufs[o.Buf].Buf, 0); err != nil {
			t.Fatal(err)
		}
	}
	return outs
}

// check holds the group on cpu against ref; tol is relative to the largest magnitude of an output.
func (c *groupCase) check(t *testing.T, b *Backend, tol float64) {
	t.Helper()
	exact, err := ref.Open()
	if err != nil {
		t.Fatal(err)
	}
	want, got := c.run(t, exact), c.run(t, b)
	for i, o := range c.g.Outputs {
		w, g := numbers(o.DType, want[i]), numbers(o.DType, got[i])
		largest := 0.0
		for _, x := range w {
			if !math.IsInf(x, 0) {
				largest = max(largest, math.Abs(x))
			}
		}
		limit := tol * largest
		switch o.DType {
		case dtype.F16:
			limit += largest / (1 << 10)
		case dtype.BF16:
			limit += largest / (1 << 7)
		}
		for j := range w {
			if g[j] != w[j] && !(math.Abs(g[j]-w[j]) <= limit) && !(math.IsNaN(g[j]) && math.IsNaN(w[j])) {
				t.Fatalf("output %d (%v%v): element %d: got %g, want %g ± %g", i, o.DType, o.Shape, j, g[j], w[j], limit)
			}
		}
	}
}

func numbers(t dtype.Type, mem []byte) []float64 {
	r := make([]float64, len(mem)/t.Size())
	for i := range r {
		r[i] = element(mem, t, i)
	}
	return r
}

func TestMatMulGroups(t *testing.T) {
	b := New(3)
	defer b.Close()
	for _, shape := range [][3]int{{1, 64, 48}, {3, 70, 5}, {8, 300, 33}, {40, 1, 20}, {1, 1, 7}, {65, 130, 70}, {5, 7, 0}, {0, 3, 4}, {30, 0, 4}} {
		m, n, k := shape[0], shape[1], shape[2]
		for _, f := range []dtype.Type{dtype.F32, dtype.BF16, dtype.F16} {
			t.Run(fmt.Sprintf("bias silu residual/%v/%d %d %d", f, m, n, k), func(t *testing.T) {
				c := newGroupCase(backend.MatMul, 1)
				y := []int{m, n}
				x, w, bias, res := c.input(f, []int{m, k}), c.input(f, []int{k, n}, 1, 0), c.input(f, []int{1, n}), c.input(f, y)
				bias = expand(c, bias, y)
				h := c.inst(ir.Add, f, y, c.inst(ir.MatMul, f, y, x, w), bias)
				s := c.inst(ir.Silu, f, y, h)
				c.output(c.inst(ir.Add, f, y, s, res), f, y)
				c.output(h, f, y) // for the backward pass
				c.check(t, b, 1e-6)
			})
			t.Run(fmt.Sprintf("lora/%v/%d %d %d", f, m, n, k), func(t *testing.T) {
				c := newGroupCase(backend.MatMul, 2)
				const rank = 4
				x, w := c.input(f, []int{m, k}), c.input(f, []int{k, n})
				down, up, scale := c.input(f, []int{k, rank}), c.input(f, []int{rank, n}), c.input(f, []int{})
				h := c.inst(ir.MatMul, f, []int{m, rank}, x, down)
				h = c.inst(ir.Mul, f, []int{m, rank}, h, scale)
				y := c.inst(ir.MatMul, f, []int{m, n}, x, w, h, up)
				c.output(y, f, []int{m, n})
				c.output(h, f, []int{m, rank})
				c.check(t, b, 1e-6)
			})
		}
	}
}

// expand makes an input with length-1 axes look like shape.
func expand(c *groupCase, r backend.Ref, shape []int) backend.Ref {
	i, _ := r.Input()
	c.g.Inputs[i].Layout = c.g.Inputs[i].Layout.Expand(shape)
	return r
}

func TestMatMulBatches(t *testing.T) {
	b := New(2)
	defer b.Close()
	for _, f := range testTypes {
		t.Run(f.String()+"/weights for all of a batch", func(t *testing.T) {
			c := newGroupCase(backend.MatMul, 3)
			x, w := c.input(f, []int{2, 3, 10, 6}), c.input(f, []int{1, 1, 6, 9})
			y := []int{2, 3, 10, 9}
			c.output(c.inst(ir.MatMul, f, y, x, expand(c, w, []int{2, 3, 6, 9})), f, y)
			c.check(t, b, 1e-6)
		})
		t.Run(f.String()+"/heads that were permuted", func(t *testing.T) {
			c := newGroupCase(backend.MatMul, 4)
			q, k := c.input(f, []int{2, 3, 10, 6}, 0, 2, 1, 3), c.input(f, []int{2, 3, 6, 11}, 0, 3, 1, 2)
			y := []int{2, 3, 10, 11}
			c.output(c.inst(ir.MatMul, f, y, q, k), f, y)
			c.check(t, b, 1e-6)
		})
		t.Run(f.String()+"/one operand for a batch of the other", func(t *testing.T) {
			c := newGroupCase(backend.MatMul, 5)
			x, w := c.input(f, []int{1, 4, 6}), c.input(f, []int{5, 6, 9})
			y := []int{5, 4, 9}
			v := c.inst(ir.MatMul, f, y, expand(c, x, []int{5, 4, 6}), w)
			c.output(c.inst(ir.Mul, f, y, v, v), f, y)
			c.output(v, f, y)
			c.check(t, b, 1e-6)
		})
	}
}

// One launch with two products that do not depend on each other, joined by an instruction after both:
// silu(gate)·up.
func TestMatMulGatedPair(t *testing.T) {
	b := New(2)
	defer b.Close()
	c := newGroupCase(backend.MatMul, 6)
	y := []int{20, 80}
	x, gate, up := c.input(dtype.F32, []int{20, 30}), c.input(dtype.F32, []int{30, 80}), c.input(dtype.F32, []int{30, 80})
	g := c.inst(ir.Silu, dtype.F32, y, c.inst(ir.MatMul, dtype.F32, y, x, gate))
	u := c.inst(ir.MatMul, dtype.F32, y, x, up)
	c.output(c.inst(ir.Mul, dtype.F32, y, g, u), dtype.F32, y)
	c.check(t, b, 1e-6)
}

package ir_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	_ "github.com/mcs-notebook/mcs/engine/internal/backend/cpu"
	_ "github.com/mcs-notebook/mcs/engine/internal/backend/ref"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/plan"
)

// lab builds and runs graphs on a device, in float64.
type lab struct {
	t   *testing.T
	dev *backend.Device
	rng *rand.Rand
}

func newLab(t *testing.T) *lab { return newLabOn(t, "ref") }

func newLabOn(t *testing.T, name string) *lab {
	dev, err := backend.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return &lab{t: t, dev: dev, rng: rand.New(rand.NewPCG(3, 4))}
}

// op applies an op.
func (l *lab) op(op ir.Op, attr ir.Attr, src ...*ir.Node) *ir.Node {
	l.t.Helper()
	n, err := ir.New(op, attr, src...)
	if err != nil {
		l.t.Fatal(err)
	}
	return n
}

// pick selects a value of a tuple.
func (l *lab) pick(n *ir.Node, i int) *ir.Node { return l.op(ir.Pick, ir.Attr{Index: i}, n) }

// leaf puts 8-byte elements on the device.
func (l *lab) leaf(dt dtype.Type, shape []int, words []uint64) *ir.Node {
	l.t.Helper()
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	buf, err := l.dev.Alloc(len(b))
	if err == nil && len(b) > 0 {
		err = l.dev.Upload(buf, 0, b)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return ir.NewLeaf(l.dev, dt, &ir.Data{Buf: buf, Layout: new(ir.Contiguous(shape))}, "")
}

// floats is a parameter of f64.
func (l *lab) floats(shape []int, x ...float64) *ir.Node {
	words := make([]uint64, len(x))
	for i, v := range x {
		words[i] = math.Float64bits(v)
	}
	n := l.leaf(dtype.F64, shape, words)
	n.Tracked = true
	return n
}

func (l *lab) ints(shape []int, x ...int) *ir.Node {
	words := make([]uint64, len(x))
	for i, v := range x {
		words[i] = uint64(v)
	}
	return l.leaf(dtype.I64, shape, words)
}

// values evaluates nodes of f64.
func (l *lab) values(nodes ...*ir.Node) [][]float64 {
	l.t.Helper()
	if err := plan.Run(context.Background(), nodes); err != nil {
		l.t.Fatal(err)
	}
	lists := make([][]float64, len(nodes))
	for i, n := range nodes {
		lists[i] = l.read(n)
	}
	return lists
}

// read downloads an evaluated node, whatever its layout.
func (l *lab) read(n *ir.Node) []float64 {
	l.t.Helper()
	d := n.Value()
	raw := make([]byte, d.Buf.Bytes())
	if len(raw) > 0 {
		if err := l.dev.Download(context.Background(), raw, d, 0); err != nil {
			l.t.Fatal(err)
		}
	}
	list := []float64{}
	index := make([]int, len(n.Shape))
	for range ir.Size(n.Shape) {
		at := d.Layout.Offset
		for a, i := range index {
			at += i * d.Layout.Stride[a]
		}
		list = append(list, math.Float64frombits(binary.LittleEndian.Uint64(raw[8*at:])))
		for a := len(index) - 1; a >= 0; a-- {
			if index[a]++; index[a] < n.Shape[a] {
				break
			}
			index[a] = 0
		}
	}
	return list
}

// sum adds up all elements.
func (l *lab) sum(x *ir.Node) *ir.Node {
	all := make([]int, len(x.Shape))
	for i := range all {
		all[i] = i
	}
	return l.op(ir.Reshape, ir.Attr{Shape: []int{}}, l.op(ir.Sum, ir.Attr{Axes: all}, x))
}

// random returns n numbers in [low, high).
func (l *lab) random(n int, low, high float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = low + (high-low)*l.rng.Float64()
	}
	return x
}

// A gradCase is a function of parameters, made with one op.
type gradCase struct {
	op        ir.Op
	name      string
	shapes    [][]int
	low, high float64 // what the parameters' elements are drawn from; both 0 means -2 to 2
	f         func(l *lab, p []*ir.Node) *ir.Node
}

// Every gradient rule agrees with central differences in float64, for every parameter, in several shapes.
func TestGradients(t *testing.T) {
	tested := map[ir.Op]bool{}
	for _, c := range gradCases() {
		tested[c.op] = true
		for _, dev := range []string{"ref", "cpu"} {
			t.Run(fmt.Sprintf("%v/%s/%s", c.op, c.name, dev), func(t *testing.T) { checkGradient(newLabOn(t, dev), c) })
		}
	}
	for _, r := range ir.Rows() {
		if r.Op == ir.UserKernel { // its gradient is a person's, and its text knows no float64: see package engine/kernel
			continue
		}
		if r.Grad != nil && !tested[r.Op] {
			t.Errorf("%s has a gradient rule that no case in gradcases_test.go checks", r.Name)
		}
	}
}

// draw makes data for a case's parameters.
func (c gradCase) draw(l *lab) [][]float64 {
	low, high := c.low, c.high
	if low == high {
		low, high = -2, 2
	}
	data := make([][]float64, len(c.shapes))
	for i, s := range c.shapes {
		data[i] = l.random(ir.Size(s), low, high)
	}
	return data
}

func checkGradient(l *lab, c gradCase) {
	data := c.draw(l)
	// The loss weighs each element of the result differently; the weights stay through all evaluations.
	var weight *ir.Node
	loss := func() (*ir.Node, []*ir.Node) {
		p := make([]*ir.Node, len(c.shapes))
		for i, s := range c.shapes {
			p[i] = l.floats(s, data[i]...)
		}
		y := c.f(l, p)
		if weight == nil {
			weight = l.floats(y.Shape, l.random(ir.Size(y.Shape), 0.5, 1.5)...)
			weight.Tracked = false
		}
		return l.sum(l.op(ir.Mul, ir.Attr{}, y, weight)), p
	}
	root, params := loss()
	grads, err := ir.Grad(context.Background(), root, params)
	if err != nil {
		l.t.Fatal(err)
	}
	got := l.values(grads...)
	for i := range data {
		for k := range data[i] {
			const h = 1e-5
			x := data[i][k]
			data[i][k] = x + h
			above, _ := loss()
			data[i][k] = x - h
			below, _ := loss()
			data[i][k] = x
			v := l.values(above, below)
			want := (v[0][0] - v[1][0]) / (2 * h)
			if math.IsNaN(want) {
				l.t.Fatalf("%v is NaN somewhere: want operands from where it is none, by a row of inside or within (gradcases_test.go)", c.op)
			}
			if math.Abs(got[i][k]-want) > 1e-6*math.Max(1, math.Abs(want)) || math.IsNaN(got[i][k]) {
				l.t.Errorf("parameter %d of %v, element %d, at %.9g: got %.9g, want %.9g", i, c.shapes[i], k, x, got[i][k], want)
			}
		}
	}
}

// The rules keep to the dtypes of mixed graphs: parameters of bf16, statistics and losses of f32. Storing in
// bf16 costs accuracy, not more.
func TestGradientsInBF16(t *testing.T) {
	for _, c := range gradCases() {
		t.Run(fmt.Sprintf("%v/%s", c.op, c.name), func(t *testing.T) {
			l := newLab(t)
			data := c.draw(l)
			gradients := func(dt dtype.Type) [][]float64 {
				p, narrow := make([]*ir.Node, len(data)), make([]*ir.Node, len(data))
				for i, s := range c.shapes {
					p[i] = l.floats(s, data[i]...)
					narrow[i] = l.op(ir.Cast, ir.Attr{DType: dt}, p[i])
				}
				grads, err := ir.Grad(t.Context(), l.sum(l.op(ir.Cast, ir.Attr{DType: dtype.F64}, c.f(l, narrow))), p)
				if err != nil {
					t.Fatal(err)
				}
				return l.values(grads...)
			}
			want, got := gradients(dtype.F64), gradients(dtype.BF16)
			for i := range want {
				for k := range want[i] {
					if d := math.Abs(got[i][k] - want[i][k]); !(d <= 0.15*math.Max(1, math.Abs(want[i][k]))) {
						t.Errorf("parameter %d, element %d: got %v, want about %v", i, k, got[i][k], want[i][k])
					}
				}
			}
		})
	}
}

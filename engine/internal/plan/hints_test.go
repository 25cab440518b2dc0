package plan_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/ref"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/plan"
)

// hinting is the reference with other hints and types; it keeps the groups that it compiles, and its kernels
// want scratch memory and are several launches.
type hinting struct {
	backend.Backend
	hints   backend.Hints
	lacks   dtype.Type
	scratch int
	groups  []*backend.Group
	loaded  []*backend.Program
}

type hintingKernel struct {
	backend.Kernel
	scratch int
}

func (k hintingKernel) Scratch() int  { return k.scratch }
func (k hintingKernel) Launches() int { return 3 }

func (h *hinting) Info() backend.Info {
	i := h.Backend.Info()
	i.Hints = h.hints
	i.DTypes = slices.DeleteFunc(i.DTypes, func(dt dtype.Type) bool { return dt == h.lacks })
	return i
}

func (h *hinting) Compile(g *backend.Group) (backend.Kernel, error) {
	h.groups = append(h.groups, g)
	k, err := h.Backend.Compile(g)
	return hintingKernel{k, h.scratch}, err
}

func (h *hinting) Load(p *backend.Program) (backend.Loaded, error) {
	h.loaded = append(h.loaded, p)
	plain := *p
	plain.Launches = slices.Clone(p.Launches)
	for i := range plain.Launches {
		plain.Launches[i].Kernel = plain.Launches[i].Kernel.(hintingKernel).Kernel
	}
	return h.Backend.Load(&plain)
}

func newHinting(t *testing.T, h hinting) (*hinting, *backend.Device) {
	exact, err := ref.Open()
	if err != nil {
		t.Fatal(err)
	}
	h.Backend = exact
	return &h, backend.NewDevice("hinting", &h)
}

// leafOf is a leaf of zeros.
func leafOf(t *testing.T, dev *backend.Device, dt dtype.Type, shape ...int) *ir.Node {
	t.Helper()
	bytes := ir.Size(shape) * dt.Size()
	block, err := dev.Alloc(bytes)
	if err == nil {
		err = dev.Upload(block, 0, make([]byte, bytes))
	}
	if err != nil {
		t.Fatal(err)
	}
	return ir.NewLeaf(dev, dt, &ir.Data{Buf: block, Layout: new(ir.Contiguous(shape))}, "")
}

func node(t *testing.T, op ir.Op, attr ir.Attr, src ...*ir.Node) *ir.Node {
	t.Helper()
	n, err := ir.New(op, attr, src...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The planner knows a device by its hints: with others it makes other plans.
func TestHintsMakeOtherPlans(t *testing.T) {
	product := func(t *testing.T, d *backend.Device, x *ir.Node, n int) *ir.Node {
		return node(t, ir.MatMul, ir.Attr{}, x, leafOf(t, d, dtype.F32, x.Shape[1], n))
	}
	unrelated := func(t *testing.T, d *backend.Device) []*ir.Node {
		return []*ir.Node{product(t, d, leafOf(t, d, dtype.F32, 16, 8), 4), product(t, d, leafOf(t, d, dtype.F32, 16, 8), 4)}
	}
	thin := func(n int) func(*testing.T, *backend.Device) []*ir.Node { // x is a left operand, and a right one
		return func(t *testing.T, d *backend.Device) []*ir.Node {
			x := leafOf(t, d, dtype.F32, 40, 64)
			return []*ir.Node{product(t, d, x, n), node(t, ir.MatMul, ir.Attr{}, leafOf(t, d, dtype.F32, n, 40), x)}
		}
	}
	chain := func(t *testing.T, d *backend.Device) []*ir.Node {
		return []*ir.Node{product(t, d, product(t, d, leafOf(t, d, dtype.F32, 4, 8), 16), 8)}
	}
	gated := func(t *testing.T, d *backend.Device) []*ir.Node {
		x := leafOf(t, d, dtype.F32, 16, 8)
		return []*ir.Node{node(t, ir.Mul, ir.Attr{}, node(t, ir.Silu, ir.Attr{}, product(t, d, x, 32)), product(t, d, x, 32))}
	}
	kept := func(t *testing.T, d *backend.Device) (list []*ir.Node) { // queries, keys and values of a step
		at, places := leafOf(t, d, dtype.I64, 2), leafOf(t, d, dtype.I64, 2)
		keys := node(t, ir.Rope, ir.Attr{Float: 100}, leafOf(t, d, dtype.F32, 1, 2, 8), at)
		for _, x := range []*ir.Node{keys, leafOf(t, d, dtype.F32, 1, 2, 8)} {
			list = append(list, node(t, ir.Overwrite, ir.Attr{Axis: 1, Flags: ir.InPlace}, leafOf(t, d, dtype.F32, 1, 5, 8), places, x))
		}
		return append(list, node(t, ir.Rope, ir.Attr{Float: 100}, leafOf(t, d, dtype.F32, 4, 2, 8), at))
	}
	again := func(t *testing.T, d *backend.Device) []*ir.Node { // each needs the one before
		x, at := leafOf(t, d, dtype.F32, 2, 8), leafOf(t, d, dtype.I64, 2)
		return []*ir.Node{node(t, ir.Rope, ir.Attr{Float: 100}, node(t, ir.Rope, ir.Attr{Float: 100}, x, at), at)}
	}
	normed := func(columns int) func(*testing.T, *backend.Device) []*ir.Node {
		return func(t *testing.T, d *backend.Device) []*ir.Node {
			x := node(t, ir.RMSNorm, ir.Attr{Float: 1e-5}, leafOf(t, d, dtype.F32, 1, 4, 8), leafOf(t, d, dtype.F32, 8))
			x = node(t, ir.Reshape, ir.Attr{Shape: []int{4, 8}}, x)
			return []*ir.Node{product(t, d, x, columns), product(t, d, x, columns)}
		}
	}
	shared := func(t *testing.T, d *backend.Device) []*ir.Node { // a cheap value that two launches read
		x := leafOf(t, d, dtype.F32, 32, 8)
		y := node(t, ir.Neg, ir.Attr{}, node(t, ir.Abs, ir.Attr{}, x))
		return []*ir.Node{node(t, ir.Sum, ir.Attr{Axes: []int{0}}, y), node(t, ir.Sum, ir.Attr{Axes: []int{1}}, y)}
	}
	weights := func(t *testing.T, d *backend.Device) []*ir.Node { // aᵀ·b of each layer, which no other product needs
		var list []*ir.Node
		x := leafOf(t, d, dtype.F32, 32, 8)
		for range 4 {
			turned := node(t, ir.Permute, ir.Attr{Axes: []int{1, 0}}, x)
			list = append(list, node(t, ir.MatMul, ir.Attr{}, turned, leafOf(t, d, dtype.F32, 32, 4)))
			x = node(t, ir.Tanh, ir.Attr{}, product(t, d, x, 8))
		}
		return append(list, x)
	}
	upTo := func(most int) func(rows, inner, columns int, left, right dtype.Type) bool {
		return func(rows, _, _ int, _, _ dtype.Type) bool { return rows <= most }
	}
	for _, c := range []struct {
		name  string
		graph func(*testing.T, *backend.Device) []*ir.Node
		hints backend.Hints
		want  int
	}{
		{"small products", unrelated, backend.Hints{}, 1},
		{"small products, each for itself", unrelated, backend.Hints{SmallFlops: -1}, 2},
		{"thin products of one matrix", thin(16), backend.Hints{SmallFlops: -1}, 1},
		{"products of one matrix", thin(36), backend.Hints{SmallFlops: -1}, 2},
		{"products of few rows", chain, backend.Hints{}, 1},
		{"products of few rows, one after the other", chain, backend.Hints{Few: upTo(2)}, 2},
		{"gate and up", gated, backend.Hints{SmallFlops: -1}, 2},
		{"gate and up together", gated, backend.Hints{SmallFlops: -1, Absorbing: true, Few: upTo(16)}, 1},
		{"ropes and overwrites", kept, backend.Hints{}, 4},
		{"ropes and overwrites together", kept, backend.Hints{Alike: true}, 2},
		{"ropes and the overwrites that store them", kept, backend.Hints{Alike: true, Stored: 2}, 1},
		{"ropes and overwrites of too many places", kept, backend.Hints{Alike: true, Stored: 1}, 2},
		{"ropes one after the other", again, backend.Hints{Alike: true}, 2},
		{"weights' gradients", weights, backend.Hints{SmallFlops: 2048}, 8},
		{"weights' gradients of all layers together", weights, backend.Hints{SmallFlops: 2048, Together: 8}, 5},
		{"weights' gradients of two layers together", weights, backend.Hints{SmallFlops: 2048, Together: 2}, 6},
		{"a norm before two products", normed(40), backend.Hints{SmallFlops: -1}, 2},
		{"a norm in the launch of two products", normed(40), backend.Hints{SmallFlops: -1, Absorbing: true, Few: upTo(4)}, 1},
		{"a norm of too many rows", normed(40), backend.Hints{SmallFlops: -1, Absorbing: true, Few: upTo(3)}, 2},
		{"a norm before the columns of a vocabulary", normed(150000), backend.Hints{SmallFlops: -1, Absorbing: true, Few: upTo(4)}, 1},
		{"a cheap value", shared, backend.Hints{}, 2},
		{"a cheap value that is kept", shared, backend.Hints{Cheap: -1}, 3},
	} {
		h, dev := newHinting(t, hinting{hints: c.hints})
		if err := plan.Run(t.Context(), c.graph(t, dev)); err != nil {
			t.Fatal(err)
		}
		if n := len(h.loaded[0].Launches); n != c.want {
			t.Errorf("%s: %d launches, want %d", c.name, n, c.want)
		}
		if c.name == "gate and up together" {
			if g := h.groups[0]; len(g.Outputs) != 1 || g.Kind != backend.MatMul {
				t.Errorf("%s: the first launch is %s with %d outputs", c.name, g.Name, len(g.Outputs))
			}
		}
	}
}

// A kernel's scratch memory is a slot of the arena that shares no byte with what lives at the same time.
func TestScratchIsASlot(t *testing.T) {
	h, dev := newHinting(t, hinting{scratch: 1000})
	x := leafOf(t, dev, dtype.F32, 16, 64)
	a := node(t, ir.Softmax, ir.Attr{Axis: 1}, x)
	b := node(t, ir.CumSum, ir.Attr{Axis: 0}, a)
	c := node(t, ir.Sum, ir.Attr{Axes: []int{0}}, node(t, ir.Softmax, ir.Attr{Axis: 1}, b))
	if err := plan.Run(t.Context(), []*ir.Node{c}); err != nil {
		t.Fatal(err)
	}
	p := h.loaded[0]
	if len(p.Launches) < 3 {
		t.Fatalf("%d launches, want several with values between them", len(p.Launches))
	}
	for i, l := range p.Launches {
		if l.Scratch.Index != p.Bufs-1 || l.Scratch.Offset%64 != 0 {
			t.Errorf("launch %d: scratch memory at %+v", i, l.Scratch)
		}
		for _, at := range l.Bufs {
			const bytes = 16 * 64 * 4
			if at.Index == p.Bufs-1 && at.Offset < l.Scratch.Offset+1000 && l.Scratch.Offset < at.Offset+bytes && at.Offset/bytes*bytes == at.Offset {
				t.Errorf("launch %d: a value at %+v lies in the scratch memory at %+v", i, at, l.Scratch)
			}
		}
	}
}

// Whether products may round to TF32 is a value of the context, and part of the keys of plans and kernels.
func TestTF32IsPartOfTheKeys(t *testing.T) {
	h, dev := newHinting(t, hinting{})
	x := leafOf(t, dev, dtype.F32, 4, 4)
	var on atomic.Bool
	ctx := plan.WithTF32(context.Background(), &on)
	for i, want := range []bool{false, true, true, false} {
		on.Store(want)
		if err := plan.Run(ctx, []*ir.Node{node(t, ir.MatMul, ir.Attr{}, x, x), node(t, ir.Exp, ir.Attr{}, leafOf(t, dev, dtype.F32, 3))}); err != nil {
			t.Fatal(err)
		}
		if n := []int{2, 3, 3, 3}[i]; len(h.groups) != n { // the exponential is the same kernel
			t.Errorf("run %d: %d groups were compiled, want %d", i, len(h.groups), n)
		}
	}
	for i, want := range []bool{false, false, true} {
		if g := h.groups[i]; g.Kind == backend.MatMul && g.TF32 != want || g.Kind == backend.Map && g.TF32 {
			t.Errorf("group %d, %s: TF32 is %v", i, g.Name, g.TF32)
		}
	}
}

// An op that gives a dtype which the device lacks is refused when it is built, with the device and the dtype.
func TestMissingDType(t *testing.T) {
	_, dev := newHinting(t, hinting{lacks: dtype.F64})
	x := leafOf(t, dev, dtype.F32, 2)
	for op, build := range map[string]func() (*ir.Node, error){
		"cast": func() (*ir.Node, error) { return ir.New(ir.Cast, ir.Attr{DType: dtype.F64}, x) },
		"iota": func() (*ir.Node, error) { return ir.NewIota(dev, dtype.F64, []int{3}, 0) },
	} {
		_, err := build()
		if want := op + ": got f64, want a dtype that device hinting has: one of [bool u8 "; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s…", err, want)
		}
	}
	node(t, ir.Cast, ir.Attr{DType: dtype.BF16}, x)
}

// A group may have any number of operands: the step of an optimizer has seven for each parameter.
func TestAStepOfManyParameters(t *testing.T) {
	const params = 400
	h, dev := newHinting(t, hinting{})
	number := func(v float64) *ir.Node { return ir.Number(dev, dtype.F32, v) }
	var src []*ir.Node
	settings := []float64{1, 0.1, 0.9, 0.999, 1e-8, 0.01, 1, 1, 1}
	for i := range ir.AdamWSettings {
		src = append(src, number(settings[i]))
	}
	for range 4 { // parameters, gradients, first and second moments
		for range params {
			src = append(src, leafOf(t, dev, dtype.F32, 3))
		}
	}
	step := node(t, ir.AdamW, ir.Attr{}, src...)
	var outs []*ir.Node
	for i := range 3 * params {
		outs = append(outs, node(t, ir.Pick, ir.Attr{Index: i}, step))
	}
	if err := plan.Run(t.Context(), outs); err != nil {
		t.Fatal(err)
	}
	if len(h.groups) != 1 || len(h.loaded[0].Launches[0].Bufs) != 7*params {
		t.Errorf("%d groups, the first with %d operands, want one with %d", len(h.groups), len(h.loaded[0].Launches[0].Bufs), 7*params)
	}
	for i, n := range outs {
		host := make([]byte, 12)
		if err := dev.Download(t.Context(), host, n.Value(), 0); err != nil || math.Float32frombits(uint32(host[0])|uint32(host[3])<<24) != 0 {
			t.Fatalf("result %d: %v, %v", i, host, err)
		}
	}
}

// The allocator follows hints, too.
func TestAllocatorHints(t *testing.T) {
	for _, c := range []struct {
		name string
		kept int64
		want int64
	}{{"keeps a buffer", 0, 1 << 20}, {"keeps nothing", -1, 0}} {
		_, dev := newHinting(t, hinting{hints: backend.Hints{Kept: c.kept, Idle: time.Hour}})
		raw, err := dev.Scratch(1 << 20)
		if err != nil {
			t.Fatal(err)
		}
		dev.GiveBack(raw)
		if _, _, kept := dev.MemoryInUse(); kept != c.want {
			t.Errorf("%s: %d bytes are kept, want %d", c.name, kept, c.want)
		}
	}
}

// What attention and its gradient give, a permuted value that is read as rows, is stored as it is read if the
// device can do that: no launch copies it. The results are the same.
func TestPermutedOutputs(t *testing.T) {
	graph := func(dev *backend.Device) (outs []*ir.Node) {
		varied := func(shape ...int) *ir.Node {
			var raw []byte
			for i := range ir.Size(shape) {
				raw = ir.Append(dtype.F32, raw, ir.Scalar{F: math.Sin(float64(i * i))})
			}
			n := leafOf(t, dev, dtype.F32, shape...)
			if err := dev.Upload(n.Value().Buf, 0, raw); err != nil {
				t.Fatal(err)
			}
			return n
		}
		q, k, v := varied(2, 4, 5, 8), varied(2, 4, 5, 8), varied(2, 4, 5, 8)
		attend := func(f float64) *ir.Node { return node(t, ir.Attention, ir.Attr{Float: f}, q, k, v) }
		rows := func(n *ir.Node) *ir.Node {
			n = node(t, ir.Permute, ir.Attr{Axes: []int{0, 2, 1, 3}}, n)
			return node(t, ir.Reshape, ir.Attr{Shape: []int{10, 32}}, n)
		}
		w := varied(32, 3)
		a := node(t, ir.Pick, ir.Attr{Index: 0}, attend(0.5))
		outs = append(outs, node(t, ir.MatMul, ir.Attr{}, rows(a), w))
		both := node(t, ir.Pick, ir.Attr{Index: 0}, attend(0.25)) // read in both orders: the rows of heads need the old one
		outs = append(outs, node(t, ir.MatMul, ir.Attr{}, rows(both), w),
			node(t, ir.Sum, ir.Attr{Axes: []int{1}}, node(t, ir.Reshape, ir.Attr{Shape: []int{8, 40}}, both)))
		return append(outs, rows(node(t, ir.Pick, ir.Attr{Index: 0}, attend(0.125))))
	}
	var want []byte
	launches := 0
	for _, permuted := range []bool{false, true} {
		h, dev := newHinting(t, hinting{hints: backend.Hints{Permuted: func(ir.Op) bool { return permuted }}})
		outs := graph(dev)
		if err := plan.Run(t.Context(), outs); err != nil {
			t.Fatal(err)
		}
		strides := 0
		for _, g := range h.groups {
			for _, o := range g.Outputs {
				if o.Stride != nil {
					strides++
					if want := []int{160, 8, 32, 1}; !slices.Equal(o.Stride, want) {
						t.Errorf("%s is stored with strides %v, want %v", g.Name, o.Stride, want)
					}
				}
			}
		}
		var got []byte
		for _, n := range outs {
			host := make([]byte, n.Type().Bytes())
			if !n.Value().Layout.IsContiguous() {
				t.Errorf("%v lies in memory as %+v", n, n.Value().Layout)
			}
			if err := dev.Download(t.Context(), host, n.Value(), 0); err != nil {
				t.Fatal(err)
			}
			got = append(got, host...)
		}
		n := len(h.loaded[0].Launches)
		switch {
		case !permuted:
			want, launches = got, n
			if strides > 0 {
				t.Errorf("%d outputs are permuted without a hint", strides)
			}
		case !slices.Equal(got, want):
			t.Error("results differ")
		case strides == 0 || n != launches-2:
			t.Errorf("%d outputs are permuted, %d launches, want fewer than %d by two copies", strides, n, launches)
		}
	}
}

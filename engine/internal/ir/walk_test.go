package ir

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

func number32(v float64) *Node { return Number(dev, dtype.F32, v) }

// Which graphs share a plan.
func TestKey(t *testing.T) {
	chain := func(x *Node, scale float64) *Node {
		return build(Exp, Attr{}, build(Mul, Attr{}, x, number32(scale)))
	}
	key := func(outs ...*Node) [16]byte { return Walk(t.Context(), outs).Key }
	x := f32(2, 3)
	base := key(chain(x, 0.5))
	rows := func(axis int) *Node { return build(Sum, Attr{Axes: []int{axis}}, x) }
	twice := build(Add, Attr{}, x, x)
	for _, c := range []struct {
		name string
		a, b [16]byte
		same bool
	}{
		{"another number", base, key(chain(x, 0.25)), true},
		{"another tensor of the type", base, key(chain(f32(2, 3), 0.5)), true},
		{"the number 1", base, key(chain(x, 1)), false},
		{"another shape", base, key(chain(f32(3, 2), 0.5)), false},
		{"another dtype", key(x), key(i64(2, 3)), false},
		{"another layout", key(build(Exp, Attr{}, x)), key(build(Exp, Attr{}, NewLeaf(dev, dtype.F32,
			&Data{Buf: noBuffer{}, Layout: new(Contiguous([]int{3, 2}).Permute([]int{1, 0}))}, ""))), false},
		{"another axis", key(rows(0)), key(rows(1)), false},
		{"a source twice", key(twice), key(build(Add, Attr{}, x, f32(2, 3))), false},
		{"fixed numbers", key(build(Mul, Attr{}, x, fixed(dev, dtype.F32, 2))), key(build(Mul, Attr{}, x, fixed(dev, dtype.F32, 3))), false},
		{"other outputs", key(twice), key(twice, x), false},
		{"a name", key(x), key(NewLeaf(dev, dtype.F32, x.Value(), "w")), true},
	} {
		if (c.a == c.b) != c.same {
			t.Errorf("%s: same key is %v, want %v", c.name, c.a == c.b, c.same)
		}
	}
}

func TestWalk(t *testing.T) {
	x, w := f32(2, 3), f32(3, 4)
	y := build(MatMul, Attr{}, x, w)
	z := build(Add, Attr{}, build(Mul, Attr{}, y, number32(0.5)), y)
	g := Walk(t.Context(), []*Node{z, y})
	if len(g.Nodes) != 6 || len(g.Leaves) != 2 || len(g.Consts) != 1 || g.Consts[0].F != 0.5 {
		t.Fatalf("got %d nodes, %d leaves, consts %v", len(g.Nodes), len(g.Leaves), g.Consts)
	}
	for i, n := range g.Nodes {
		for k, s := range g.Sources(i) {
			if int(s) >= i || g.Nodes[s] != n.Src[k] {
				t.Errorf("node %d (%v): source %d is %d", i, n.Op, k, s)
			}
		}
	}
	if g.Nodes[g.Outs[0]] != z || g.Nodes[g.Outs[1]] != y {
		t.Errorf("outputs are at %v", g.Outs)
	}
	y.SetValue(&Data{Buf: noBuffer{}, Layout: new(Contiguous(y.Shape))})
	if g := Walk(t.Context(), []*Node{z}); len(g.Nodes) != 4 || len(g.Leaves) != 1 || y.Src != nil {
		t.Errorf("after y was evaluated: got %d nodes and %d leaves, want 4 and 1", len(g.Nodes), len(g.Leaves))
	}
}

// A long chain that nobody evaluated must not use up the stack.
func TestWalkDeep(t *testing.T) {
	x := f32()
	for range 200_000 {
		x = build(Neg, Attr{}, x)
	}
	if g := Walk(t.Context(), []*Node{x}); len(g.Nodes) != 200_001 {
		t.Errorf("got %d nodes", len(g.Nodes))
	}
}

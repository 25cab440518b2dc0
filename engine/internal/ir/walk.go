package ir

import (
	"context"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/internal/few"
)

// A Graph is what has to be computed for some outputs: their ancestors, down to nodes that have a value. It
// is a snapshot: evaluations by other goroutines do not change it.
type Graph struct {
	// Nodes holds every node once, sources before users, in an order that depends on the structure only.
	Nodes []*Node
	// Outs are the places of the outputs in Nodes.
	Outs []int32
	// Leaves are the values of the nodes that have one, Holders those nodes, in the order of Nodes.
	Leaves  []*Data
	Holders []*Node
	// Consts are the numbers of the Const nodes without Fixed, Numbers those nodes, in the order of Nodes.
	Consts  []Scalar
	Numbers []*Node
	// Moves are the To nodes without a value, and From their sources, which live on other devices. Each
	// counts as a leaf without memory: whoever computes the graph gives them values first, and walks again.
	Moves, From []*Node
	// Key is equal for graphs of the same structure, on any device: ops, attributes, types, layouts of
	// leaves, classes of consts. What may differ is the contents of Leaves and Consts, and the names of
	// nodes.
	Key [16]byte

	edges []int32 // sources of all nodes, one after the other
	first []int32 // where those of Nodes[i] begin in edges

	walker *walker // whose memory this is
}

// Sources returns the places in Nodes of the sources of Nodes[i]; none for a leaf.
func (g *Graph) Sources(i int) []int32 { return g.edges[g.first[i]:g.first[i+1]] }

// walkers keeps the memory of walks, so that a small evaluation allocates little.
var walkers = sync.Pool{New: func() any { return &walker{} }}

// keptNodes is how many nodes a walk may have whose memory is kept: later walks have to clear all of it.
const keptNodes = 256

// Walk collects the graph of outs, which all live on one device. Release gives it back. When ctx is done
// first it returns nil.
func Walk(ctx context.Context, outs []*Node) *Graph {
	w := walkers.Get().(*walker)
	w.g.walker, w.hash = w, newHash()
	links.RLock()
	defer links.RUnlock()
	for _, o := range outs {
		if !w.visit(ctx, o) {
			return nil
		}
	}
	g := &w.g
	g.Nodes, g.first = w.seen.list, append(g.first, int32(len(g.edges)))
	for _, o := range outs {
		i := w.seen.of(o)
		g.Outs = append(g.Outs, i)
		w.hash.word(uint64(i))
	}
	g.Key = w.hash.sum()
	return g
}

// Release lets later walks use g's memory. g and its slices must not be used afterwards.
func (g *Graph) Release() {
	w := g.walker
	few.Clear(g.Leaves)
	few.Clear(g.Holders)
	few.Clear(g.Numbers)
	few.Clear(g.Moves)
	few.Clear(g.From)
	g.Nodes, g.Outs, g.Leaves, g.Holders = nil, g.Outs[:0], g.Leaves[:0], g.Holders[:0]
	g.Consts, g.Numbers, g.Moves, g.From = g.Consts[:0], g.Numbers[:0], g.Moves[:0], g.From[:0]
	g.edges, g.first = g.edges[:0], g.first[:0]
	if w.seen.reset() {
		walkers.Put(w)
	}
}

type walker struct {
	g     Graph
	seen  numbering // whose list are the Nodes
	hash  hash
	stack []frame
}

// A numbering numbers nodes in the order in which they come.
type numbering struct {
	list []*Node
	at   map[*Node]int32 // empty while they are few
}

// fewNodes is how many nodes are looked through in less time than a map takes.
const fewNodes = 16

// of is n's number, or -1.
func (p *numbering) of(n *Node) int32 {
	if len(p.at) == 0 {
		return int32(slices.Index(p.list, n))
	}
	if i, ok := p.at[n]; ok {
		return i
	}
	return -1
}

// reset forgets the nodes. It keeps the memory, unless that is much, and says whether it does.
func (p *numbering) reset() (kept bool) {
	if len(p.list) > keptNodes {
		*p = numbering{}
		return false
	}
	if len(p.at) > 0 {
		clear(p.at)
	}
	few.Clear(p.list)
	p.list = p.list[:0]
	return true
}

// add gives n the next number.
func (p *numbering) add(n *Node) {
	p.list = append(p.list, n)
	if len(p.list) <= fewNodes {
		return
	}
	if len(p.at) > 0 {
		p.at[n] = int32(len(p.list) - 1)
		return
	}
	if p.at == nil {
		p.at = map[*Node]int32{}
	}
	for i, n := range p.list {
		p.at[n] = int32(i)
	}
}

// A frame is a node whose sources are being visited.
type frame struct {
	n    *Node
	next int
}

// visit appends root and what it needs. It does not recurse, because a training loop that is never evaluated
// makes a deep graph.
func (w *walker) visit(ctx context.Context, root *Node) (done bool) {
	w.push(root)
	for steps := 0; len(w.stack) > 0; steps++ {
		if steps%lookEvery == lookEvery-1 && ctx.Err() != nil {
			return false
		}
		f := &w.stack[len(w.stack)-1]
		if f.next < len(f.n.Src) && f.n.Op != To {
			f.next++
			w.push(f.n.Src[f.next-1])
			continue
		}
		w.add(f.n, nil)
		*f = frame{} // the memory of the stack is kept
		w.stack = w.stack[:len(w.stack)-1]
	}
	return true
}

// lookEvery is how many steps lie between two looks at the context.
const lookEvery = 1 << 10

// push has n appended, at once if it has a value, when its sources are there if not.
func (w *walker) push(n *Node) {
	if w.seen.of(n) >= 0 {
		return
	}
	if data := n.Value(); data != nil {
		w.add(n, data)
	} else {
		w.stack = append(w.stack, frame{n: n})
	}
}

// add appends a node whose sources are there.
func (w *walker) add(n *Node, data *Data) {
	g := &w.g
	w.seen.add(n)
	g.first = append(g.first, int32(len(g.edges)))
	if data == nil && n.Op == To && len(n.Src) > 0 {
		g.Moves, g.From = append(g.Moves, n), append(g.From, n.Src[0])
		data = &Data{Layout: new(Contiguous(n.Shape))}
	}
	if data == freed {
		data = &Data{Layout: new(Contiguous(n.Shape)), Freed: true}
	}
	switch {
	case data != nil:
		g.Leaves, g.Holders = append(g.Leaves, data), append(g.Holders, n)
		w.hash.leaf(n.DType, data)
	case n.Op == Const && n.Attr.Flags&Fixed == 0:
		g.Consts, g.Numbers = append(g.Consts, n.Attr.Value), append(g.Numbers, n)
		w.hash.word(uint64(Const)<<8 | uint64(n.DType) | uint64(n.Class())<<16)
	default:
		for _, s := range n.Src {
			g.edges = append(g.edges, w.seen.of(s))
		}
		w.hash.node(n, g.edges[g.first[len(g.first)-1]:])
	}
}

// A ConstClass is what a plan may know of a Const's value.
type ConstClass uint8

const (
	AnyConst ConstClass = iota
	OneConst
	MinusOneConst
)

// Class says whether a Const is one of the numbers that the planner has rules for. Zero is not one of them:
// x·0 is not 0 for NaN, x+0 is not x for -0, and a learning rate that starts at 0 would cost a plan. Integers
// have no class, because they are positions and random counters, which pass through 1 on their way.
func (n *Node) Class() ConstClass {
	if !n.DType.Float() || n.Attr.Flags&Varies != 0 {
		return AnyConst
	}
	switch n.Attr.Value.F {
	case 1:
		return OneConst
	case -1:
		return MinusOneConst
	}
	return AnyConst
}

// hash is two lanes of 64 bits that are multiplied and folded for each word.
type hash struct{ a, b uint64 }

func newHash() hash { return hash{0x243f6a8885a308d3, 0x13198a2e03707344} }

func (h *hash) word(x uint64) {
	hi, lo := bits.Mul64(h.a^x, 0x9e3779b97f4a7c15)
	h.a = bits.RotateLeft64(hi^lo, 23) + x
	hi, lo = bits.Mul64(h.b^bits.RotateLeft64(x, 31), 0xd6e8feb86659fd93)
	h.b = bits.RotateLeft64(hi^lo, 41) + h.a
}

func (h *hash) ints(list []int) {
	h.word(uint64(len(list)))
	h.words(list)
}

// plain says whether l is what Contiguous returns for its shape.
func (l *Layout) plain() bool {
	n := 1
	for i := len(l.Shape) - 1; i >= 0; i-- {
		if l.Stride[i] != n {
			return false
		}
		n *= l.Shape[i]
	}
	return l.Offset == 0
}

func (h *hash) words(list []int) {
	for _, x := range list {
		h.word(uint64(x))
	}
}

func (h *hash) floats(list []float64) {
	h.word(uint64(len(list)))
	for _, x := range list {
		h.word(math.Float64bits(x))
	}
}

func (h *hash) text(s string) {
	h.word(uint64(len(s)))
	for len(s) > 0 {
		n, x := min(8, len(s)), uint64(0)
		for _, c := range []byte(s[:n]) {
			x = x<<8 | uint64(c)
		}
		h.word(x)
		s = s[n:]
	}
}

// leaf adds a value of that type.
func (h *hash) leaf(dt dtype.Type, d *Data) {
	l := d.Layout
	first := uint64(Leaf)<<8 | uint64(dt) | uint64(len(l.Shape))<<16
	if d.Room {
		first |= 1 << 62
	}
	if l.plain() {
		h.word(first)
		h.words(l.Shape)
		return
	}
	h.word(first | 1<<63)
	h.words(l.Shape)
	h.words(l.Stride)
	h.word(uint64(l.Offset))
}

// node adds an operation. Without settings its sources say its shape.
func (h *hash) node(n *Node, src []int32) {
	first := uint64(n.Op) | uint64(n.DType)<<8 | uint64(len(src))<<24
	if n.Attr == none {
		h.word(first)
	} else {
		h.attr(first|1<<63, n.Attr, n.Op)
		h.ints(n.Shape)
	}
	for _, s := range src {
		h.word(uint64(s))
	}
}

func (h *hash) attr(first uint64, a *Attr, op Op) {
	h.word(first | uint64(a.DType)<<16 | uint64(a.Flags)<<48)
	h.ints(a.Axes)
	h.ints(a.Ints)
	h.ints(a.Shape)
	h.word(uint64(a.Axis))
	h.word(uint64(a.Index))
	h.word(math.Float64bits(a.Float))
	h.floats(a.Rates)
	if op == Const {
		h.word(math.Float64bits(a.Value.F))
		h.word(uint64(a.Value.I))
	}
	if a.Kernel != nil {
		h.text(a.Kernel.Key)
	}
}

func (h *hash) sum() (key [16]byte) {
	h.word(0)
	binary.LittleEndian.PutUint64(key[:8], h.a)
	binary.LittleEndian.PutUint64(key[8:], h.b)
	return key
}

// Bytes is how much memory a value of that type takes.
func (t Type) Bytes() int { return Size(t.Shape) * t.DType.Size() }

// ByDevice groups nodes by device, in the order in which they come.
func ByDevice(nodes []*Node) (lists [][]*Node) {
	for _, n := range nodes {
		i := slices.IndexFunc(lists, func(list []*Node) bool { return list[0].Dev == n.Dev })
		if i < 0 {
			i, lists = len(lists), append(lists, nil)
		}
		lists[i] = append(lists[i], n)
	}
	return lists
}

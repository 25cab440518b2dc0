package backend

import (
	"slices"
	"sync"
	"weak"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A Maker says what the value is that a block was made for, and where it comes from.
type Maker struct {
	Origin ir.Origin
	Type   ir.Type
	Name   string
}

// live knows the blocks of a device that were noted, without holding them.
type live struct {
	sync.Mutex
	list  []weak.Pointer[Block]
	sweep int // how many to let come together before those that are gone are forgotten
}

const minSweep = 256

// Note lets n's memory know that it was made for n, if n knows where it comes from. Small blocks, which do
// not count as the device's memory, are not noted.
func Note(n *ir.Node) {
	d := n.Value()
	if !n.Origin.Known() || d == nil {
		return
	}
	b, ok := d.Buf.(*Block)
	if !ok || b.bytes <= smallBlock || !b.made.CompareAndSwap(nil, &Maker{n.Origin, n.Type(), n.Name}) {
		return
	}
	l := &b.dev.live
	l.Lock()
	defer l.Unlock()
	if len(l.list) >= max(l.sweep, minSweep) {
		l.list = slices.DeleteFunc(l.list, func(p weak.Pointer[Block]) bool { return held(p) == nil })
		l.sweep = 2 * len(l.list)
	}
	l.list = append(l.list, weak.Make(b))
}

// held is a block that still has holders, or nil.
func held(p weak.Pointer[Block]) *Block {
	if b := p.Value(); b != nil && b.References() > 0 {
		return b
	}
	return nil
}

// Live lists the blocks that were noted and are still held.
func (d *Device) Live() (list []*Block) {
	d.live.Lock()
	defer d.live.Unlock()
	for _, p := range d.live.list {
		if b := held(p); b != nil {
			list = append(list, b)
		}
	}
	return list
}

// Maker says what the block was made for; nil if nobody asked.
func (b *Block) Maker() *Maker { return b.made.Load() }

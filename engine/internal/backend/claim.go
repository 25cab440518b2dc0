package backend

import "github.com/mcs-notebook/mcs/engine/internal/ir"

// A Claim is an evaluation's right to change blocks that other goroutines may read afterwards. A goroutine
// that wants to hold one of them waits until the evaluation is done, and so never sees a part of the change.
type Claim struct{ done chan struct{} }

// NewClaim returns a claim of no block yet. Its owner must End it.
func NewClaim() *Claim { return &Claim{make(chan struct{})} }

// End lets others hold the blocks again. To end a nil Claim does nothing.
func (c *Claim) End() {
	if c != nil {
		close(c.done)
	}
}

// Claim makes c the claim of the block, with one more holder, if the block has just so many holders and ok
// says that it may. Ok is called when a new holder would wait already.
func (b *Block) Claim(c *Claim, holders int, ok func() bool) bool {
	if !b.claim.CompareAndSwap(nil, c) {
		return false
	}
	// A holder counts itself and then looks for a claim, so one of the two sees the other.
	if !ok() || !b.holders.CompareAndSwap(int32(holders), int32(holders+1)) {
		b.claim.Store(nil)
		return false
	}
	return true
}

// EndClaim ends the block's part of a claim, before the claim's End.
func (b *Block) EndClaim() { b.claim.Store(nil) }

// Hold makes the caller one more holder of the memory of n's value, and returns that: nil if it has none, or
// was freed. Another goroutine may give n a new value meanwhile, so the caller must not use one that it has
// looked up before.
func Hold(n *ir.Node) *ir.Data {
	for {
		d := n.Value()
		if d == nil || d.Freed {
			return nil
		}
		b := d.Buf.(*Block)
		held, now := b.Retain(), n.Value()
		if held && now == d {
			return d
		}
		if held {
			b.Release()
		}
		if now == d {
			return nil
		}
	}
}

package tensor

import "testing"

// CostOf says what an evaluation takes, and computes nothing.
func TestCostOf(t *testing.T) {
	x, w := Ones(64, 128).Eval(), Ones(128, 32).Eval()
	y := x.MatMul(w).Silu()
	c := CostOf(y, y.Sum())
	if y.Evaluated() {
		t.Error("the tensor was evaluated")
	}
	if flops := int64(2 * 64 * 128 * 32); c.Flops < flops || c.Flops > 2*flops {
		t.Errorf("got %d flops, want those of the product, %d, and of what follows", c.Flops, flops)
	}
	if least := int64(64*32*4 + 4); c.Memory < least || c.Memory > 4*least || c.Replaced != 0 {
		t.Errorf("got %d bytes, and %d in place, want the results' %d", c.Memory, c.Replaced, least)
	}
	if c.Launches < 1 || c.Bytes < 4*(64*128+128*32+64*32) {
		t.Errorf("got %d launches of %d bytes", c.Launches, c.Bytes)
	}
	if c := CostOf(x, w); c != (Cost{}) {
		t.Errorf("tensors that have their values: got %+v, want nothing", c)
	}
	if err := Try(func() { CostOf(Tensor{}) }); err == nil {
		t.Error("no tensor: got no error")
	}
}

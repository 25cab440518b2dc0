package tensor

import (
	"fmt"
	"math"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
)

// A window is the mask that says the same, with and without Causal, and whatever else masks.
func TestAttentionWindow(t *testing.T) {
	const tq, tk = 4, 6
	rng := NewRNG(1)
	q, k, v := rng.Randn(2, 4, tq, 8), rng.Randn(2, 2, tk, 8), rng.Randn(2, 2, tk, 8)
	added := rng.Randn(tq, tk)
	for _, window := range []int{1, 3, 100} {
		for _, causal := range []bool{false, true} {
			for _, mask := range []Tensor{{}, added, added.Gt(-0.5)} {
				seen := make([]bool, 0, tq*tk)
				for i := range tq {
					for j := range tk {
						at := i + tk - tq
						seen = append(seen, j > at-window && j < at+window && (!causal || j <= at))
					}
				}
				want := From(seen, tq, tk)
				switch {
				case mask.IsNone():
				case mask.DType() == dtype.Bool:
					want = want.And(mask)
				default:
					want = Where(want, mask, math.Inf(-1))
				}
				for _, limit := range []float64{0, 0.5} {
					name := fmt.Sprintf("window %d, causal %v, mask %v, cap %v", window, causal, !mask.IsNone(), limit)
					got := Attention(q, k, v, AttentionOptions{Causal: causal, Mask: mask, Window: window, Cap: limit})
					same := Attention(q, k, v, AttentionOptions{Mask: want, Cap: limit})
					if d := MaxAbsDiff(got, same); !(d < 1e-5) {
						t.Errorf("%s: differs by %g from the mask that says the same", name, d)
					}
				}
			}
		}
	}
}

// A large cap changes nothing, and a small one bounds the weights: no key gets more than e^(2·cap) times
// another's.
func TestAttentionCap(t *testing.T) {
	rng := NewRNG(2)
	q, k := rng.Randn(1, 2, 5, 8).Mul(10), rng.Randn(1, 1, 5, 8).Mul(10)
	eye := Eye(5).Reshape(1, 1, 5, 5) // the result is the weights
	plain := Attention(q, k, eye, AttentionOptions{Causal: true})
	if d := MaxAbsDiff(plain, Attention(q, k, eye, AttentionOptions{Causal: true, Cap: 1e6})); !(d < 1e-4) {
		t.Errorf("a cap of 1e6 changes weights by %g", d)
	}
	const small = 0.25
	capped := Attention(q, k, eye, AttentionOptions{Cap: small})
	if r := capped.Max(-1).Div(capped.Min(-1)).Max().Item(); !(r <= math.Exp(2*small)*1.0001) {
		t.Errorf("with a cap of %v one key gets %v times the weight of another", small, r)
	}
	blind := Attention(q, k, eye, AttentionOptions{Cap: small, Mask: Zeros(1, 5).Cast(dtype.Bool)})
	if m := blind.Abs().Max().Item(); m != 0 {
		t.Errorf("a query that sees nothing gives %v, want 0", m)
	}
	for name, o := range map[string]AttentionOptions{"negative window": {Window: -1}, "negative cap": {Cap: -1}, "NaN": {Cap: math.NaN()}} {
		if err := Try(func() { Attention(q, k, eye, o) }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Sinks are a key more, with that score and a value of 0: alone, with a cap, a mask and a window, and in
// gradients.
func TestAttentionSinks(t *testing.T) {
	rng := NewRNG(5)
	rows := func(n ...int) Tensor { return rng.Randn(n...).Param() }
	q, k, v, sinks := rows(2, 4, 5, 3), rows(2, 2, 5, 3), rows(2, 2, 5, 4), rows(4)
	blind := Range(5).Gt(0).Unsqueeze(1).Expand(5, 5) // the first query sees nothing but the sink
	for name, o := range map[string]AttentionOptions{
		"plain": {}, "causal": {Causal: true, Scale: 0.3}, "window": {Causal: true, Window: 2}, "capped": {Causal: true, Cap: 1e4}, "blind": {Mask: blind}, "blind, capped": {Mask: blind, Cap: 1e4},
	} {
		// Queries and keys have a place more for each head, of which the key of the sink has the scores.
		one := o
		one.Mask = o.mask(q.node(""), k.node(""))
		if one.Mask.IsNone() {
			one.Mask = Ones(1, 1, 5, 5).Cast(dtype.Bool)
		}
		if i, j := Range(5).Unsqueeze(1), Range(5); o.Window > 0 {
			one.Mask = one.Mask.And(j.Sub(i).Abs().Lt(o.Window))
		}
		if o.Causal {
			one.Mask = one.Mask.And(Range(5).Le(Range(5).Unsqueeze(1)))
		}
		one.Mask = Concat([]Tensor{one.Mask, Ones(1, 1, 5, 1).Cast(dtype.Bool)}, -1)
		one.Causal, one.Window, one.Cap = false, 0, 0
		if one.Scale == 0 {
			one.Scale = 1 / math.Sqrt(3)
		}
		o.Sinks = sinks
		got := Attention(q, k, v, o)
		column := sinks.Div(one.Scale).Unsqueeze(1).Unsqueeze(2).Expand(2, 4, 5, 1)
		wide := Concat([]Tensor{q, column}, -1)
		last := Concat([]Tensor{Zeros(2, 2, 1, 3), Ones(2, 2, 1, 1)}, -1)
		keys := Concat([]Tensor{Concat([]Tensor{k, Zeros(2, 2, 5, 1)}, -1), last}, 2)
		want := Attention(wide, keys, Concat([]Tensor{v, Zeros(2, 2, 1, 4)}, 2), one)
		if d := MaxAbsDiff(got, want); !(d < 1e-5) {
			t.Errorf("%s: differs by %g", name, d)
		}
		params := []Tensor{q, k, v, sinks}
		a, b := Grad(got.Square().Sum(), params...), Grad(want.Square().Sum(), params...)
		for i := range a {
			if d := MaxAbsDiff(a[i], b[i]); !(d < 1e-4) {
				t.Errorf("%s: gradient %d differs by %g", name, i, d)
			}
		}
	}
	if err := Try(func() { Attention(q, k, v, AttentionOptions{Sinks: Zeros(3)}) }); err == nil {
		t.Error("three sinks of four heads are no error")
	}
}

// A window and a cap take the time and the memory of what queries see, forward and back: not those of all
// scores.
func TestAttentionWindowMemory(t *testing.T) {
	const long, width = 1 << 15, 8
	rng := NewRNG(3)
	rows := func() Tensor { return rng.Randn(1, 1, long, width).Param() }
	q, k, v := rows(), rows(), rows()
	Eval(q, k, v)
	y := Attention(q, k, v, AttentionOptions{Causal: true, Window: 64, Cap: 30})
	Eval(append(Grad(y.Square().Sum(), q, k, v), y)...)
	if got, most := device.Default().Memory().Plan, int64(8*4*long*width); got > most {
		t.Errorf("got %d bytes between launches, want at most %d", got, most)
	}
}

package tensor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/turns"
)

// settled is what a run of work within a ledger comes to, when it has ended and when it has settled.
func settled(t *testing.T, work func()) (at, all tensor.Sum, err error) {
	t.Helper()
	l := tensor.NewLedger(t.Context())
	defer l.Close()
	tensor.Within(l.Context(), work)
	at = l.Sum()
	err = l.Settle()
	return at, l.Sum(), err
}

// A tensor that code makes is computed, whatever the code does with it. The test counts products by their
// operations: each takes 2·8·8·8.
func TestLedgerComputesAllThatWasMade(t *testing.T) {
	x, w := tensor.Randn(8, 8).Eval(), tensor.Randn(8, 8).Eval()
	product := func(i int) tensor.Tensor { return x.MatMul(w.Add(i).Eval()) }
	const flops = 2*8*8*8 + 64
	kept := map[string]any{}
	type box struct {
		deep *box
		y    tensor.Tensor
	}
	var local box
	held := make(chan tensor.Tensor, 3)
	for _, tt := range []struct {
		name     string
		work     func()
		products int64
	}{
		{"dropped", func() { _ = product(1) }, 1},
		{"a loop that keeps the last", func() {
			var y tensor.Tensor
			for i := range 5 {
				y = product(i)
			}
			_ = y
		}, 5},
		{"in a map", func() { kept["a"] = []any{map[int]tensor.Tensor{1: product(1)}} }, 1},
		{"in a field that nobody can reach", func() { local.deep = &box{y: product(1)} }, 1},
		{"in a channel", func() { held <- product(1) }, 1},
		{"in a closure", func() {
			y := product(1)
			kept["f"] = func() tensor.Tensor { return y }
		}, 1},
		{"in goroutines that are waited for", func() {
			var all sync.WaitGroup
			for i := range 3 {
				all.Go(func() { _ = product(i) })
			}
			all.Wait()
		}, 3},
		{"freed", func() { y := product(1); y.Free() }, 1},
		{"read by another", func() { _ = product(1).Reshape(64).Reshape(8, 8) }, 1},
		{"computed by itself", func() { product(1).Eval() }, 1},
		{"a part of what another shows", func() {
			y := product(1)
			_ = y.Reshape(64).At(0).Item()
		}, 1},
		{"lost in an op that failed", func() {
			y := product(1)
			_ = tensor.Try(func() { y.MatMul(tensor.Zeros(3, 3).Cast(dtype.F64)) })
		}, 1},
	} {
		_, all, err := settled(t, tt.work)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got := (all.Flops + flops/2) / flops; got != tt.products {
			t.Errorf("%s: %d flops in %d launches, want those of %d products", tt.name, all.Flops, all.Launches, tt.products)
		}
	}
}

// What is settled stays as it was: lazy, and without memory of its own.
func TestLedgerLeavesTensorsToTheirOwners(t *testing.T) {
	x := tensor.Ones(512, 512).Eval()
	var y tensor.Tensor
	l := tensor.NewLedger(t.Context())
	defer l.Close()
	before := device.Default().Memory().InUse
	for range 3 {
		tensor.Within(l.Context(), func() { y = x.Add(1) })
		if err := l.Settle(); err != nil {
			t.Fatal(err)
		}
	}
	if after := device.Default().Memory().InUse; after > before { // earlier tests may give theirs back meanwhile
		t.Errorf("%d bytes are in use, want at most %d", after, before)
	}
	if y.Evaluated() || y.Sum().Item() != 2<<18 {
		t.Errorf("got %v, want it lazy and right", y)
	}
	tensor.Within(l.Context(), func() { y = x.Add(2) })
	if err := l.Eval(); err != nil || !y.Evaluated() {
		t.Errorf("Eval left %v without a value: %v", y, err)
	}
}

// Equal work is computed once where it is computed together, and the ledger says so.
func TestLedgerNamesWhatWasMerged(t *testing.T) {
	x := tensor.Randn(8, 8).Eval()
	_, all, err := settled(t, func() {
		for range 10 {
			_ = x.MatMul(x)
		}
	})
	if got := fmt.Sprint(all.Merged); err != nil || got != "[{matmul f32[8 8] 9}]" {
		t.Errorf("got %v, %v, want the nine products that were merged", got, err)
	}
}

// A training step drops a loss whose gradient was evaluated: to compute that would be the forward pass twice.
func TestLedgerOfATrainingStep(t *testing.T) {
	x, target := tensor.Randn(16, 32).Eval(), tensor.Randn(16, 32).Eval()
	layer := nn.NewLinear(32, 32)
	rule := optim.SGD{}.New(nn.Params(layer))
	step := func() {
		loss := layer.Forward(x).Sub(target).Square().Mean()
		grads := tensor.Grad(loss, nn.Values(nn.Params(layer))...)
		update := rule.Update(grads, 0.1, tensor.Tensor{})
		tensor.Eval(update.Tensors()...)
		update.Commit()
	}
	step()
	at, all, err := settled(t, step)
	if err != nil || all.Flops != at.Flops || all.Left != 1 {
		t.Errorf("got %d flops after %d, %d left, %v; want nothing done again, and the loss left", all.Flops, at.Flops, all.Left, err)
	}
}

// What an earlier cell has left is no part of a run, and what an earlier run has left makes runs grow.
func TestLedgerInputs(t *testing.T) {
	x := tensor.Randn(8, 8).Eval()
	late := x.Exp()
	l := tensor.NewLedger(t.Context())
	defer l.Close()
	run := func(work func()) error {
		tensor.Within(l.Context(), work)
		return errors.Join(l.Inputs(), l.Settle())
	}
	if err := run(func() { _ = late.MatMul(x) }); err != nil || !late.Evaluated() {
		t.Errorf("the input: %v, %v, want it evaluated", late, err)
	}
	p := x
	step := func() { p = p.Sub(x.Mul(0.1)) }
	if err := run(step); err != nil {
		t.Errorf("the first step: %v", err)
	}
	if err := run(step); !errors.Is(err, tensor.ErrCarried) {
		t.Errorf("the second step: got %v, want %v", err, tensor.ErrCarried)
	}
}

// What was made of a tensor that is gone cannot be computed: that is an error, so that no time is shown.
func TestLedgerFails(t *testing.T) {
	_, _, err := settled(t, func() {
		x := tensor.Randn(300, 300).Eval()
		_ = x.Exp()
		x.Free()
	})
	if err == nil || !strings.Contains(err.Error(), "was freed") {
		t.Errorf("got %v, want that it was freed", err)
	}
}

// A long run does not hold what it has computed.
func TestLedgerForgets(t *testing.T) {
	x := tensor.Ones(64, 64).Eval()
	l := tensor.NewLedger(t.Context())
	defer l.Close()
	tensor.Within(l.Context(), func() {
		for range 10_000 {
			x.Add(1).Eval().Free()
		}
	})
	if n := tensor.LedgerNodes(l); n > 1000 {
		t.Errorf("%d nodes of 10,000 are held", n)
	}
}

// BenchmarkCounting is what counting adds to a kernel of some 5 µs: a recording, a recording around many
// contexts and scopes, as those of a session are, and a ledger.
func BenchmarkCounting(b *testing.B) {
	x := tensor.Randn(64, 64).Eval()
	type other struct{ int }
	kernels := func(after func()) (took time.Duration) {
		const warm, turn = 10, 50
		var start time.Time
		for i := range warm + turn {
			if i == warm {
				start = time.Now()
			}
			y := x.MatMul(x)
			y.Eval().Free()
			after()
		}
		return time.Since(start) / turn
	}
	nothing := func() {}
	plain := func() (took time.Duration) {
		tensor.Within(b.Context(), func() { took = kernels(nothing) })
		return took
	}
	turns.Compare(b, plain, turns.Side{Name: "again", Run: plain},
		turns.Side{Name: "recording", Run: func() (took time.Duration) {
			profile.Record(b.Context(), func(context.Context) { took = kernels(nothing) })
			return took
		}},
		turns.Side{Name: "deep", Run: func() (took time.Duration) {
			profile.Record(b.Context(), func(ctx context.Context) {
				for i := range 8 {
					ctx = context.WithValue(ctx, other{i}, i)
				}
				tensor.Within(ctx, func() { tensor.Within(b.Context(), func() { took = kernels(nothing) }) })
			})
			return took
		}},
		turns.Side{Name: "ledger", Run: func() (took time.Duration) {
			l := tensor.NewLedger(b.Context())
			defer l.Close()
			tensor.Within(l.Context(), func() { took = kernels(func() { _ = l.Settle() }) })
			return took
		}})
}

// Unsettled names what was made since a moment and would take a while to compute. A ledger that holds as many
// tensors as it may gives up.
func TestLedgerKnowsWhatIsUnsettled(t *testing.T) {
	x, w := tensor.Randn(64, 64).Eval(), tensor.Randn(64, 64).Eval()
	l := tensor.NewLedger(t.Context())
	defer l.Close()
	l.Limit(100)
	within := func(f func()) { tensor.Within(l.Context(), f) }
	within(func() { _ = w.MatMul(x) })
	since := l.Mark()
	within(func() {
		y := x.MatMul(w)
		_ = y.Add(1)
		_ = x.Sum()
		x.MatMul(w).Mul(2).Eval()
	})
	if got := l.Unsettled(since); len(got) != 1 || got[0] != "add f32[64 64]" {
		t.Errorf("got %q, want the sum of a product and a number", got)
	}
	if got := l.Unsettled(l.Mark()); len(got) != 0 {
		t.Errorf("got %q since now", got)
	}
	within(func() {
		for i := range 200 {
			_ = x.MatMul(w.Add(i))
		}
	})
	if got := l.Unsettled(since); len(got) != 0 {
		t.Errorf("beyond its limit: got %d", len(got))
	}
}

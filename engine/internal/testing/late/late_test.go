package late

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/plan"
	"github.com/mcs-notebook/mcs/engine/internal/testing/backendtest"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// A device that is done later passes what every backend has to.
func TestConformance(t *testing.T) {
	suite := backendtest.Few
	if long.Tests() {
		suite = backendtest.Check
	}
	suite(t, Open)
}

// ones is a leaf of n ones on a device of its own.
func ones(t *testing.T, n int) (*Backend, *backend.Device, *ir.Node) {
	b, err := New()
	if err != nil {
		t.Fatal(err)
	}
	dev := backend.NewDevice("later", b)
	block, err := dev.Alloc(4 * n)
	if err != nil {
		t.Fatal(err)
	}
	var raw []byte
	for range n {
		raw = ir.Append(dtype.F32, raw, ir.Scalar{F: 1})
	}
	if err := dev.Upload(block, 0, raw); err != nil {
		t.Fatal(err)
	}
	return b, dev, ir.NewLeaf(dev, dtype.F32, &ir.Data{Buf: block, Layout: new(ir.Contiguous([]int{n}))}, "ones")
}

// apply makes a node of the last one.
func apply(t *testing.T, op ir.Op, x *ir.Node) *ir.Node {
	n, err := ir.New(op, ir.Attr{}, x)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// When the device is lost, runs that were under way fail, and so does everything after them, with the reason.
func TestLost(t *testing.T) {
	b, dev, x := ones(t, 4)
	if err := dev.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Pause()
	flight := &backend.Flight{}
	y, z := apply(t, ir.Neg, x), apply(t, ir.Exp, x)
	if err := plan.Run(backend.WithFlight(t.Context(), flight), []*ir.Node{y}); err != nil {
		t.Fatal(err)
	}
	b.Lose()
	if err := flight.Wait(t.Context()); !errors.Is(err, backend.ErrLost) {
		t.Errorf("the run under way: %v", err)
	}
	if err := dev.Err(); !errors.Is(err, backend.ErrLost) {
		t.Errorf("the device: %v", err)
	}
	host := make([]byte, 16)
	_, alloc := dev.Alloc(1 << 20)
	for what, err := range map[string]error{
		"read": dev.Download(t.Context(), host, y.Value(), 0), "run": plan.Run(t.Context(), []*ir.Node{z}), "alloc": alloc,
		"sync": dev.Sync(t.Context()),
	} {
		if !errors.Is(err, backend.ErrLost) {
			t.Errorf("%s: got %v, want that the device was lost", what, err)
		}
	}
}

// A value's run remembers the runs before only as long as they are under way: a loop that never reads must
// not keep its past.
func TestOutcomesForgetTheirPast(t *testing.T) {
	_, dev, x := ones(t, 4)
	var freed [50]chan struct{}
	for i := range freed {
		x = apply(t, ir.Neg, x)
		if err := plan.Run(t.Context(), []*ir.Node{x}); err != nil {
			t.Fatal(err)
		}
		freed[i] = make(chan struct{})
		runtime.AddCleanup(x.Value().Run.(*backend.Outcome), func(c chan struct{}) { close(c) }, freed[i])
	}
	if err := dev.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := x.Value().Run.Err(); err != nil {
		t.Error(err)
	}
	for i := range freed[:len(freed)-2] {
		for tries := 0; ; tries++ {
			runtime.GC()
			select {
			case <-freed[i]:
			case <-time.After(10 * time.Millisecond):
				if tries < 100 {
					continue
				}
				t.Fatalf("the outcome of run %d is still there", i)
			}
			break
		}
	}
	runtime.KeepAlive(x)
}

// Programs and kernels are closed when no plan has them any more; a plan is loaded once.
func TestClosed(t *testing.T) {
	b, dev, x := ones(t, 4)
	for range 3 {
		if err := plan.Run(t.Context(), []*ir.Node{apply(t, ir.Neg, x)}); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.Loaded(); n != 1 {
		t.Errorf("a plan that ran three times was loaded %d times", n)
	}
	if err := dev.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	dev.Lose(errors.New("closed"))
	_, _, other := ones(t, 4) // to plan for a new device lets go of the plans of those that are lost
	if err := plan.Run(t.Context(), []*ir.Node{apply(t, ir.Neg, other)}); err != nil {
		t.Fatal(err)
	}
	for tries := 0; ; tries++ {
		runtime.GC()
		time.Sleep(time.Millisecond)
		if kernels, programs := b.Closed(); kernels == 1 && programs == 1 {
			return
		} else if tries > 1000 {
			t.Fatalf("%d kernels and %d programs were closed, want 1 and 1", kernels, programs)
		}
	}
}

// A wait for kernels that are compiled in parallel ends with its context; what is compiled is there later.
func TestCompileIsInterrupted(t *testing.T) {
	b, _, x := ones(t, 4)
	b.compiling = make(chan struct{})
	var list []*ir.Node
	for _, op := range []ir.Op{ir.Softmax, ir.Sum, ir.CumSum} {
		attr := ir.Attr{}
		if op == ir.Sum {
			attr.Axes = []int{0}
		}
		n, err := ir.New(op, attr, x)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(5*time.Millisecond, cancel)
	if err := plan.Run(ctx, list); !errors.Is(err, backend.ErrInterrupted) {
		t.Errorf("got %v, want %v", err, backend.ErrInterrupted)
	}
	close(b.compiling)
	if err := plan.Run(t.Context(), list); err != nil {
		t.Error(err)
	}
}

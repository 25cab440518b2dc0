package plan_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/ref"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/plan"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// An interrupted run leaves its nodes as they were, and they can be evaluated later.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	x := tensor.Randn(3).Eval()
	y := x.Exp()
	err := tensor.EvalContext(ctx, y)
	if !errors.Is(err, backend.ErrInterrupted) && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want an interruption", err)
	}
	if y.Evaluated() {
		t.Error("the node was evaluated all the same")
	}
	if y.Eval(); !y.Evaluated() {
		t.Error("it cannot be evaluated afterwards")
	}
}

// Many goroutines may evaluate overlapping graphs.
func TestConcurrentRuns(t *testing.T) {
	x := tensor.Arange(0, 100, 1).Eval()
	shared := x.Mul(2)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 20 {
				k := float64(i*20 + n)
				if got, want := shared.Add(k).Sum().Item(), 9900+100*k; got != want {
					t.Errorf("got %v, want %v", got, want)
				}
				shared.Eval()
			}
		})
	}
	wg.Wait()
}

// A long chain that nobody evaluated is no problem, with or without fusion.
func TestDeepGraph(t *testing.T) {
	x := tensor.Zeros(1).Eval()
	for i := range 3000 {
		x = x.Add(float64(i % 2))
	}
	if got := x.Item(); got != 1500 {
		t.Errorf("got %v, want 1500", got)
	}
}

// A small device refuses a value that is too large, with the size that was wanted, and memory that nobody
// uses any more comes back.
func TestOutOfMemory(t *testing.T) {
	b, err := ref.Open()
	if err != nil {
		t.Fatal(err)
	}
	small := &limited{Backend: b, limit: 1 << 20}
	dev := backend.NewDevice("small", small)
	fill := func(elements int) error {
		n, err := ir.New(ir.Expand, ir.Attr{Shape: []int{elements}}, ir.Number(dev, dtype.F32, 1))
		if err != nil {
			return err
		}
		return plan.Run(context.Background(), []*ir.Node{n})
	}
	for range 20 { // each is garbage when the next is made
		if err := fill(100_000); err != nil {
			t.Fatal(err)
		}
	}
	var oom *backend.OutOfMemory
	if err := fill(1_000_000); !errors.As(err, &oom) || oom.Want != 4_000_000 || oom.Held == "" {
		t.Errorf("got %v, want an OutOfMemory that says so", err)
	}
	if err := fill(1000); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// limited is a backend with little memory.
type limited struct {
	backend.Backend
	mu          sync.Mutex
	used, limit int
}

func (l *limited) Alloc(n int) (ir.Buffer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used+n > l.limit {
		return nil, &backend.OutOfMemory{Device: "small", Want: int64(n), Free: int64(l.limit - l.used)}
	}
	l.used += n
	return l.Backend.Alloc(n)
}

func (l *limited) Free(b ir.Buffer) {
	l.mu.Lock()
	l.used -= b.Bytes()
	l.mu.Unlock()
	l.Backend.Free(b)
}

// What nobody refers to any more is used again.
func TestMemoryComesBack(t *testing.T) {
	b, err := ref.Open()
	if err != nil {
		t.Fatal(err)
	}
	dev := backend.NewDevice("own", b)
	block, err := dev.Alloc(1 << 16)
	if err != nil {
		t.Fatal(err)
	}
	if inUse, _, _ := dev.MemoryInUse(); inUse != 1<<16 {
		t.Errorf("in use: %d bytes, want %d", inUse, 1<<16)
	}
	runtime.KeepAlive(block)
	for range 100 {
		runtime.GC()
		if inUse, peak, kept := dev.MemoryInUse(); inUse == 0 && peak == 1<<16 && kept == 1<<16 {
			dev.FreeCache()
			if _, _, kept := dev.MemoryInUse(); kept != 0 {
				t.Errorf("after FreeCache %d bytes are kept", kept)
			}
			return
		}
		time.Sleep(time.Millisecond) // cleanups run in the background
	}
	t.Error("the block's memory did not come back")
}

// Views of stored tensors share their memory; evaluating them moves nothing.
func TestStoredViews(t *testing.T) {
	x := tensor.Arange(0, 12, 1).Reshape(3, 4).Eval()
	v := x.Transpose().Slice(0, 1, 3)
	if got := launches(v); len(got) != 0 {
		t.Errorf("launched %q", got)
	}
	if got, want := fmt.Sprint(v.Floats()), "[1 5 9 2 6 10]"; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A small part of a large result does not keep the rest of it in memory.
func TestSmallViewOfLargeResult(t *testing.T) {
	y := ready([]int{1024, 512})[0].Exp()
	names := launches(y.Select(0, -1))
	if got := fmt.Sprint(names); got != "[exp]" { // only the row is computed
		t.Errorf("launched %v, want [exp]", got)
	}
	y = ready([]int{1024, 512})[0].Softmax(-1)
	before := device.Default().Memory().InUse
	row := y.Select(0, -1).Eval()
	if grown := device.Default().Memory().InUse - before; grown > 1<<16 {
		t.Errorf("a row of 2 KiB holds %d bytes", grown)
	}
	if got := row.Sum().Item(); got < 0.999 || got > 1.001 {
		t.Errorf("the row adds up to %v, want 1", got)
	}
}

// Arithmetic on constants is done ahead of the launches, and again in each run: a plan holds no number that
// may change.
func TestFoldedNumbersFollow(t *testing.T) {
	x := tensor.Ones(3).Eval()
	_, _, before := plan.CacheStats()
	for _, rate := range []float64{0.1, 0.25, 4, 0} {
		scale := tensor.Full(rate).Mul(3).Add(0.75)
		names := launches(x.Mul(scale))
		if got, want := x.Mul(scale).At(0).Item(), float64(float32(float32(rate)*3)+0.75); got != want {
			t.Errorf("rate %v: got %v, want %v", rate, got, want)
		}
		if got := fmt.Sprint(names); got != "[mul]" {
			t.Errorf("rate %v: launched %v, want [mul]", rate, got)
		}
	}
	if _, _, built := plan.CacheStats(); built-before > 2 {
		t.Errorf("built %d plans for one graph and its first element", built-before)
	}
}

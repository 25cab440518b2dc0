package cpu

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/testing/submit"
)

// product is the group of one product [m k]·[k n].
func product(m, n, k int) *groupCase {
	c := newGroupCase(backend.MatMul, 1)
	x, w := c.input(dtype.F32, []int{m, k}), c.input(dtype.F32, []int{k, n})
	c.output(c.inst(ir.MatMul, dtype.F32, []int{m, n}, x, w), dtype.F32, []int{m, n})
	return c
}

func TestSubmitEndsWhenItsContextDoes(t *testing.T) {
	b := New(2)
	defer b.Close()
	// Minutes of work, one launch after the other and within each.
	cmds := make([]submit.Cmd, 1000)
	big := product(900, 900, 900).command(t, b)
	for i := range cmds {
		cmds[i] = big
	}
	why := errors.New("enough")
	for _, c := range []struct {
		name string
		make func() (context.Context, func())
		want error
	}{
		{"cancelled before", func() (context.Context, func()) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			return ctx, cancel
		}, backend.ErrInterrupted},
		{"cancelled with a cause", func() (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(5*time.Millisecond, func() { cancel(why) })
			return ctx, func() { cancel(nil) }
		}, why},
		{"timed out", func() (context.Context, func()) {
			return context.WithTimeout(context.Background(), 5*time.Millisecond)
		}, context.DeadlineExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := c.make()
			defer cancel()
			if err := submit.Run(ctx, b, cmds, nil); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	product(9, 9, 9).check(t, b, 1e-6) // the backend still works
}

func TestSubmitTimesEachCommand(t *testing.T) {
	b := New(1)
	defer b.Close()
	cmd := product(64, 64, 64).command(t, b)
	times := make([]time.Duration, 3)
	if err := submit.Run(context.Background(), b, []submit.Cmd{cmd, cmd, cmd}, times); err != nil {
		t.Fatal(err)
	}
	for i, d := range times {
		if d <= 0 {
			t.Errorf("command %d: took %v", i, d)
		}
	}
}

// A launch that was run before allocates next to nothing: training launches hundreds a step.
func TestLaunchesReuseTheirMemory(t *testing.T) {
	b := New(2)
	defer b.Close()
	for _, c := range []struct {
		name  string
		group *groupCase
	}{
		{"few rows", product(1, 256, 256)},
		{"many rows", product(200, 256, 256)},
		{"attention", attentionCase{b: 1, hq: 4, hk: 2, tq: 100, tk: 100, d: 16, dv: 16, causal: true}.forward(dtype.F32, 1)},
	} {
		cmds := []submit.Cmd{c.group.command(t, b)}
		n := testing.AllocsPerRun(20, func() {
			if err := submit.Run(context.Background(), b, cmds, nil); err != nil {
				t.Fatal(err)
			}
		})
		if n > 20 {
			t.Errorf("%s: %v allocations a launch", c.name, n)
		}
		t.Logf("%s: %v allocations", c.name, n)
	}
}

func TestMemory(t *testing.T) {
	b := New(1)
	defer b.Close()
	b.memory.limit = 1000
	buf, err := b.Alloc(900)
	if err != nil || buf.Bytes() != 900 {
		t.Fatalf("got %v, %v, want 900 bytes", buf, err)
	}
	var full *backend.OutOfMemory
	if _, err := b.Alloc(200); !errors.As(err, &full) || full.Want != 200 || full.Free != 100 {
		t.Errorf("got %v, want an *OutOfMemory: wanted 200, 100 are free", err)
	}
	for _, c := range []struct{ offset, n int }{{-1, 4}, {897, 4}, {0, 901}} {
		if b.Upload(buf, c.offset, make([]byte, c.n)) == nil {
			t.Errorf("upload of %d bytes at %d: got no error", c.n, c.offset)
		}
		if b.Download(context.Background(), make([]byte, c.n), buf, c.offset) == nil {
			t.Errorf("download of %d bytes at %d: got no error", c.n, c.offset)
		}
	}
	b.Free(buf)
	if _, err := b.Alloc(1000); err != nil {
		t.Errorf("after the memory was given back: %v", err)
	}
	if _, err := b.Alloc(-1); err == nil {
		t.Error("alloc of -1 bytes: got no error")
	}
}

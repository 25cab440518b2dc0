package backendtest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/plan"
	"github.com/mcs-notebook/mcs/engine/internal/testing/submit"
)

// contract checks the promises of the backend interface that are not about the results of kernels.
func (s *suite) contract(t *testing.T) {
	b := s.dev.Backend()
	if i := b.Info(); i.Name == "" || i.Threads < 0 || !slices.Contains(i.DTypes, dtype.F32) {
		t.Errorf("info: %+v", i)
	}
	s.memory(t, b)
	s.times(t, b)
	s.interrupt(t)
	s.together(t)
	t.Run("replay", s.replay)
	t.Run("commit", s.commit)
	t.Run("late errors", s.lateErrors)
	t.Run("flight", s.flight)
	if p, ok := b.(Pausable); ok {
		t.Run("paused", func(t *testing.T) { s.paused(t, p) })
	}
}

func (s *suite) memory(t *testing.T, b backend.Backend) {
	if _, err := b.Alloc(-1); err == nil {
		t.Error("memory of -1 bytes was allocated")
	}
	if empty, err := b.Alloc(0); err != nil || empty.Bytes() != 0 {
		t.Errorf("memory of 0 bytes: %v, %v", empty, err)
	}
	buf, err := b.Alloc(100)
	if err != nil || buf.Bytes() != 100 {
		t.Fatalf("memory of 100 bytes: %v, %v", buf, err)
	}
	data := []byte("abcdefgh")
	got := make([]byte, 4)
	if err := errors.Join(b.Upload(buf, 50, data), b.Download(context.Background(), got, buf, 52)); err != nil || !bytes.Equal(got, []byte("cdef")) {
		t.Errorf("got %q, %v, want what was written", got, err)
	}
	n := buf.Bytes()
	for name, err := range map[string]error{
		"upload beyond the end":     b.Upload(buf, n-4, data),
		"upload before the start":   b.Upload(buf, -1, data),
		"download beyond the end":   b.Download(context.Background(), data, buf, n-4),
		"download before the start": b.Download(context.Background(), data, buf, -1),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	b.Free(buf)
}

// copyOf is a command that copies n floats.
func copyOf(t *testing.T, b backend.Backend, n int) submit.Cmd {
	l := ir.Contiguous([]int{n})
	k, err := b.Compile(&backend.Group{
		Name: "copy", Kind: backend.Map,
		Inputs:  []backend.Input{{DType: dtype.F32, Layout: l}},
		Outputs: []backend.Output{{Value: backend.In(0), Buf: 1, DType: dtype.F32, Shape: l.Shape}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if k.Name() != "copy" {
		t.Errorf("the kernel is called %q", k.Name())
	}
	cmd := submit.Cmd{Kernel: k}
	for range 2 {
		buf, err := b.Alloc(4 * n)
		if err != nil {
			t.Fatal(err)
		}
		cmd.Bufs = append(cmd.Bufs, backend.Slice{Buf: buf})
	}
	return cmd
}

// times checks that each command of a timed list has taken some time.
func (s *suite) times(t *testing.T, b backend.Backend) {
	cmds := []submit.Cmd{copyOf(t, b, 1<<16), copyOf(t, b, 1<<16)}
	times := make([]time.Duration, len(cmds))
	if err := submit.Run(context.Background(), b, cmds, times); err != nil {
		t.Error(err)
	}
	for i, d := range times {
		if d <= 0 {
			t.Errorf("command %d took %v", i, d)
		}
	}
}

// interrupt checks that a context that is done stops a list of commands, at once or between them, with its
// cause.
func (s *suite) interrupt(t *testing.T) {
	b := s.dev.Backend()
	ctx, cancel := context.WithCancel(context.Background())
	cmds := slices.Repeat([]submit.Cmd{copyOf(t, b, 1<<12)}, 1<<16)
	time.AfterFunc(time.Millisecond, cancel)
	// On a busy machine all commands may be done before the timer's goroutine gets a processor.
	var err error
	for done := false; err == nil && !done; {
		done = ctx.Err() != nil
		err = submit.Run(ctx, b, cmds, nil)
	}
	if !errors.Is(err, backend.ErrInterrupted) {
		t.Errorf("after cancel: %v, want %v", err, backend.ErrInterrupted)
	}
	reason := errors.New("enough")
	ctx, stop := context.WithCancelCause(context.Background())
	stop(reason)
	if err := submit.Run(ctx, b, cmds[:1], nil); !errors.Is(err, reason) {
		t.Errorf("got %v, want the context's cause", err)
	}
	if err := submit.Run(context.Background(), b, cmds[:1], nil); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// together lets several goroutines evaluate on one device.
func (s *suite) together(t *testing.T) {
	c := casesOf(ir.MatMul)[10]
	want, err := Evaluate(s.exact, "together", dtype.F32, c)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 10 {
				nodes, err := build(s.dev, "together", dtype.F32, c)
				if err != nil {
					t.Error(err)
					return
				}
				if err := plan.Run(context.Background(), nodes); err != nil {
					t.Error(err)
					return
				}
				got, err := read(nodes[0])
				if err == nil {
					err = got.compare(&want[0], ir.RowOf(ir.MatMul).Tol, false)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

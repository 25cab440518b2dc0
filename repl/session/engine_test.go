package session

import (
	"context"
	"errors"
	"testing"
	"time"
)

// One evaluation of many kernels stops between them, and the session continues with its earlier values.
func TestInterruptStopsTheEngine(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r := s.Run(t.Context(), "x := tensor.Randn(1024, 1024).Eval(); y := x\nfor range 2000 { y = y.MatMul(x).Mul(0.03) }"); r.Err != nil {
		t.Fatal(r.Err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if r := s.Run(ctx, "y.Eval();"); !errors.Is(r.Err, ErrInterrupted) {
		t.Errorf("got error %v, want %v", r.Err, ErrInterrupted)
	}
	if r := s.Run(t.Context(), "x.Shape()"); r.Err != nil || len(r.Shown) != 1 || r.Shown[0].Text(80) != "[1024 1024]" {
		t.Errorf("the next cell: got %v, %v", r.Shown, r.Err)
	}
}

package bench

import (
	"context"
	"errors"
	"testing"
)

func TestMeasureCeilings(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for most of a second")
	}
	c, err := MeasureCeilings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c.Flops < 1e8 || c.BF16 < 1e8 || c.Read < 1e8 {
		t.Errorf("got %.3g FLOP/s, %.3g with bf16, and %.3g B/s, want what a computer does", c.Flops, c.BF16, c.Read)
	}
	if again, err := MeasureCeilings(t.Context()); err != nil || again != c {
		t.Errorf("measured again: got %v, %v, want %v", again, err, c)
	}
}

func TestInterruptedRateIsNone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bestRate(ctx, 64, func(int) (func(), float64) { return func() {}, 1 }); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
}
